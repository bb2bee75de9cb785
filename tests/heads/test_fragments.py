import pytest
import torch

from nestling.heads.fragments import FragmentsHead, FragmentsSettings
from nestling.heads.head import Targets
from nestling.nn.batch import Words
from nestling.nn.spans import windows
from nestling.types import Entity, Labels, Span

LABELS = Labels(("LOC", "PER"))
MASK = torch.tensor([[True] * 6, [True] * 3 + [False] * 3])


def head(**options):
    torch.manual_seed(1)
    return FragmentsHead(5, LABELS, FragmentsSettings(**({"size": 4, "widest": 3} | options)))


def words():
    torch.manual_seed(0)
    return Words(torch.randn(2, 6, 5) * MASK.unsqueeze(-1), torch.randn(2, 5), MASK)


def alone(made, vectors):
    """One mention (M, D) as the paper has it: BiLSTM, attention against the final state, weighted sum."""
    ahead = made.forwards(vectors.unsqueeze(0))[0][0]
    back = made.backwards(vectors.flip(0).unsqueeze(0))[0][0].flip(0)
    outputs = torch.cat([ahead, back], dim=1)  # (M, 2 H)
    final = torch.cat([ahead[-1], back[0]])
    return (outputs @ final).softmax(dim=0) @ outputs


MENTIONS = [
    (0, (Span(0, 1),)),
    (0, (Span(1, 5),)),
    (0, (Span(0, 2), Span(4, 6))),
    (1, (Span(0, 3),)),
    (1, (Span(0, 1), Span(2, 3))),
]


def test_batched_equals_one_by_one():
    made, given = head(), words()
    logits = made.mention_logits(made(given), MENTIONS)
    for n, (sentence, fragments) in enumerate(MENTIONS):
        places = [w for f in fragments for w in range(f.start, f.end)]
        expected = made.out(alone(made, given.vectors[sentence, places]))
        assert torch.allclose(logits[n], expected, atol=1e-5)


@pytest.mark.parametrize("context", [0, 2])
def test_all_spans_at_once_equal_mentions(context):
    made = head(context=context)
    reading = made(words())
    every = made.all_logits(reading)
    assert every.shape == (2, 3, 6, 3)
    for sentence, start, end in [(0, 0, 1), (0, 1, 4), (0, 4, 6), (1, 0, 3), (1, 2, 3), (1, 0, 2)]:
        one = made.mention_logits(reading, [(sentence, (Span(start, end),))])[0]
        assert torch.allclose(every[sentence, end - start - 1, start], one, atol=1e-5)
        flat = made.span_logits(reading, torch.tensor([[sentence, start, end], [0, 0, 3]]))[0]
        assert torch.allclose(flat, one, atol=1e-5)


def test_many_spans_equal_each_of_them():
    made = head(context=1)
    reading = made(words())
    every = windows(MASK, range(1, 6))  # some are longer than ε
    spans = torch.cat([every] * 3)[torch.randperm(3 * len(every))]
    many, each = made.span_logits(reading, spans), made._each(reading, spans)
    torch.testing.assert_close(many, each, rtol=1e-5, atol=1e-5)
    gradients = []
    for logits in (many, each):
        made.zero_grad()
        logits.square().sum().backward(retain_graph=True)
        gradients.append([parameter.grad.clone() for parameter in made.parameters()])
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-4)


def test_context_by_hand():
    given = words()
    reading = head(context=2)(given)
    assert torch.allclose(reading.before[0, 3], given.vectors[0, 1:3].mean(dim=0), atol=1e-6)
    assert torch.allclose(reading.before[0, 1], given.vectors[0, 0], atol=1e-6)
    assert reading.before[0, 0].abs().sum() == 0
    assert torch.allclose(reading.behind[1, 0], given.vectors[1, 1:3].mean(dim=0), atol=1e-6)
    assert reading.behind[1, 2].abs().sum() == 0


def test_homographs_differ_only_with_context():
    given = words()
    vectors = given.vectors.clone()
    vectors[0, 4] = vectors[0, 1]
    twins = [(0, (Span(1, 2),)), (0, (Span(4, 5),))]
    for context, is_same in ((0, True), (1, False)):
        made = head(context=context)
        one, other = made.mention_logits(made(Words(vectors, given.sentence, MASK)), twins)
        assert torch.allclose(one, other, atol=1e-6) is is_same


def targets(*spans, discontinuous=()):
    return Targets(torch.tensor(spans, dtype=torch.long).reshape(-1, 4), discontinuous, (1, 2))


GAPPED = ((0, Entity((Span(0, 1), Span(3, 4)), "PER")),)


def test_gold_joined_mentions_and_drawn_spans_are_learnt():
    made = head(negatives=4)
    loss = made.loss(made(words()), targets([0, 0, 1, 0], [0, 0, 5, 1], discontinuous=GAPPED))["fragments"]
    assert int(loss.terms) == 3 + 4 + 4  # gold wider than ε is learnt too
    paper = head(negatives=0)
    loss = paper.loss(paper(words()), targets([0, 0, 1, 0], discontinuous=GAPPED))["fragments"]
    logits = paper.mention_logits(paper(words()), [(0, (Span(0, 1),)), (0, GAPPED[0][1].fragments)])[:, 1:]
    expected = torch.nn.functional.cross_entropy(logits, torch.tensor([0, 1]), reduction="sum")
    assert float(loss.total.detach()) == pytest.approx(float(expected.detach()), abs=1e-5)
    assert int(loss.terms) == 2


def test_nothing_to_learn_is_no_error():
    paper = head(negatives=0)
    loss = paper.loss(paper(words()), targets())["fragments"]
    assert (float(loss.total.detach()), int(loss.terms)) == (0, 0)
    loss.total.backward()  # a step is made nevertheless


def test_given_labels_leave_none_out():
    made = head()
    found = made.given_labels(made(words()), MENTIONS)
    assert found.shape == (5, 2)
    assert torch.allclose(found.sum(dim=1), torch.ones(5))


def test_candidates_are_inside_their_sentences():
    made = head()
    with torch.no_grad():
        made.out.bias.copy_(torch.tensor([-9.0, 0.0, 9.0]))
        found = made.candidates(made(words()))
    assert [len(own) for own in found] == [6 + 5 + 4, 3 + 2 + 1]
    assert all(e.end <= 3 and e.label == "PER" for e in found[1])
