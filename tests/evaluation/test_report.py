"""The page: whole, safe, small, and a browser can work with it."""

import json
import re
import shutil
from html.parser import HTMLParser

import pytest

from nestling.evaluation.analysis import analyze
from nestling.evaluation.comparison import compare
from nestling.evaluation.given import labelled_of
from nestling.evaluation.plots import table_of
from nestling.evaluation.report import page
from nestling.evaluation.sections import tables
from nestling.types import Document, Entity, Span

NASTY = "</script><img src=x onerror=alert(1)> {{data}} & \u2028"


def documents(*entities, words=None, id="d"):
    words = words or ["a\U0001f600", "</script><b>", "New", "York", "City", "sleeps", "{{sections}}", "&amp;"]
    return [Document.of_words(id, [(words, entities)])]


GOLD = documents(
    Entity.at(2, 5, "LOC"), Entity.at(2, 4, "LOC"), Entity((Span(0, 1), Span(5, 6)), "X"), Entity.at(4, 6, "<i>")
)
GUESS = documents(Entity.at(2, 4, "LOC", 0.9), Entity.at(3, 5, "LOC", 0.6), Entity.at(0, 1, NASTY.strip(), 0.2))


class Checker(HTMLParser):
    """Fails where elements are not closed in order."""

    VOID = ("meta", "link", "input", "img", "br")

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def data_of(text):
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])


def test_the_page_is_whole_and_texts_cannot_break_out():
    text = page(analyze(GOLD, {"<m>": GUESS, "{{title}}": GOLD}, train=GOLD), title=NASTY)
    checker = Checker()
    checker.feed(text)
    assert checker.open == []
    assert "img" not in checker.seen
    assert checker.seen.count("script") == 2
    assert "http://" not in text
    assert "https://" not in text
    assert data_of(text)["models"] == ["<m>", "{{title}}"]


def test_places_are_characters_of_the_sentence():
    two = [Document.of_words("d", [(["x", "y"], []), (["New", "York"], [Entity.at(0, 2, "LOC")])])]
    none = [Document.of_words("d", [(["x", "y"], []), (["New", "York"], [])])]
    found = data_of(page(analyze(two, {"m": none})))
    assert found["excerpts"] == [["d", "New York", [[[[0, 8]], "LOC", 1.0, 0]], []]]
    sentence, kind, gold, predicted, words, *_ = found["mistakes"][0][0]
    assert (sentence, found["kinds"][kind], gold, predicted, words) == (0, "missed", [[[0, 8]], "LOC"], None, 2)


def test_a_mistake_over_sentences_shows_them_all():
    gold = [Document.of_words("d", [(["a", "b"], []), (["c"], [Entity.at(0, 1, "X")])])]
    joined = [Document("d", "a b\nc", Document.of_words("d", [(["a", "b", "c"], [Entity.at(1, 3, "X")])]).sentences)]
    found = data_of(page(analyze(gold, {"m": joined})))
    assert found["excerpts"] == [["d", "a b\nc", [[[[4, 5]], "X", 1.0, 0]], [[[[2, 5]], "X", 1.0, 0]]]]


def test_of_long_sentences_only_what_is_near_is_shown():
    words = ["word"] * 3000
    gold = [Document.of_words("d", [(words, [Entity.at(1500, 1501, "X"), Entity.at(10, 11, "X")])])]
    guess = [Document.of_words("d", [(words, [Entity.at(10, 11, "X")])])]
    ((_, text, entities, _),) = data_of(page(analyze(gold, {"m": guess})))["excerpts"]
    assert len(text) < 1500
    assert [text[start:end] for (((start, end),), *_) in entities] == ["word"]


def test_nothing_wrong_and_nothing_at_all():
    for gold in (GOLD, documents(), [Document("empty", "")]):
        assert data_of(page(analyze(gold, {"m": gold})))["mistakes"] == [[]]


