import gzip
import json
import sys

import pytest

from nestling.data.clusters import read_clusters
from nestling.data.features import ClusterIndexer
from nestling.errors import DataError, MissingExtraError


def test_the_most_frequent_words_of_a_file_in_their_clusters(tmp_path):
    path = tmp_path / "paths"
    path.write_text("0110\tOslo\t7\n0110\tBergen\t9\n111\tAnn\t8\n111\tBo\t1\n", encoding="utf-8")
    assert read_clusters(str(path), most=3) == ["Bergen Oslo", "Ann"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("0110 Oslo 7\n", "paths:1: '0110 Oslo 7' is not bits, a word and a count"),
        ("01\tOslo\t7\n01\tBergen\tmany\n", "paths:2: .* is not bits, a word and a count"),
        ("01\tNew York\t7\n", "paths:1: 'New York' is no word"),
        ("", "holds no clusters"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_with_its_place(tmp_path, content, message):
    (tmp_path / "paths").write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_clusters(str(tmp_path / "paths"), most=10)


def test_clusters_of_a_language_come_from_a_package(tmp_path, monkeypatch):
    folder = tmp_path / "spacy_lookups_data" / "data"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    clusters = {"Köln": 80, "Bonn": 80, "ging": 7, "rare": 0, "New York": 80, "unheard": 7}
    logarithms = {"Köln": -8.5, "Bonn": -9.5, "ging": -7.5, "rare": -3.0, "New York": -2.0}
    for what, table in {"cluster": clusters, "prob": logarithms}.items():
        (folder / f"de_lexeme_{what}.json.gz").write_bytes(gzip.compress(json.dumps(table).encode()))
    monkeypatch.delitem(sys.modules, "spacy_lookups_data", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    assert read_clusters("de", most=10) == ["ging", "Köln Bonn"]
    monkeypatch.delitem(sys.modules, "spacy_lookups_data")


def test_a_missing_package_says_the_line_to_type(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy_lookups_data", None)
    with pytest.raises(MissingExtraError, match=r'pip install "nestling\[clusters\]"'):
        read_clusters("en", most=10)


def test_words_as_the_numbers_of_their_clusters():
    indexer = ClusterIndexer(["Oslo Bergen", "ging the"])
    assert indexer([[("Oslo", "OSLO", "oslo", "The", "x")], [("GING",)]]).tolist() == [[1, 1, 1, 2, 0], [2, 0, 0, 0, 0]]
