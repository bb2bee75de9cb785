import pytest
import torch

from nestling.data.features import AFFIXES, WordIndexer, affix_indexer, character_indexer
from nestling.nn.batch import Batch, Pieces
from nestling.nn.encoders import (
    Affixes,
    BiLSTM,
    Characters,
    Concat,
    Convolutions,
    Memory,
    WordVectors,
    pool,
)

SENTENCES = [[("The", "IL-2", "gene")], [("No",)], [("Müller", "lacht", "laut", ".")]]


def test_pooling_by_hand():
    hidden = torch.tensor([[9.0, 9.0], [1.0, 5.0], [3.0, 2.0], [4.0, 4.0]])
    words = torch.tensor([[[1, 2], [3, 0], [0, 0]]])  # two pieces, one piece, padding
    assert pool(hidden, words, "max").tolist() == [[[3, 5], [4, 4], [0, 0]]]
    assert pool(hidden, words, "mean").tolist() == [[[2, 3.5], [4, 4], [0, 0]]]
    assert pool(hidden, words, "first")[0, :2].tolist() == [[1, 5], [4, 4]]


def parts():
    table = torch.randn(3, 5)
    return {
        "affixes": (Affixes("affixes", len(AFFIXES), 50, size=8), affix_indexer(50)),
        "lstm": (Characters("lstm", 12, kind="lstm", size=6), character_indexer("TheMuacn")),
        "convolution": (Characters("convolution", 12, kind="convolution", size=6), character_indexer("TheMuacn")),
        "vectors": (WordVectors("vectors", table), WordIndexer(["the", "gene"])),
    }


def batch_of(passages, indexers):
    lengths = torch.tensor([len(s) for p in passages for s in p])
    mask = torch.arange(int(lengths.max())) < lengths.unsqueeze(1)
    return Batch(mask, {name: indexer(passages) for name, indexer in indexers.items()})


@pytest.mark.parametrize("top", [None, BiLSTM, Convolutions])
@pytest.mark.parametrize("names", [["affixes"], ["lstm"], ["convolution"], ["vectors"], ["affixes", "lstm", "vectors"]])
def test_words_do_not_depend_on_their_neighbours_in_the_batch(names, top):
    torch.manual_seed(0)
    made = parts()
    encoder = Concat([made[name][0] for name in names])
    encoder = top(encoder, size=10) if top else encoder
    encoder.eval()
    indexers = {name: made[name][1] for name in names}
    together = encoder(batch_of(SENTENCES, indexers))
    assert together.vectors.shape == (3, 4, encoder.size)
    for n, passage in enumerate(SENTENCES):
        alone = encoder(batch_of([passage], indexers))
        assert torch.allclose(together.vectors[n, : len(passage[0])], alone.vectors[0], atol=1e-5)
        assert torch.allclose(together.sentence[n], alone.sentence[0], atol=1e-5)


def test_word_vectors_fall_back_to_lower_case_and_unknown():
    table = torch.tensor([[0.0], [1.0], [2.0]])
    encoder = WordVectors("v", table)
    words = encoder(batch_of([[("The", "gene", "xyz")]], {"v": WordIndexer(["the", "gene"])}))
    assert words.vectors.squeeze().tolist() == [1, 2, 0]


def test_a_share_of_words_is_taken_for_unknown_while_training():
    torch.manual_seed(0)
    encoder = WordVectors("v", torch.tensor([[0.0], [1.0]]), unknown=0.3)
    batch = batch_of([[("the",) * 1000]], {"v": WordIndexer(["the"])})
    assert 0.65 < float(encoder(batch).vectors.mean()) < 0.75
    assert float(encoder.eval()(batch).vectors.mean()) == 1


def test_a_memory_gives_what_was_read_and_asks_once():
    asked = []

    def read(ids, mask):
        asked.append(ids.tolist())
        return ids.unsqueeze(-1).float().expand(-1, -1, 2)

    def pieces(*rows):
        longest = max(map(len, rows))
        ids = torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows])
        return Pieces(ids, ids > 0, torch.zeros(1, 1, 1), torch.zeros(1))

    memory = Memory()
    first = memory(read, pieces([1, 2], [3], [3]))  # the same row twice
    assert first[:, :, 0].tolist() == [[1, 2], [3, 0], [3, 0]]
    again = memory(read, pieces([3], [1, 2], [4, 5, 6]))
    assert again[:, :, 1].tolist() == [[3, 0, 0], [1, 2, 0], [4, 5, 6]]
    assert asked == [[[1, 2], [3, 0], [3, 0]], [[4, 5, 6]]]
    memory(read, pieces([3], [1, 2]))
    assert len(asked) == 2
    small = Memory(megabytes=0)
    assert small(read, pieces([7])).tolist() == small(read, pieces([7])).tolist() == [[[7, 7]]]
    assert not small.known
