"""What tests share: where the public corpora are, if they are anywhere."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent
CORPORA_ROOT = Path(os.environ.get("NESTLING_DATA") or ROOT.parent / "shared" / "data")

settings.register_profile("ci", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ci")


@pytest.fixture
def corpora_root() -> Path:
    if not (CORPORA_ROOT / "genia").is_dir():
        pytest.skip(f"no corpora in {CORPORA_ROOT}; set NESTLING_DATA to run this")
    return CORPORA_ROOT