def test_better_is_one_direction():
    worse = documents(Entity.at(0, 2, "LOC"))
    found = {table.title: table for table in tables(analyze(GOLD, {"good": GOLD, "bad": worse}))}
    good, bad = found["Overview"].rows
    assert good[3].heat == 0.0
    assert bad[3].heat < 0
    assert found["Mistakes"].rows[1][4].heat < 0  # more missed is worse
    assert [row[0].text for row in found["By nesting"].rows][:2] == ["depth 1", "depth 2"]
    swapped = {t.title: t for t in tables(analyze(GOLD, {"good": GOLD, "bad": worse}, reference="bad"))}
    assert swapped["Overview"].rows[0][3].heat > 0
    assert swapped["Mistakes"].rows[0][4].heat > 0


def test_pictures_where_probabilities_are_told():
    pytest.importorskip("matplotlib")
    gold = [documents(Entity.at(n, n + 1, label), id=str(n))[0] for n, label in enumerate("ABAB")]
    guess = [
        documents(Entity((Span(n, n + 1),), "A", p, {"A": p, "B": 1 - p}), id=str(n))[0]
        for n, p in enumerate((0.9, 0.6, 0.8, 0.7))
    ]
    text = page(analyze(gold, {"m": guess}))
    assert text.count("data:image/png;base64,") == 3
    assert "data:image" not in page(analyze(gold, {"m": gold}))


def test_labels_are_drawn_as_they_are_and_those_unknown_to_the_model_too():
    pytest.importorskip("matplotlib")
    labels = (r"$\frac{$", "_hidden", "日本", "unseen")
    gold = [documents(Entity.at(n, n + 1, label), id=str(n))[0] for n, label in enumerate(labels)]
    own = dict.fromkeys(labels[:3], 1 / 3)
    guess = [documents(Entity((Span(n, n + 1),), labels[0], 1 / 3, own), id=str(n))[0] for n in range(4)]
    assert page(analyze(gold, {"m": guess})).count("data:image/png;base64,") == 3
    rows = table_of(labelled_of(compare(gold, guess)))
    assert (rows == rows[0]).all()  # the same output, the same row, whatever gold is


def test_predictions_on_the_borders_of_gold_are_labelled():
    gold = documents(Entity.at(0, 1, "A"), Entity.at(0, 1, "B"), Entity.at(2, 3, "C"))
    own = {"A": 0.2, "B": 0.7, "D": 0.1}
    guess = documents(
        *(Entity((Span(n, n + 1),), label, own[label], own) for n, label in ((0, "B"), (2, "A"), (3, "A")))
    )
    found = labelled_of(compare(gold, guess))
    assert [(m.label, m.whole) for m in found] == [("B", {"A": 0.2, "B": 0.7, "D": 0.1}), ("C", {"C": 0.0, **own})]


@pytest.fixture
def browser():
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.skip("chromium and chromedriver are not installed")
    webdriver = pytest.importorskip("selenium.webdriver")
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for option in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1200,900"):
        options.add_argument(option)
    opened = webdriver.Chrome(options=options, service=Service(driver))
    yield opened
    opened.quit()


def test_mistakes_are_filtered_and_opened(browser, tmp_path):
    (tmp_path / "r.html").write_text(page(analyze(GOLD, {"m": GUESS, "gold": GOLD})), encoding="utf-8")
    browser.get((tmp_path / "r.html").as_uri())

    def status():
        return browser.find_element("id", "count").text

    assert status() == "3 of 3 mistakes"  # two with other borders, one missed
    browser.find_element("css selector", "select[name=kind] option[value=missed]").click()
    assert status() == "1 of 3 mistakes"
    browser.find_element("name", "text").send_keys("zzz")
    assert status() == "0 of 3 mistakes"
    browser.find_element("name", "text").clear()
    browser.find_element("css selector", "select[name=kind] option[value='']").click()
    browser.find_element("css selector", "select[name=kind] option[value=boundary]").click()
    browser.implicitly_wait(20)  # a mistake is drawn when it is opened, a moment after the click
    browser.find_element("css selector", ".mistake summary").click()
    rows = [row.text for row in browser.find_elements("css selector", ".mistake[open] dt")]
    assert rows == ["gold", "m", "gold"]
    drawn = browser.find_elements("css selector", ".mistake[open] dd")
    assert drawn[0].text.count("LOC") == 2  # nested ones, each with its label
    assert "X 1/2" in drawn[0].text
    assert browser.execute_script("return document.images.length") == 0
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
