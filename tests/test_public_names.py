import doctest

import nestling


def test_public_names_are_pinned():
    assert sorted(nestling.__all__) == [
        "DataError",
        "Document",
        "Entity",
        "InvalidValueError",
        "Labels",
        "Mention",
        "NestlingError",
        "Recognizer",
        "Scores",
        "Sentence",
        "Span",
        "Token",
        "keep_best",
        "load",
        "parse",
        "read",
        "score",
        "soft_nms",
        "write",
    ]


def test_every_name_is_there_and_says_what_it_is():
    for name in nestling.__all__:
        assert getattr(nestling, name).__doc__, name


def test_the_example_in_the_docstring_runs():
    assert doctest.testmod(nestling).failed == 0
