"""A hundred mistakes that people make, over every command, and the good inputs that they are made beside."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from st_biomed.cli import app

KGE = "recipes/configs/kge_smoke.yaml"


class World:
    """What the commands are given: good inputs, and the bad ones that a case makes beside them."""

    def __init__(self, root: Path, model: Path) -> None:
        self.root, self.model = root, model
        self.toy, self.index, self.kge = root / "toy", root / "toy.index", root / "graphs" / "complex"
        self.results, self.dataset = root / "results", root / "mentions"
        self.mentions = self.file("mentions.txt", "flumpa disease\n")
        self.texts = self.file("texts.txt", "A flumpa disease was found.\n")
        self.out = root / "out"
        self.must("read", "toy", "-o", self.toy, "--option", "trees=2", "--option", "branching=3")
        self.must("index", self.toy, "--model", model, "-o", self.index, "--device", "cpu")
        self.must(
            "train",
            "kge",
            KGE,
            "--models",
            "complex",
            "--epochs",
            1,
            "--device",
            "cpu",
            "--output_dir",
            root / "graphs",
        )
        measured = ("--terminology", self.toy, "--pairs-per-class", 20, "--n-bootstrap", 20)
        self.must("evaluate", f"bert={model}", *measured, "-o", self.results)

    def file(self, name: str, content: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def copy(self, folder: Path, name: str) -> Path:
        return Path(shutil.copytree(folder, self.root / name, dirs_exist_ok=True))

    @staticmethod
    def must(*words: object) -> None:
        result = CliRunner().invoke(app, [str(word) for word in words])
        assert result.exit_code == 0, result.output


Case = Callable[[World], list[object]]


def _kge(w: World, *words: object) -> list[object]:
    return ["train", "kge", "--terminology", "toy", "--output_dir", w.out, *words]


def table(name: str, content: str | bytes, *options: str) -> Case:
    """A table of one's own that is read."""
    suffixed = name if "." in name else f"{name}.csv"
    flags = [word for option in options for word in ("--option", option)]
    return lambda w: ["read", "parent_child", w.file(suffixed, content), "-o", w.out, *flags]


def benchmark(name: str, content: str) -> Case:
    """A benchmark of one's own that is measured."""
    return lambda w: ["evaluate", w.model, "-b", w.file(f"{name}.yaml", content), "-o", w.out]


def hiprbert(*words: object, **settings: object) -> Case:
    """HiPrBERT on the toy terminology, smoke-sized, but for these words."""
    start = ("train", "hiprbert", "hiprbert_smoke.yaml")
    return lambda w: [*start, "--base_model", w.model, "--output_dir", w.out, *words]


def recipe(name: str, *words: object) -> Case:
    return lambda w: ["train", name, f"{name}_smoke.yaml", "--base_model", w.model, "--output_dir", w.out, *words]


TREE = "name: mine\nevaluator: tree\nsettings: {sources: [toy], whole: true}\n"
PAIRS = "name: mine\nevaluator: relatedness\nsettings: {path: %s}\n"

