from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nestling.data.features import PieceIndexer, affix_indexer, case, character_indexer, shape, windows
from nestling.errors import InvalidValueError
from nestling.pretrained import FolderTokenizer, HubTokenizer


@given(st.lists(st.integers(1, 9), min_size=1, max_size=40), st.integers(9, 30))
def test_windows_hold_every_item_once(sizes, room):
    made = windows(sizes, room)
    kept = 0
    for start, stop, keep in made:
        assert sum(sizes[start:stop]) <= room
        assert start <= kept < keep <= stop
        kept = keep
    assert kept == len(sizes)
    for (_, stop, keep), (following, _, _) in pairwise(made):
        assert following <= keep <= stop  # what comes next has seen what is just before it


def test_windows_by_hand():
    assert windows([1] * 5, 9) == [(0, 5, 5)]
    assert windows([1] * 12, 9) == [(0, 9, 8), (6, 12, 12)]


@pytest.fixture
def indexer(tiny_transformer):
    return PieceIndexer(FolderTokenizer(tiny_transformer), 16)


def pieces_of(indexer, made, sentence, word):
    """The ids at the positions of a word."""
    return [int(made.ids.flatten()[position]) for position in made.words[sentence, word] if position > 0]


def test_pieces_are_where_words_say(indexer):
    passages = [[("the", "ab", "x"), ("abc",)], [("running",)]]
    made = indexer(passages)
    assert made.ids.shape[0] == 2
    assert made.rows.tolist() == [0, 0, 1]
    assert (made.ids[:, 0] == indexer.tokenizer.first).all()
    known = {word: list(indexer._numbers([word])[word]) for word in ("the", "ab", "x", "abc", "running")}
    assert [len(known[word]) for word in ("the", "ab", "abc")] == [1, 2, 3]
    sentences = [sentence for passage in passages for sentence in passage]
    for n, sentence in enumerate(sentences):
        assert [pieces_of(indexer, made, n, t) for t in range(len(sentence))] == [known[word] for word in sentence]


def test_long_sentences_and_long_words_lose_no_word(indexer):
    sentence = tuple(f"w{n}" for n in range(50))
    made = indexer([[sentence], [("x" * 100, "y")]])
    assert made.ids.shape[1] <= 16
    for t, word in enumerate(sentence):
        assert pieces_of(indexer, made, 0, t) == list(indexer._numbers([word])[word])
    assert len(pieces_of(indexer, made, 1, 0)) == 14
    assert len(pieces_of(indexer, made, 1, 1)) == 1


def test_rows_need_room(tiny_transformer):
    with pytest.raises(InvalidValueError, match="no room"):
        PieceIndexer(FolderTokenizer(tiny_transformer), 2)


def test_words_without_pieces_are_unknown(indexer):
    made = indexer([[("\u200b", "a")]])
    assert pieces_of(indexer, made, 0, 0) == [indexer.tokenizer.unknown]


def test_shape_and_case():
    assert [shape(word) for word in ("McDonald-99", "IL-2", "aaaaaa", "3.5")] == ["XxXxxxx-dd", "XX-d", "xxxx", "d.d"]
    assert [case(word) for word in ("NATO", "A", "Paris", "iPad", "dog", "12")] == [
        "capitals",
        "capital",
        "first",
        "inside",
        "small",
        "small",
    ]


def test_characters_and_affixes():
    made = character_indexer("abc")([[("ab", "cx")], [("a" * 99,)]])
    assert made.ids[:2, :3].tolist() == [[2, 3, 0], [4, 1, 0]]
    assert made.words.tolist() == [[0, 1], [2, 0]]
    assert made.ids.shape[1] == 40
    ids = affix_indexer(1000)([[("Running", "jumping")]]).ids
    shared = (ids[0] == ids[1]).nonzero().flatten().tolist()
    assert shared == [3, 4]  # the last two and three letters
    assert ((ids > 0) & (ids < 1000)).all()
    assert torch.equal(ids, affix_indexer(1000)([[("Running", "jumping")]]).ids)


def test_words_of_tokenizers_that_keep_blanks_are_cut_as_inside_a_sentence():
    from tokenizers import Tokenizer, pre_tokenizers
    from tokenizers.models import BPE
    from tokenizers.trainers import BpeTrainer
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    letters = pre_tokenizers.ByteLevel.alphabet()
    trainer = BpeTrainer(vocab_size=320, special_tokens=["<s>", "</s>"], initial_alphabet=letters, show_progress=False)
    made.train_from_iterator(["she lives in Rome so near Rome"] * 9, trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=made, cls_token="<s>", sep_token="</s>", pad_token="</s>")
    pieces = PieceIndexer(HubTokenizer(fast), 16)([[("in", "Rome")]])
    assert fast.convert_ids_to_tokens(pieces.ids[0].tolist()) == ["<s>", "Ġin", "ĠRome", "</s>"]
