"""What is known of each public corpus: its files, how it is split, its labels and its published counts.

The files are the user's: `--root`, or the NESTLING_DATA variable, names the folder that holds one folder a corpus.
`parts` are the corpus as shipped. `split` are the parts to train and test on, where they differ: a missing dev part
is cut from train, by document where documents are known, the same each time, and never from test.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from nestling.data.files import QUIET, Source, Watch
from nestling.data.formats import FORMATS, read
from nestling.data.formats.column import Layout
from nestling.data.joining import written_out
from nestling.data.statistics import Unit
from nestling.errors import DataError, UnknownNameError
from nestling.types import Document

ROOT_VARIABLE = "NESTLING_DATA"


@dataclass(frozen=True, slots=True)
class Folder:
    """The folder of a corpus, and who hears of reading it."""

    path: Path
    watch: Watch = QUIET

    def read(self, file: str, format: str, **options: Any) -> list[Document]:
        """The documents of a file or folder below this one; with `*` in its name, of all that match."""
        paths = sorted(self.path.glob(file)) if "*" in file else [self.path / file]
        if not paths:
            raise DataError(f"no files like {file}", path=self.path)
        return [document for path in paths for document in read(path, format, watch=self.watch, **options)]

    def lines(self, file: str) -> list[str]:
        """The lines of a file, such as a list of ids."""
        return [line.strip() for _, line in Source(self.path / file).lines() if line.strip()]


Load = Callable[[Folder], list[Document]]


def unit_of(is_raw: bool) -> Unit:
    """What is counted: documents where there is raw text, else sentences."""
    return "document" if is_raw else "sentence"


@dataclass(frozen=True, slots=True)
class Corpus:
    """A public corpus: where its folder is, how each of its parts is read, and what is known of it."""

    about: str
    folder: str
    language: str
    format: str
    labels: tuple[str, ...]
    parts: Mapping[str, Load]
    split: Mapping[str, Load] = field(default_factory=dict)
    published: Mapping[str, int] = field(default_factory=dict)  # entities a part, as the papers count them
    terms: str = ""  # licence and whom to name; empty where none is stated and models are not to be passed on
    raw: bool | None = None  # whether texts are split as in use; None: where its format has no words

    @property
    def is_raw(self) -> bool:
        """Whether its texts are as people write them, and to be split as in use."""
        return FORMATS[self.format].is_raw if self.raw is None else self.raw

    @property
    def unit(self) -> Unit:
        """What is counted."""
        return unit_of(self.is_raw)


def find(name: str) -> Corpus:
    """The entry of a corpus."""
    if name not in CORPORA:
        raise UnknownNameError("corpus", name, CORPORA)
    return CORPORA[name]


def parts_of(name: str, *, shipped: bool = False) -> tuple[str, ...]:
    """The names of the parts to train and test on, or of those that were shipped."""
    return tuple(_loads(name, shipped))


def load(
    name: str, part: str, *, root: Path | str | None = None, shipped: bool = False, watch: Watch = QUIET
) -> list[Document]:
    """The documents of one part."""
    loads = _loads(name, shipped)
    if part not in loads:
        raise UnknownNameError(f"part of {name}", part, loads)
    return loads[part](Folder(folder_of(name, root), watch))


def _loads(name: str, shipped: bool) -> Mapping[str, Load]:
    corpus = find(name)
    return corpus.parts if shipped or not corpus.split else corpus.split


def folder_of(name: str, root: Path | str | None = None) -> Path:
    """The folder of a corpus below the root that is given or that NESTLING_DATA names."""
    root = root or os.environ.get(ROOT_VARIABLE)
    if not root:
        place = f"the folder that holds {find(name).folder}/"
        fix = f"set {ROOT_VARIABLE} to {place}, or say --root DIR (in training data.root)"
        raise DataError(f"where the corpus {name} is, is not known", fix=fix)
    folder = Path(root) / find(name).folder
    if not folder.is_dir():
        raise DataError(f"the corpus {name} is not there", path=folder, fix="see docs/corpora.md for where to get it")
    return folder


# How parts are made


def _files(format: str, files: Mapping[str, str], **options: Any) -> dict[str, Load]:
    """One file (or pattern) a part."""

    def loader(file: str) -> Load:
        return lambda folder: folder.read(file, format, **options)

    return {part: loader(file) for part, file in files.items()}


def held_out(documents: Iterable[Document], share: float, *, skip: float = 0.0) -> list[Document]:
    """This share of the documents, behind the first `skip`, in an order that depends on their ids alone."""
    ordered = sorted(documents, key=lambda document: sha256(document.id.encode()).digest())
    return ordered[round(skip * len(ordered)) : round((skip + share) * len(ordered))]


def first_sentences(documents: Iterable[Document], start: int, stop: int | None = None) -> list[Document]:
    """Sentences start to stop of all documents in a row; a document that a border falls into is cut."""
    chosen, position = [], 0
    for document in documents:
        low, high = start - position, len(document.sentences) if stop is None else stop - position
        position += len(document.sentences)
        if low <= 0 and high >= len(document.sentences):
            chosen.append(document)
        elif max(low, 0) < min(high, len(document.sentences)):
            chosen.append(document.excerpt(max(low, 0), high))
    return chosen


# GENIA

_GENIA_TERMS = "annotations CC BY 3.0, Corpus annotations (c) GENIA Project; Kim et al., 2003"
_GENIA_XML = "original/GENIAcorpus3.02.xml"
_GENIA_TRAIN, _GENIA_WITHOUT_DEV = 16692, 15023  # the dev part is the last tenth of train
_GENIA_JSON = _files("w2ner", {"train": "published_split/train.json", "test": "published_split/test.json"})


def _genia_sentences(start: int, stop: int | None) -> Load:
    return lambda folder: first_sentences(folder.read(_GENIA_XML, "genia"), start, stop)


def _genia_articles(part: str) -> Load:
    def load_part(folder: Folder) -> list[Document]:
        ids = set(folder.lines(f"document_split/{part}.docids.txt"))
        return [d for d in folder.read(_GENIA_XML, "genia", one_label=False) if d.id in ids]

    return load_part


# LitBank: a hundred books and no split; a tenth for dev and a tenth for test, of books or of sentences

_LITBANK_TERMS = "CC BY 4.0; Bamman, Popat and Shen, 2019"
_LITBANK_LABELS = ("FAC", "GPE", "LOC", "ORG", "PER", "VEH")


def _litbank(choose: Callable[[list[Document]], list[Document]], *, by_book: bool) -> Load:
    return lambda folder: choose(folder.read("tsv/*.tsv", "column", layout=Layout(is_one_document=by_book)))


def _litbank_split(*, by_book: bool) -> dict[str, Load]:
    return {
        "train": _litbank(lambda every: _without(every, held_out(every, 0.2)), by_book=by_book),
        "dev": _litbank(lambda every: held_out(every, 0.1), by_book=by_book),
        "test": _litbank(lambda every: held_out(every, 0.1, skip=0.1), by_book=by_book),
    }


def _without(documents: list[Document], *others: list[Document]) -> list[Document]:
    ids = {document.id for other in others for document in other}
    return [document for document in documents if document.id not in ids]


# CRAFT: five of its sets of annotations, their names as labels


def _craft(part: str) -> Load:
    return lambda folder: folder.read(
        "concept-annotation",
        "knowtator",
        texts=folder.path / "articles" / "txt",
        ids=folder.lines(f"articles/ids/craft-ids-{part}.txt"),
    )


# ANERcorp: one running sequence; the first 5/6 of its words are train, and the last tenth of those dev


def _anercorp(folder: Folder) -> list[Document]:
    return folder.read("ANERCorp", "column", layout=Layout(sentence_end=".", skip_broken=True))


def _anercorp_words(start: float, stop: float) -> Load:
    def load_part(folder: Folder) -> list[Document]:
        documents = _anercorp(folder)
        total = sum(len(document.sentences[0]) for document in documents)
        chosen, position = [], 0
        for document in documents:
            if start * total <= position < stop * total:
                chosen.append(document)
            position += len(document.sentences[0])
        return chosen

    return load_part


# WNUT17


_WNUT17 = _files(
    "column", {"train": "wnut17train.conll", "dev": "emerging.dev.conll", "test": "emerging.test.annotated"}
)


def _part_of(corpus: Corpus, about: str, names: Mapping[str, str]) -> Corpus:
    """Entities of these labels alone, under other names or their own."""
    labels = tuple(sorted(set(names.values())))
    parts = {part: _renamed(own, names) for part, own in corpus.parts.items()}
    return replace(corpus, about=about, labels=labels, parts=parts, published={})


def _renamed(load_part: Load, names: Mapping[str, str]) -> Load:
    return lambda folder: [
        document.with_entities(
            [replace(e, label=names[e.label]) for e in sentence.entities if e.label in names]
            for sentence in document.sentences
        )
        for document in load_part(folder)
    ]


# Corpora of words, as texts


def _as_text(corpus: Corpus, *, is_cut: bool = False, together: int = 1) -> Corpus:
    """The same as people write; of a corpus without documents, so many sentences in the order of the file are one."""

    def loads(parts: Mapping[str, Load]) -> dict[str, Load]:
        return {part: _written_out(_together(own, together), is_cut=is_cut) for part, own in parts.items()}

    about = f"{corpus.about}; words put together as people write"
    if together > 1:
        about += f", {together} sentences a document"
    parts, split = loads(corpus.parts), loads(corpus.split)
    return replace(corpus, about=about, parts=parts, split=split, published={}, raw=True)


def _together(load_part: Load, count: int) -> Load:
    """Every `count` documents in a row as one."""
    if count == 1:
        return load_part

    def load_joined(folder: Folder) -> list[Document]:
        every = load_part(folder)
        return [_joined(every[start : start + count]) for start in range(0, len(every), count)]

    return load_joined


def _joined(documents: list[Document]) -> Document:
    sentences = [sentence for document in documents for sentence in document.sentences]
    return Document.of_words(documents[0].id, [(sentence.words, sentence.entities) for sentence in sentences])


def _written_out(load_part: Load, *, is_cut: bool) -> Load:
    return lambda folder: [written_out(document, is_cut=is_cut) for document in load_part(folder)]


def _names(names: str) -> tuple[str, ...]:
    return tuple(names.split())


_FIVE = _names("DNA RNA cell_line cell_type protein")
_SIMPLE = ("train", "dev", "test")

CORPORA: dict[str, Corpus] = {
    "genia": Corpus(
        about="English biomedical abstracts, nested; the published split of five types",
        folder="genia",
        terms=_GENIA_TERMS,
        language="en",
        format="w2ner",
        labels=_FIVE,
        parts=_GENIA_JSON,
        split={
            "train": lambda folder: _GENIA_JSON["train"](folder)[:_GENIA_WITHOUT_DEV],
            "dev": lambda folder: _GENIA_JSON["train"](folder)[_GENIA_WITHOUT_DEV:],
            "test": _GENIA_JSON["test"],
        },
        published={"train": 50509, "test": 5506},
    ),
    "genia-xml": Corpus(
        about="the same split of the same words from the XML, with articles",
        folder="genia",
        terms=_GENIA_TERMS,
        language="en",
        format="genia",
        labels=_FIVE,
        raw=False,
        parts={"train": _genia_sentences(0, _GENIA_TRAIN), "test": _genia_sentences(_GENIA_TRAIN, None)},
        split={
            "train": _genia_sentences(0, _GENIA_WITHOUT_DEV),
            "dev": _genia_sentences(_GENIA_WITHOUT_DEV, _GENIA_TRAIN),
            "test": _genia_sentences(_GENIA_TRAIN, None),
        },
        published={"train": 50509, "test": 5506},
    ),
    "genia-docsplit": Corpus(
        about="dev and test of the split by article, as sentences",
        folder="genia",
        terms=_GENIA_TERMS,
        language="en",
        format="mentions",
        labels=_FIVE,
        parts=_files("mentions", {part: f"document_split/{part}.jsonlines" for part in ("dev", "test")}),
    ),
    "genia-articles": Corpus(
        about="English biomedical abstracts, nested; split by article, from the XML, with raw text",
        folder="genia",
        terms=_GENIA_TERMS,
        language="en",
        format="genia",
        labels=_FIVE,
        parts={part: _genia_articles(part) for part in _SIMPLE},
    ),
    "litbank": Corpus(
        about="English fiction, nested; split by book",
        folder="litbank",
        terms=_LITBANK_TERMS,
        language="en",
        format="column",
        labels=_LITBANK_LABELS,
        parts={"all": _litbank(list, by_book=True)},
        split=_litbank_split(by_book=True),
    ),
    "litbank-sentences": Corpus(
        about="the same, split by sentence: all parts have the names of all books, as where no split is told",
        folder="litbank",
        terms=_LITBANK_TERMS,
        language="en",
        format="column",
        labels=_LITBANK_LABELS,
        parts={"all": _litbank(list, by_book=False)},
        split=_litbank_split(by_book=False),
    ),
    "nerel": Corpus(
        about="Russian news, nested and a few discontinuous",
        folder="nerel",
        language="ru",
        format="brat",
        labels=_names(
            "AGE AWARD CITY COUNTRY CRIME DATE DISEASE DISTRICT EVENT FACILITY FAMILY IDEOLOGY LANGUAGE LAW LOCATION "
            "MONEY NATIONALITY NUMBER ORDINAL ORGANIZATION PENALTY PERCENT PERSON PRODUCT PROFESSION RELIGION "
            "STATE_OR_PROVINCE TIME WORK_OF_ART"
        ),
        parts=_files("brat", {part: part for part in _SIMPLE}, language="ru"),
    ),
    "germeval14": Corpus(
        about="German, two levels of nesting",
        folder="germeval14",
        terms="CC BY 4.0; Benikova, Biemann and Reznicek, 2014",
        language="de",
        format="column",
        labels=_names(
            "LOC LOCderiv LOCpart ORG ORGderiv ORGpart OTH OTHderiv OTHpart PER PERderiv PERpart",
        ),
        parts=_files("column", {part: f"germ.{part}.iob2" for part in _SIMPLE}),
    ),
    "craft": Corpus(
        about="English biomedical articles, nested and discontinuous",
        folder="craft",
        terms="annotations CC BY 3.0; Bada et al., 2012",
        language="en",
        format="knowtator",
        labels=_names("CHEBI CL GO_BP GO_CC UBERON"),
        parts={part: _craft(part) for part in _SIMPLE},
    ),
    "conll04": Corpus(
        about="English news, flat",
        folder="conll04",
        language="en",
        format="spert",
        labels=_names("Loc Org Other Peop"),
        parts=_files("spert", {part: f"conll04_{part}.json" for part in _SIMPLE}),
        published={"train": 3377, "dev": 893, "test": 1079},
    ),
    "scierc": Corpus(
        about="English scientific abstracts, nearly flat",
        folder="scierc",
        language="en",
        format="dygie",
        labels=_names("Generic Material Method Metric OtherScientificTerm Task"),
        parts=_files("dygie", {part: f"original/{part}.json" for part in _SIMPLE}),
        published={"train": 5598, "dev": 811, "test": 1685},
    ),
    "bc5cdr": Corpus(
        about="English biomedical abstracts, flat",
        folder="bc5cdr",
        terms="public domain; Li et al., 2016",
        language="en",
        format="column",
        labels=_names("Chemical Disease"),
        parts=_files("column", {"train": "train.tsv", "dev": "devel.tsv", "test": "test.tsv"}),
        published={"train": 9385, "dev": 9353, "test": 9809},
    ),
    "ncbi-disease": Corpus(
        about="English biomedical abstracts, flat, one label",
        folder="ncbi-disease",
        terms="CC BY 4.0; Doğan, Leaman and Lu, 2014",
        language="en",
        format="column",
        labels=_names("Disease"),
        parts=_files("column", {"train": "train.tsv", "dev": "devel.tsv", "test": "test.tsv"}),
    ),
    "wnut17": Corpus(
        about="English posts, flat, emerging entities; train is the text of WNUT16's train and dev",
        folder="wnut17",
        terms="CC BY 4.0; Derczynski et al., 2017",
        language="en",
        format="column",
        labels=_names("corporation creative-work group location person product"),
        parts=_WNUT17,
        published={"train": 1975, "dev": 835, "test": 1079},
    ),
    "wnut16": Corpus(
        about="English tweets, flat",
        folder="wnut16",
        language="en",
        format="column",
        labels=_names("company facility geo-loc movie musicartist other person product sportsteam tvshow"),
        parts=_files("column", {part: part for part in _SIMPLE}),
        published={"train": 2104, "dev": 661, "test": 3473},
    ),
    "weibo": Corpus(
        about="Chinese posts, flat, by character",
        folder="weibo",
        terms="annotations CC BY-SA 3.0; Peng and Dredze, 2015",
        language="zh",
        format="column",
        labels=_names("GPE.NAM GPE.NOM LOC.NAM LOC.NOM ORG.NAM ORG.NOM PER.NAM PER.NOM"),
        parts=_files(
            "column",
            {part: f"weiboNER_2nd_conll.{part}" for part in _SIMPLE},
            layout=Layout(joiner="", clean=lambda cell: cell[:-1]),  # the last digit is the place in a word
        ),
    ),
    "anercorp": Corpus(
        about="Arabic news, flat",
        folder="anercorp",
        language="ar",
        format="column",
        labels=_names("LOC MISC ORG PERS"),
        parts={"all (cut after full stops)": _anercorp},
        split={
            "train": _anercorp_words(0, 0.75),
            "dev": _anercorp_words(0.75, 5 / 6),
            "test": _anercorp_words(5 / 6, 1),
        },
    ),
    **{
        f"harem-{scenario}": Corpus(
            about=f"Portuguese, flat; the {scenario} scenario",
            folder="harem",
            language="pt",
            format="offsets",
            labels=_names(labels),
            parts=_files(
                "offsets",
                {
                    "train": f"FirstHAREM-{scenario}-train.json",
                    "dev": f"FirstHAREM-{scenario}-dev.json",
                    "test": f"MiniHAREM-{scenario}.json",
                },
                language="pt",
            ),
        )
        for scenario, labels in {
            "total": "ABSTRACCAO ACONTECIMENTO COISA LOCAL OBRA ORGANIZACAO OUTRO PESSOA TEMPO VALOR",
            "selective": "LOCAL ORGANIZACAO PESSOA TEMPO VALOR",
        }.items()
    },
}
CORPORA |= {
    "wnut17-organisations": _part_of(
        CORPORA["wnut17"],
        "English posts, flat; corporations and groups of WNUT17 as ORG, and nothing else",
        {"corporation": "ORG", "group": "ORG"},
    ),
}
_ABSTRACTS = 20  # sentences a document: about two abstracts, whose ends the files do not tell
CORPORA |= {f"{name}-text": _as_text(CORPORA[name]) for name in ("germeval14", "litbank", "wnut17-organisations")}
CORPORA |= {
    f"{name}-text": _as_text(CORPORA[name], is_cut=True, together=_ABSTRACTS) for name in ("bc5cdr", "ncbi-disease")
}