CASES: dict[str, Case] = {
    # tables of one's own
    "a table without a code": table("no_code", "code,name\n,gradtha\n"),
    "a table with an empty name": table("no_name", "code,name\nA,\n"),
    "a table of a header alone": table("header", "code,name\n"),
    "an empty table": table("empty", ""),
    "a table of blanks": table("blanks", "\n\n   \n"),
    "a table with a quote that never ends": table("quote", 'code,name\nA,"gradtha\nB,flumpa\n'),
    "a row with a cell too many": table("wide", "code,name\nA,gradtha,flumpa,more\n"),
    "a row with a cell too few": table("narrow", "code,name\nA\n"),
    "a column twice": table("twice", "code,name,name\nA,gradtha,flumpa\n"),
    "no known column": table("columns", "x,y\nA,gradtha\n"),
    "a column that is not there": table("column", "code,name\nA,gradtha\n", "string=label"),
    "a code that is its own parent": table("self", "code,name,parent\nA,gradtha,A\n"),
    "a parent without a name": table("orphan", "code,name,parent\nA,gradtha,B\n"),
    "a name with a NUL": table("nul", b"code,name\nA,gra\x00dtha\n"),
    "a table in UTF-16 without a mark": table("utf16", "code,name\nA,gradtha\n".encode("utf-16-le")),
    "a picture called csv": table("picture", b"\x89PNG\r\n\x1a\n" + bytes(range(256))),
    "a gzip file cut off": table("cut.csv.gz", gzip.compress(b"code,name\n" + b"A,gradtha\n" * 999)[:-20]),
    "a gzip file that is none": table("none.csv.gz", b"code,name\nA,gradtha\n"),
    "a prefix with a space": table("prefix", "code,name\nA,gradtha\n", "name=my source"),
    "an unknown dialect": table("dialect", "code,name\nA,gradtha\n", "dialect=excel"),
    "an option twice": table("options", "code,name\nA,gradtha\n", "name=A", "name=B"),
    "an option without a value": table("valueless", "code,name\nA,gradtha\n", "name"),
    # other sources
    "a folder where a file is read": lambda w: ["read", "obo", w.root, "-o", w.out],
    "a file where a folder is read": lambda w: ["read", "umls", w.mentions, "-o", w.out],
    "JSON where OBO is read": lambda w: ["read", "obo", w.file("hp.obo", '{"graphs": []}'), "-o", w.out],
    "OBO where JSON is read": lambda w: ["read", "obograph", w.file("hp.json", "format-version: 1.2\n"), "-o", w.out],
    "an ontology of nothing": lambda w: ["read", "obograph", w.file("none.json", '{"graphs": []}'), "-o", w.out],
    "a number where JSON has an object": lambda w: ["read", "obograph", w.file("n.json", "17"), "-o", w.out],
    "an empty META folder": lambda w: ["read", "umls", w.file("META/README", "").parent, "-o", w.out],
    "reading into the source": lambda w: [
        "read",
        "parent_child",
        w.file("in/t.csv", "code,name\nA,b\n"),
        "-o",
        w.root / "in",
    ],
    # merge, subset, stats, pairs
    "a merge of one": lambda w: ["merge", w.toy, "-o", w.out],
    "a merge with nothing there": lambda w: ["merge", w.toy, w.root / "nowhere", "-o", w.out],
    "a merge of an index": lambda w: ["merge", w.toy, w.index, "-o", w.out],
    "a merge by an unknown equality": lambda w: ["merge", w.toy, "toy", "--same-name", "exact", "-o", w.out],
    "through without a crosswalk": lambda w: ["merge", w.toy, "toy", "--through", "UMLS", "-o", w.out],
    "conflicts into a folder": lambda w: [
        "merge",
        w.toy,
        "toy",
        "--crosswalk",
        "xref",
        "--conflicts",
        w.root,
        "-o",
        w.out,
    ],
    "a merge into its own input": lambda w: ["merge", w.toy, "toy", "-o", w.toy],
    "a subset of no source": lambda w: ["subset", w.toy, "--sources", "UMLS", "-o", w.out],
    "a subset without a condition": lambda w: ["subset", w.toy, "-o", w.out],
    "a subset below an empty code": lambda w: ["subset", w.toy, "--below", "", "--sources", "TOY", "-o", w.out],
    "a subset below no code": lambda w: ["subset", w.toy, "--below", "TOY:nowhere", "-o", w.out],
    "a subset of codes in no file": lambda w: ["subset", w.toy, "--codes", w.root / "nowhere", "-o", w.out],
    "a subset of codes nobody has": lambda w: ["subset", w.toy, "--codes", w.file("codes", "X\nY\n"), "-o", w.out],
    "a subset of an empty list": lambda w: ["subset", w.toy, "--codes", w.file("no_codes", ""), "-o", w.out],
    "a subset in no language": lambda w: ["subset", w.toy, "--languages", "english", "-o", w.out],
    "statistics of a release": lambda w: ["stats", w.model],
    "statistics of a file": lambda w: ["stats", w.mentions],
    "pairs into a folder": lambda w: ["pairs", w.toy, "-o", w.root],
    "pairs over a file": lambda w: ["pairs", w.toy, "-o", w.mentions],
    "no pair a concept": lambda w: ["pairs", w.toy, "-o", w.out, "--max-pairs-per-concept", 0],
    # mentions
    "texts that are not there": lambda w: ["mentions", w.toy, w.root / "nowhere", "-o", w.out],
    "an empty folder of texts": lambda w: [
        "mentions",
        w.toy,
        w.file("texts/x/y", "").parent.parent / "none",
        "-o",
        w.out,
    ],
    "JSON lines without the field": lambda w: ["mentions", w.toy, w.file("t.jsonl", '{"body": "a"}\n'), "-o", w.out],
    "a JSON line that is none": lambda w: [
        "mentions",
        w.toy,
        w.file("b.jsonl", '{"text": "a"}\n{"text": \n'),
        "-o",
        w.out,
    ],
    "a text that is a number": lambda w: ["mentions", w.toy, w.file("n.jsonl", '{"text": 17}\n'), "-o", w.out],
    "a window of no token": lambda w: ["mentions", w.toy, w.texts, "-o", w.out, "--window", 0],
    "sequences below zero": lambda w: ["mentions", w.toy, w.texts, "-o", w.out, "--sequences", -5],
    "no context of a term": lambda w: ["mentions", w.toy, w.texts, "-o", w.out, "--per-term", 0],
    "a language nobody has": lambda w: ["mentions", w.toy, w.texts, "-o", w.out, "--language", "xx"],
    "a form of text that is none": lambda w: ["mentions", w.toy, w.texts, "-o", w.out, "--form", "pdf"],
    "stop words in no file": lambda w: ["mentions", w.toy, w.texts, "-o", w.out, "--stop-words", w.root / "nowhere"],
    "a tokenizer in no folder": lambda w: ["mentions", w.toy, w.texts, "-o", w.out, "--tokenizer", w.root / "nowhere"],
    # index and link
    "an index of nothing": lambda w: ["index", w.root / "nowhere", "--model", w.model, "-o", w.out],
    "an index by no model": lambda w: ["index", w.toy, "--model", w.root / "nowhere", "-o", w.out],
    "an index by a terminology": lambda w: ["index", w.toy, "--model", w.toy, "-o", w.out],
    "an index in a terminology": lambda w: ["index", w.toy, "--model", w.model, "-o", w.toy],
    "codes for a few names": lambda w: ["index", "toy", "--model", w.model, "-o", w.out, "--kind", "ivfpq"],
    "a link into a terminology": lambda w: ["link", w.toy, w.mentions],
    "a link of no file": lambda w: ["link", w.index, w.root / "nowhere"],
    "a link of a folder": lambda w: ["link", w.index, w.root],
    "a column that no table has": lambda w: ["link", w.index, w.file("m.tsv", "a\tb\nx\ty\n"), "--column", "mention"],
    "a row that is too short": lambda w: ["link", w.index, w.file("s.tsv", "a\ttext\nx\ty\nz\n")],
    "a line that is no JSON": lambda w: ["link", w.index, w.file("m.jsonl", '{"text": "a"}\nnonsense\n')],
    "a mention that is a list": lambda w: ["link", w.index, w.file("l.jsonl", '{"text": ["a", "b"]}\n')],
    "an unknown format": lambda w: ["link", w.index, w.mentions, "--format", "xml"],
    "a type nobody has": lambda w: ["link", w.index, w.mentions, "--types", "T999"],
    "a threshold no cosine reaches": lambda w: ["link", w.index, w.mentions, "--threshold", 7],
    "a link over a file": lambda w: ["link", w.index, w.mentions, "-o", w.texts],
    "a link over its input": lambda w: ["link", w.index, w.mentions, "-o", w.mentions, "--overwrite"],
    # evaluate
    "a model twice": lambda w: ["evaluate", w.model, w.model, "-t", w.toy, "-o", w.out],
    "a name without a model": lambda w: ["evaluate", "bert=", "-t", w.toy, "-o", w.out],
    "a benchmark nobody knows": lambda w: ["evaluate", w.model, "-b", "mayosr", "-o", w.out],
    "a benchmark of no evaluator": benchmark("none", "name: mine\nevaluator: trees\nsettings: {}\n"),
    "a setting nobody has": benchmark("setting", TREE.replace("whole", "hole")),
    "a benchmark of a list": benchmark("list", "- a\n- b\n"),
    "a benchmark without a name": benchmark("nameless", "evaluator: tree\nsettings: {sources: [toy]}\n"),
    "a benchmark's name with a slash": benchmark("slash", TREE.replace("mine", "../mine")),
    "pairs that are not there": benchmark("absent", PAIRS % "nowhere.csv"),
    "pairs at an unknown distance": lambda w: [
        "evaluate",
        w.model,
        "--pairs",
        w.file("p", "near||a||b\n"),
        "-o",
        w.out,
    ],
    "pairs of two cells": lambda w: ["evaluate", w.model, "--pairs", w.file("q", "1||a\n"), "-o", w.out],
    "vectors without texts": lambda w: [
        "evaluate",
        _npz(w, "no_texts", vectors=np.ones((2, 3))),
        "-t",
        w.toy,
        "-o",
        w.out,
    ],
    "vectors of too few texts": lambda w: [
        "evaluate",
        _npz(w, "few", texts=np.array(["a"]), vectors=np.ones((2, 3))),
        "-t",
        w.toy,
        "-o",
        w.out,
    ],
    "results in a terminology": lambda w: ["evaluate", w.model, "-t", w.toy, "-o", w.toy],
    # graphs, pictures, releases
    "an unknown graph model": lambda w: _kge(w, "--model", "transr"),
    "a graph of nothing": lambda w: _kge(w, "--relations", "false", "--parents", "false"),
    "a graph of rare relations": lambda w: _kge(w, "--least_triples", 10**9),
    "an odd complex dimension": lambda w: _kge(w, "--model", "complex", "--dimension", 7),
    "a split that is none": lambda w: ["kge", "evaluate", w.kge, "--split", "train"],
    "a graph measured in a terminology": lambda w: ["kge", "evaluate", w.toy],
    "resuming where nothing is": lambda w: _kge(w, "--resume", "true"),
    "a picture of no format": lambda w: ["picture", "results", w.results, "-o", w.root / "p.docx"],
    "a picture of no results": lambda w: ["picture", "results", w.toy, "-o", w.root / "p.png"],
    "a picture of nobody": lambda w: ["picture", "distances", w.results, "-o", w.root / "p.png", "--model", "nobody"],
    "more concepts than there are": lambda w: [
        "picture",
        "concepts",
        w.toy,
        w.model,
        "-o",
        w.root / "p.png",
        "--concepts",
        10**6,
    ],
    "a release of a terminology": lambda w: ["release", w.toy, "me/mine"],
    "a release of a plain model": lambda w: ["release", w.model, "me/mine"],
    "a release to no owner": lambda w: ["release", w.model, "mine/of/mine"],
    # recipes
    "a recipe nobody has": lambda w: ["train", "biobert"],
    "settings nobody has": lambda w: ["train", "hiprbert", "nothing.yaml"],
    "settings of another recipe": lambda w: ["train", "hiprbert", "fewshot_names_smoke.yaml", "--output_dir", w.out],
    "a part that is none": hiprbert("--parts", "synonyms", "antonyms"),
    "no part": hiprbert("--parts"),
    "an unknown distance": hiprbert("--distance", "wu_palmer"),
    "an unknown kinship": hiprbert("--levels", "sibling", "cousin_twice_removed"),
    "more cuts than levels": hiprbert("--alpha", 1, 2, 3, 4, 5, 6),
    "all trees held out": hiprbert("--held_out", 0.9),
    "no share held out": hiprbert("--held_out", -0.1),
    "an unknown preset": hiprbert("--synonym_preset", "sapbirt"),
    "an unknown mining": hiprbert("--mining", "hardest"),
    "partners without a number": hiprbert("--partners", "five"),
    "a terminology without a hierarchy": hiprbert("--terminology", "icd12"),
    "too long a name": hiprbert("--max_length", 1),
    "an unknown pooling": hiprbert("--pooling", "median"),
    "an unknown loss": recipe("sapbert", "--loss", "triplets"),
    "an unknown adapter": recipe("sapbert", "--adapter", "prefix"),
    "an unknown graph encoder": recipe("bergamot", "--graph", "gcn"),
    "an unknown relation loss": recipe("bergamot", "--relation_loss", "rotate"),
    "blocks that do not divide": recipe("bergamot", "--graph", "rgcn", "--blocks", 7),
}


def _npz(world: World, name: str, **arrays: np.ndarray) -> Path:
    path = world.root / f"{name}.npz"
    np.savez(path, **arrays)  # type: ignore[arg-type]
    return path
