"""Imports run one way; what needs no network needs no torch."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import nestling

SOURCE = Path(nestling.__file__).parent
LAYERS = (  # a module may import from rows above its own, and from its own row only within one package
    ("errors",),
    ("types", "memory"),
    ("data.files",),
    ("data.wordnet",),
    ("text", "decoding", "evaluation", "data.tags", "data.taggers", "data.clusters", "nn.batch"),
    ("data.xml", "nn", "vectors"),
    ("data.formats", "data.features", "data.gaps", "data.names", "data.joining", "heads.head", "glove"),
    ("data.statistics", "data.batches", "heads"),
    ("data.corpora", "model", "masking"),
    ("recognizer", "training", "packing", "cards", "pretrained"),
    ("settings",),
    ("config",),
    ("checkpoint",),
    ("pretraining", "tuning"),
    ("run",),
    ("experiments",),
    ("",),
    ("apps",),
)
LIGHT = ("spacy", "torch", "transformers", "scipy")


def layer(module):
    """The row of a module, and the name in it that covers the module."""
    name = module.removeprefix("nestling").removeprefix(".")
    covering = [
        (len(n), row, n) for row, names in enumerate(LAYERS) for n in names if name == n or name.startswith(f"{n}.")
    ]
    return max(covering)[1:] if covering else None


def imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            for alias in node.names:
                below = SOURCE.parent / (f"{node.module}.{alias.name}".replace(".", "/"))
                is_module = below.with_suffix(".py").exists() or below.is_dir()
                yield f"{node.module}.{alias.name}" if is_module else node.module


def is_ours(node):
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [getattr(node, "module", None)]
    return any((name or "").split(".")[0] == "nestling" for name in names)


MODULES = {
    ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(SOURCE.rglob("*.py"))
}


@pytest.mark.parametrize("module", MODULES)
def test_imports_run_one_way(module):
    if module in ("nestling.data",):
        return
    own = layer(module)
    assert own is not None, f"{module} has no layer"
    for imported in imports(MODULES[module]):
        if imported.split(".")[0] == "nestling" and imported != "nestling.data":
            other = layer(imported)
            assert other is not None, f"{imported} has no layer"
            assert other[0] < own[0] or other == own, f"{module} must not import {imported}"


@pytest.mark.parametrize("module", MODULES)
def test_our_own_modules_are_imported_on_top(module):
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    on_top = len([node for node in tree.body if is_ours(node)])
    if module in (
        "nestling",
        "nestling.apps.catalogue",
        "nestling.apps.exporting",
        "nestling.apps.models",
        "nestling.apps.inspection",
        "nestling.apps.reproduce",
        "nestling.apps.vectors",
    ):  # they import torch, which takes seconds, when it is needed
        return
    assert len([node for node in ast.walk(tree) if is_ours(node)]) == on_top


@pytest.mark.parametrize("module", ["nestling", "nestling.apps.cli"])
def test_starting_is_light(module):
    code = f"import sys, {module}; print(sorted(set(sys.modules) & {set(LIGHT)!r}))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
