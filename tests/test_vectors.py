"""GloVe against plain loops."""

import numpy as np
import pytest

from nestling.errors import DataError, InvalidValueError
from nestling.glove import Glove, GloveSettings, counted, glove
from nestling.vectors import Vectors, read_vectors, write_vectors

SENTENCES = [["a", "b", "c", "a"], ["b", "d"], ["a"], []]


def test_counts_by_hand():
    counts = counted(SENTENCES, window=2)
    assert counts.words == ["a", "b", "c", "d"]
    expected = np.zeros((4, 4))
    for i, j, weight in [(0, 1, 1), (0, 2, 0.5), (1, 2, 1), (1, 0, 0.5), (2, 0, 1), (1, 3, 1)]:
        expected[i, j] += weight
        expected[j, i] += weight
    assert np.allclose(counts.pairs.toarray(), expected)


def test_rare_words_are_left_out_and_long_texts_are_added_up(monkeypatch):
    assert counted(SENTENCES, least=2).words == ["a", "b"]
    whole = counted(SENTENCES * 9, window=3)
    monkeypatch.setattr("nestling.glove._HELD_PAIRS", 12)
    parts = counted(iter(SENTENCES * 9), window=3)  # a stream, four words at a time
    assert parts.words == whole.words
    assert np.allclose(parts.pairs.toarray(), whole.pairs.toarray())


def test_one_batch_equals_a_plain_loop():
    """Equation 8 of GloVe, its gradient and AdaGrad, pair by pair."""
    counts = counted(SENTENCES, window=2)
    settings = GloveSettings(size=3, epochs=1, rate=0.1, ceiling=1.2, batches=1)
    trained = Glove(counts, settings)
    words, contexts = (table.astype(float) for table in trained.tables)
    gradients = [np.zeros_like(words), np.zeros_like(contexts)]
    loss, pairs = 0.0, counts.pairs.toarray()
    for i, j in zip(*pairs.nonzero(), strict=True):
        weight = min((pairs[i, j] / 1.2) ** 0.75, 1)
        error = words[i, :3] @ contexts[j, :3] + words[i, 3] + contexts[j, 3] - np.log(pairs[i, j])
        loss += weight * error**2 / 2
        gradients[0][i] += weight * error * np.append(contexts[j, :3], 1)
        gradients[1][j] += weight * error * np.append(words[i, :3], 1)
    (mean,) = trained.epochs()
    assert mean == pytest.approx(loss / counts.pairs.nnz, rel=1e-5)
    assert np.allclose(trained.tables[0], words - 0.1 * gradients[0], atol=1e-5)
    assert np.allclose(trained.squares[1], 1 + gradients[1] ** 2, atol=1e-5)


def test_words_that_are_used_alike_are_near():
    rng = np.random.default_rng(0)
    sentences = [
        [rng.choice(["the", "a"]), rng.choice(["cat", "dog"]), rng.choice(["eats", "sleeps"])] for _ in range(300)
    ] + [["in", rng.choice(["paris", "rome"]), "it", rng.choice(["rains", "snows"])] for _ in range(300)]
    trained = Glove(counted(sentences, window=2), GloveSettings(size=8, epochs=60, batches=4))
    losses = list(trained.epochs())
    assert losses[-1] < losses[0] / 5
    vectors = trained.vectors()
    near = {word: [other for other, _ in vectors.nearest(word, 3)] for word in ("cat", "paris")}
    assert "dog" in near["cat"]
    assert "rome" in near["paris"]
    assert not {"cat", "dog", "eats", "sleeps"} & set(near["paris"])
    again = glove(sentences, window=2, size=8, epochs=60, batches=4)
    assert np.array_equal(again.table, vectors.table)


@pytest.mark.parametrize("has_header", [False, True])
def test_files_come_back(tmp_path, has_header):
    vectors = Vectors(["x", "ß"], np.array([[0.5, -1.25e-7], [3.0, 2.0]], dtype=np.float32))
    write_vectors(vectors, tmp_path / "v.txt", has_header=has_header)
    found = read_vectors(tmp_path / "v.txt")
    assert found.words == vectors.words
    assert np.allclose(found.table, vectors.table)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no vectors"),
        ("a 1 2\nb 1\n", "1 numbers instead of 2"),
        ("a 1 x\n", "not a word"),
        ("a nan 1\n", "finite"),
    ],
)
def test_bad_files(tmp_path, text, message):
    (tmp_path / "v.txt").write_text(text)
    with pytest.raises(DataError, match=message):
        read_vectors(tmp_path / "v.txt")


def test_words_may_have_blanks(tmp_path):
    (tmp_path / "v.txt").write_text("a 1 2\n. . . 3 4\n")
    assert read_vectors(tmp_path / "v.txt").words == ["a", ". . ."]


def test_bad_words():
    with pytest.raises(DataError, match="no vector for 'zebra'"):
        Vectors(["x"], np.ones((1, 2), dtype=np.float32)).nearest("zebra")
    with pytest.raises(InvalidValueError):
        GloveSettings(size=0)
