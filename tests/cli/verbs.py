"""Every verb that writes, on small inputs; and how what it wrote is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from typer.testing import CliRunner

from st_biomed.cli import app
from st_biomed.kge import KGETable, TrainedKGE
from st_biomed.leaderboard.results import ResultsFolder
from st_biomed.linking import ConceptIndex
from st_biomed.terminology import Terminology


class Ended(NamedTuple):
    """What a command said and how it ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def line(self) -> str:
        """Its last line on stderr; sentence-transformers' progress bars may stand before."""
        return (self.stderr.splitlines() or [""])[-1]


def command(*words: object) -> Ended:
    """Run ``st-biomed`` with these words in this process."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ended(result.exit_code, result.stdout, result.stderr)


@dataclass(frozen=True)
class Verb:
    """A command that writes.

    Attributes:
        words: Its words without the output, with ``{name}`` for the inputs of :class:`Inputs`.
        read: Reads what it wrote whole, and gives what can be compared.
        file: Name of the output where it is a file; otherwise it is a folder.
        other: Further words that make another content.
        overwrite: Words that replace what is there.
        flag: What the output is the value of.
    """

    words: tuple[object, ...]
    read: Callable[[Path], object]
    file: str = ""
    other: tuple[object, ...] = ()
    overwrite: tuple[str, ...] = ("--overwrite",)
    flag: str = "-o"

    def filled(self, inputs: dict[str, Path], output: Path, *more: object) -> list[object]:
        words = [*self.words, self.flag, output, *more]
        return [word.format(**inputs) if isinstance(word, str) else word for word in words]


def _terminology(folder: Path) -> object:
    return Terminology.load(folder, verify=True).digest


def _index(folder: Path) -> object:
    index = ConceptIndex.load(folder)
    return index.manifest.catalog_sha256, index.vectors.matrix.tobytes()


def _training(folder: Path) -> object:
    return TrainedKGE.load(folder, "cpu").table.digest, KGETable.load(folder).digest


def _mentions(folder: Path) -> object:
    from datasets import load_from_disk

    return load_from_disk(str(folder)).to_list(), json.loads((folder / "coverage.json").read_text("utf-8"))["rows"]


def _results(folder: Path) -> object:
    results = ResultsFolder(folder)
    found = {result.evaluator: result.metrics for result in results.results}
    assert all(results.units(result) for result in results.results) and found
    return found


def _recipe(folder: Path) -> object:
    results = json.loads((folder / "results.json").read_text("utf-8"))["results"]
    return {name: (_training(folder / name), results[name]) for name in results}


def _encoder(folder: Path) -> object:
    from st_biomed.encoder import load_encoder
    from st_biomed.encoder.digest import model_digest
    from st_biomed.release.run_data import read_run

    return model_digest(load_encoder(folder, device="cpu")), read_run(folder / "run.json")["averaging"]


def _text(file: Path) -> object:
    text = file.read_text("utf-8")
    assert text.endswith(("\n", ">"))
    return text


def _drawn(file: Path) -> object:
    text = file.read_text("utf-8")
    assert text.rstrip().endswith("</svg>")
    return text


SMOKE = "recipes/configs/kge_smoke.yaml"

VERBS = {
    "read": Verb(("read", "toy", "--option", "depth=2"), _terminology, other=("--option", "trees=2")),
    "merge": Verb(("merge", "{toy}", "{two}"), _terminology, other=("{three}",)),
    "unite": Verb(("unite", "{plan}", "--data", "{parts}"), _terminology, other=("--data", "{others}")),
    "subset": Verb(("subset", "{toy}", "--types", "disorder"), _terminology, other=("--below", "TOY:D0")),
    "mentions": Verb(("mentions", "{toy}", "{text}"), _mentions, other=("--window", 5)),
    "mentions as a table": Verb(("mentions", "{toy}", "{text}"), _text, file="found.csv", other=("--window", 1)),
    "index": Verb(
        ("index", "{toy}", "--model", "{model}", "--rows-per-commit", 40), _index, other=("--dtype", "float16")
    ),
    "evaluate": Verb(
        ("evaluate", "{model}", "-t", "{toy}", "--pairs-per-class", 5, "--n-bootstrap", 0), _results, overwrite=()
    ),
    "train kge": Verb(
        ("train", "kge", SMOKE, "--models", "transe", "--device", "cpu"),
        _recipe,
        other=("--seed", 1),
        overwrite=("--overwrite", "true"),
        flag="--output_dir",
    ),
    "average": Verb(("average", "{model}", "{moved}/."), _encoder, other=("--weights", ".2,.8")),
    "pairs": Verb(("pairs", "{toy}"), _text, file="pairs.txt", other=("--form", "names")),
    "link": Verb(("link", "{index}", "{text}"), _text, file="linked.tsv", other=("-k", 1)),
    "merge --conflicts": Verb(
        ("merge", "{toy}", "{two}", "-o", "{merged}", "--overwrite", "--same-name", "lower"),
        _text,
        file="conflicts.tsv",
        overwrite=(),
        flag="--conflicts",
    ),
    "kge evaluate": Verb(
        ("kge", "evaluate", "{trained}/transe", "--device", "cpu"), _text, file="figures.json", overwrite=()
    ),
    "picture results": Verb(("picture", "results", "{results}"), _drawn, file="a.svg", overwrite=()),
    "picture concepts": Verb(
        ("picture", "concepts", "{toy}", "{model}", "--concepts", 2, "--names", 2), _drawn, file="b.svg", overwrite=()
    ),
}
"""Name to the verb."""


def moved(model: Path, folder: Path) -> Path:
    """A saved encoder with other weights than this one."""
    import torch

    from st_biomed.encoder import load_encoder

    encoder = load_encoder(model, device="cpu")
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    encoder.save_pretrained(str(folder), create_model_card=False)
    return folder


def make_inputs(folder: Path, model: Path) -> dict[str, Path]:
    """What the verbs read."""
    inputs = {name: folder / name for name in ("toy", "two", "three", "index", "trained", "results", "merged")}
    inputs |= {"model": model, "text": folder / "text.txt", "moved": moved(model, folder / "moved")}
    inputs |= {"plan": folder / "plan.yaml", "parts": folder / "parts", "others": folder / "others"}
    inputs["plan"].write_text("sources: {one: {path: one}, two: {reader: toy}}\n")
    for name, trees in (("parts", 2), ("others", 4)):
        Terminology.read("toy", trees=trees, depth=1).save(inputs[name] / "one")
    toy = Terminology.read("toy", trees=2, branching=2)
    toy.save(inputs["toy"])
    Terminology.read("toy", trees=3, depth=1).save(inputs["two"])
    Terminology.read("toy", trees=5, depth=1).save(inputs["three"])
    inputs["text"].write_text("".join(f"uno due {name} lus\n" for name in toy.strings[:6]), "utf-8")
    for name, output in (("index", "index"), ("train kge", "trained"), ("evaluate", "results")):
        ended = command(*VERBS[name].filled(inputs, inputs[output]))
        assert ended.code == 0, ended
    import matplotlib.backends.backend_svg  # noqa: F401  # once, not in every child
    import sklearn.manifold  # noqa: F401

    return inputs
