"""What tests share: where the public corpora are, if they are anywhere."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("OMP_NUM_THREADS", "1")  # tests run side by side, each on one core

ROOT = Path(__file__).resolve().parent.parent
CORPORA_ROOT = Path(os.environ.get("NESTLING_DATA") or ROOT.parent / "shared" / "data")

settings.register_profile("ci", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ci")


@pytest.fixture
def corpora_root() -> Path:
    if not (CORPORA_ROOT / "genia").is_dir():
        pytest.skip(f"no corpora in {CORPORA_ROOT}; set NESTLING_DATA to run this")
    return CORPORA_ROOT


@pytest.fixture(scope="session")
def tiny_transformer(tmp_path_factory) -> Path:
    """A folder with a transformer of two narrow layers and random weights, and a tokenizer that splits words."""
    import string

    import torch
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.pre_tokenizers import Whitespace
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    pieces = [
        f"{prefix}{c}" for prefix in ("", "##") for c in string.ascii_letters + string.digits + string.punctuation
    ]
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *pieces, "##ing", "the", "##er"]
    tokenizer = Tokenizer(WordPiece({name: n for n, name in enumerate(names)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        pad_token="[PAD]",
        mask_token="[MASK]",
        model_max_length=64,
    )
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(names),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
    )
    folder = tmp_path_factory.mktemp("tiny")
    BertModel(config).save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder
