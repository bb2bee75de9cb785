from collections import Counter

from nestling.data.batches import Batcher, Passage, by_count, by_words, passages, shuffled
from nestling.data.features import affix_indexer
from nestling.types import Document, Entity, Labels, Span


def corpus(*lengths):
    return [
        Document.of_words(str(n), [(["w"] * length, [Entity.at(0, 1, "A")]) for length in own])
        for n, own in enumerate(lengths)
    ]


def test_sentences_alone_or_with_neighbours():
    documents = corpus([2, 3, 9], [4, 1])
    assert [len(p.sentences) for p in passages(documents)] == [1] * 5
    together = list(passages(documents, room=6))
    assert [[len(s) for s in p.sentences] for p in together] == [[2, 3], [9], [4, 1]]
    assert [p.first for p in together] == [0, 2, 3]


def test_every_passage_is_learnt_once_an_epoch_with_little_padding():
    made = list(passages(corpus(*[[n % 30 + 1] for n in range(1000)])))
    batches = shuffled(made, sentences=10, seed=1, epoch=0)
    assert Counter(p.first for batch in batches for p in batch) == Counter(range(1000))
    padded = sum(len(batch) * max(p.words for p in batch) for batch in batches)
    assert padded < 1.2 * sum(p.words for p in made)
    assert shuffled(made, sentences=10, seed=1, epoch=0) == batches
    assert shuffled(made, sentences=10, seed=1, epoch=1) != batches
    assert shuffled(made, sentences=10, seed=2, epoch=0) != batches


def test_batches_for_prediction_hold_everything_and_no_more_words_than_asked():
    made = list(passages(corpus(*[[n % 30 + 1] for n in range(100)], [500])))
    batches = list(by_words(made, 100))
    assert sorted(n for batch in batches for n in batch) == list(range(101))
    assert all(len(batch) == 1 or len(batch) * max(made[n].words for n in batch) <= 100 for batch in batches)


def test_much_shorter_sentences_have_a_batch_of_their_own():
    made = list(passages(corpus(*[[n] for n in (100, 99, 98, 75, 74, 60, 10)])))
    assert list(by_words(made, 10_000)) == [[0, 1, 2, 3], [4, 5, 6]]  # the second is too small to be cut


def test_words_of_many_pieces_have_small_batches():
    made = [Passage(Document.of_words("d", [(["ACGT" * 20] * 10, [])]).sentences, n) for n in range(40)]
    assert {len(batch) for batch in by_words(made, 2048)} == {20}  # 10 words with the bulk of 101


def test_targets_by_hand():
    gold = [Entity.at(1, 3, "B"), Entity((Span(0, 1), Span(2, 3)), "A")]
    documents = [Document.of_words("a", [(["x"] * 3, []), (["y"] * 3, gold)])]
    batcher = Batcher({"affixes": affix_indexer(10)}, Labels(("A", "B")))
    made = list(passages(documents))
    targets = batcher.targets(made, seed=1, epoch=2)
    assert targets.spans.tolist() == [[1, 1, 3, 1]]
    assert targets.discontinuous == ((1, gold[1]),)
    assert batcher.batch(made).mask.tolist() == [[True] * 3] * 2
    assert batcher.targets(made[1:], seed=1, epoch=2).seeds == targets.seeds[1:]  # draws do not depend on the batch
    assert batcher.targets(made, seed=1, epoch=3).seeds != targets.seeds


def test_batches_have_so_many_words_at_most():
    lengths = [1, 2, 3, 5, 8, 13, 40]
    made = list(passages([Document.of_words(str(n), [(["x"] * n, [])]) for n in lengths], room=0, size=len))
    batches = list(by_count(made, 3, words=12))
    assert [[p.words for p in batch] for batch in batches] == [[1, 2, 3], [5], [8], [13], [40]]
    assert [[p.words for p in batch] for batch in by_count(made, 3)] == [[1, 2, 3], [5, 8, 13], [40]]
    epoch = shuffled(made, sentences=3, words=12, seed=0, epoch=1)
    assert sorted(p.words for batch in epoch for p in batch) == lengths
