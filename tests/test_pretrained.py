"""Pretrained transformers: our BERT is that of transformers, without padding and without the import."""

import json
import shutil
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModel, AutoTokenizer, DistilBertConfig, DistilBertModel

from nestling.nn import bert
from nestling.nn.bert import Bert
from nestling.pretrained import FolderTokenizer, HubTokenizer, _plain_bert, load_pretrained


def loaded(folder, **options):
    return load_pretrained(str(folder), **{"layers": None, "attention_dropout": 0.0} | options)


@pytest.fixture
def copied(tiny_transformer, tmp_path):
    return shutil.copytree(tiny_transformer, tmp_path / "copied")


def batch(lengths):
    ids = torch.randint(4, 100, (len(lengths), max(lengths)), generator=torch.Generator().manual_seed(0))
    mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
    return ids, mask


@pytest.mark.parametrize("lengths", [[7, 3, 12, 3, 2], [5, 5], [4, 0, 2]])
@pytest.mark.parametrize("groups", [bert.alike, bert.at_once])
def test_vectors_and_gradients_are_those_of_transformers(tiny_transformer, lengths, groups, monkeypatch):
    monkeypatch.setattr(bert, "alike", groups)  # what a GPU would take, too
    ours = loaded(tiny_transformer).model.eval()
    theirs = AutoModel.from_pretrained(tiny_transformer, add_pooling_layer=False).eval()
    assert isinstance(ours, Bert)
    assert ours.state_dict().keys() == theirs.state_dict().keys()
    ids, mask = batch(lengths)
    found, wanted = (model(input_ids=ids, attention_mask=mask).last_hidden_state for model in (ours, theirs))
    torch.testing.assert_close(found[mask], wanted[mask])
    assert not found[~mask].any()
    for hidden in (found, wanted):
        hidden[mask].square().sum().backward()
    gradients = {name: parameter.grad for name, parameter in theirs.named_parameters()}
    for name, parameter in ours.named_parameters():
        torch.testing.assert_close(parameter.grad, gradients[name], rtol=1e-4, atol=1e-4)


@torch.inference_mode()
def test_pieces_go_through_wide_layers_a_few_at_a_time(tiny_transformer, monkeypatch):
    model = loaded(tiny_transformer).model.eval()
    given = batch([7, 3, 12, 3, 2])
    whole = model(*given).last_hidden_state
    seen = []
    model.encoder["layer"][0].intermediate["dense"].register_forward_pre_hook(
        lambda _, inputs: seen.append(len(*inputs))
    )
    monkeypatch.setattr(bert, "_AT_ONCE", 10)
    torch.testing.assert_close(model(*given).last_hidden_state, whole)
    assert seen == [10, 10, 7]


def test_dropout_is_for_training_alone(tiny_transformer):
    model = loaded(tiny_transformer, attention_dropout=0.5).model
    ids, mask = batch([6, 4])
    first, second = (model.train()(ids, mask).last_hidden_state for _ in range(2))
    assert not torch.equal(first, second)
    first, second = (model.eval()(ids, mask).last_hidden_state for _ in range(2))
    assert torch.equal(first, second)


def test_pieces_are_those_of_transformers_and_survive_saving(tiny_transformer, tmp_path):
    texts = ["the runner", "Ångström\u200b!", "", "a" * 300]
    ours = loaded(tiny_transformer).tokenizer
    theirs = HubTokenizer(AutoTokenizer.from_pretrained(tiny_transformer))
    ours.save_pretrained(tmp_path / "again")
    for tokenizer in (ours, FolderTokenizer(tmp_path / "again")):
        assert tokenizer(texts) == theirs(texts)
        assert (tokenizer.first, tokenizer.last) == (theirs.first, theirs.last)
        assert (tokenizer.padding, tokenizer.unknown) == (theirs.padding, theirs.unknown)


def test_special_pieces_may_be_described(copied):
    path = copied / "tokenizer_config.json"
    told = json.loads(path.read_text())
    path.write_text(json.dumps(told | {"cls_token": {"content": "[CLS]", "lstrip": False}}))
    assert isinstance(loaded(copied).model, Bert)
    path.write_text(
        json.dumps({key: value for key, value in told.items() if key != "cls_token"} | {"bos_token": "[CLS]"})
    )
    assert not isinstance(loaded(copied).model, Bert)  # transformers know more ways to say it


def test_weights_under_a_name_and_weights_that_are_not_there(copied):
    weights = load_file(copied / "model.safetensors")
    save_file(
        {f"bert.{name}": weight for name, weight in weights.items()}, copied / "model.safetensors", {"format": "pt"}
    )
    named = loaded(copied).model
    assert isinstance(named, Bert)
    assert torch.equal(named.state_dict()["embeddings.LayerNorm.weight"], weights["embeddings.LayerNorm.weight"])
    (copied / "model.safetensors").unlink()
    with pytest.raises(Exception, match=r"model\.safetensors"):
        loaded(copied)
    assert isinstance(loaded(copied, is_saved=True).model, Bert)  # a saved model has them elsewhere


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("config.json", {"hidden_act": "relu"}),
        ("config.json", {"is_decoder": True}),
        ("config.json", {"hidden_size": 10**9}),
        ("config.json", {"num_attention_heads": 3}),
        ("tokenizer_config.json", {"pad_token": None}),
    ],
)
def test_what_is_no_plain_bert_is_left_to_transformers(copied, file, change):
    assert _plain_bert(copied) is not None
    path = copied / file
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    assert _plain_bert(copied) is None
    path.write_text("[]")
    assert _plain_bert(copied) is None


def test_other_models(copied):
    config = DistilBertConfig(vocab_size=220, dim=32, n_layers=2, n_heads=2, hidden_dim=64, max_position_embeddings=64)
    DistilBertModel(config).save_pretrained(copied)
    found = loaded(copied, layers=1)
    assert isinstance(found.tokenizer, HubTokenizer)
    assert len(found.model.transformer.layer) == 1
    assert found.limit == 64


def test_transformers_need_not_be_imported(tiny_transformer):
    code = f"""
import sys
from nestling.pretrained import load_pretrained
load_pretrained({str(tiny_transformer)!r}, layers=None, attention_dropout=0.0)
print("transformers" in sys.modules)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
