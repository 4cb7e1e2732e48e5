"""Every file of every folder that is saved, damaged in every way: one line that names the file, or what it held is made again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from st_biomed.errors import InputError, disk_error
from st_biomed.evaluators.vector_store import VectorStore
from st_biomed.kge import KGESettings, KGETable, KnowledgeGraph, TrainedKGE, train_kge
from st_biomed.kge.trained import model_for
from st_biomed.leaderboard.results import Result, ResultsFolder
from st_biomed.linking import ConceptIndex
from st_biomed.metrics.significance import PairedTest, Units
from st_biomed.records import Definition, Parent, Record, Relation, SourceInfo, Term, Type, Xref
from st_biomed.samplers.neighbor_table import NeighborTable
from st_biomed.terminology import Terminology
from tests.kge.graphs import wheel

TEXTS = [f"flumpa {i}" for i in range(9)]
SETTINGS = KGESettings(
    model="complex", dimension=8, negatives=8, chunk=8, batch_size=16, epochs=2, evaluate_every=1, patience=0
)


def flipped(at: float) -> Callable[[bytes], bytes]:
    """One bit of the byte at a share of the file."""

    def damage(content: bytes) -> bytes:
        place = int(at * (len(content) - 1))
        return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]

    return damage


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    **{f"a bit at {at}": flipped(at) for at in (0, 0.01, 0.25, 0.5, 0.75, 0.99, 1)},
    "cut in half": lambda content: content[: len(content) // 2],
    "without its last byte": lambda content: content[:-1],
    "empty": lambda content: b"",
    "longer": lambda content: content + b"\0",
    "zeros": lambda content: bytes(len(content)),
    "garbage": lambda content: bytes((i * 37 + 11) % 256 for i in range(len(content))),
    "text": lambda content: b"flumpa\n",
    "JSON": lambda content: b"{}\n",
    "a list": lambda content: b"[" * 5000,
}


@dataclass(frozen=True)
class Kind:
    """What is saved.

    Attributes:
        save: Saves one of two contents into a folder, by number.
        load: Reads it, and gives what can be compared.
        heals: Files that are made again where they are damaged; what is loaded has then to be right.
    """

    save: Callable[[Path, int], object]
    load: Callable[[Path], object]
    heals: tuple[str, ...] = ()


# ---------------------------------------------------------------------- what is saved


def terminology(number: int) -> Terminology:
    prefix = "AB"[number]
    records: list[Record] = []
    for i in range(20 + number):
        records += [
            Term(f"{prefix}:{i}", f"flumpa {i} {prefix}"),
            Term(f"{prefix}:{i}", f"gradtha {i}", "synonym", "it"),
        ]
        records += [Type(f"{prefix}:{i}", f"T{i % 3}"), Xref(f"{prefix}:{i}", f"X:{i}")]
        records += [Definition(f"{prefix}:{i}", f"What flumpa {i} of {prefix} is.")]
        if i:
            records += [
                Parent(f"{prefix}:{i}", f"{prefix}:{i // 2}"),
                Relation(f"{prefix}:{i}", "near", f"{prefix}:0"),
            ]
    return Terminology.from_records(records, SourceInfo(prefix, prefix))


def graph(number: int) -> KnowledgeGraph:
    return wheel(12 + 2 * number)


def training(number: int) -> TrainedKGE:
    settings = replace(SETTINGS, seed=number)
    return TrainedKGE(model_for(graph(number), settings), graph(number), settings)


def vectors(texts: list[str]) -> np.ndarray:
    return np.array([[len(text), int(text.split()[1]), 0.1] for text in texts], dtype=np.float32)


def store(folder: Path, number: int, texts: list[str] = TEXTS) -> np.ndarray:
    return VectorStore(folder, {"model": "m"}, lambda texts: vectors(texts) + number)(texts)


def measured(number: int) -> Result:
    return Result(
        "zorb", "zorb", "one", "d", {}, {"zorb_acc": 0.5 + number}, "zorb_acc", {}, {"zorb_acc": [40, "pair"]}
    )


def results(folder: Path, number: int) -> None:
    saved = ResultsFolder(folder)
    saved.add(measured(number), {"acc": Units("pair", np.arange(40.0) + number)})
    saved.add_tests({f"one on {number}": PairedTest(0.1, 0.0, 0.2, 0.05 + number, 4)})


def figures(folder: Path) -> object:
    saved = ResultsFolder(folder)
    test = saved.tests().get("one on 0", PairedTest(0.1, 0.0, 0.2, 0.05, 4))
    if not saved.results:  # it is measured again
        return {"zorb_acc": 0.5}, np.stack([np.arange(40.0), np.ones(40)], axis=1).tolist(), test
    return saved.results[0].metrics, saved.units(saved.results[0])["acc"].rows.tolist(), test


def neighbors(folder: Path, number: int) -> None:
    NeighborTable(np.arange(60, dtype=np.int32).reshape(20, 3) + number, "items", f"weights {number}").save(folder)


def resumed(folder: Path) -> object:
    return train_kge(graph(0), SETTINGS, device="cpu", folder=folder, resume=True).table.digest


def read_table(folder: Path) -> object:
    table = NeighborTable.load(folder)
    return table.rows.tolist(), table.model_digest


@pytest.fixture(scope="module")
def kinds(tiny_bert_folder: Path) -> dict[str, Kind]:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(tiny_bert_folder), device="cpu")

    def index(kind: str) -> Callable[[Path, int], object]:
        return lambda folder, number: ConceptIndex.build(terminology(number), model, folder, kind=kind)

    def searched(folder: Path) -> object:
        loaded = ConceptIndex.load(folder)
        return loaded.search_vectors(np.asarray(loaded.vectors.matrix[:3]), k=2)

    return {
        "terminology": Kind(
            lambda folder, number: terminology(number).save(folder), lambda folder: Terminology.load(folder).stats()
        ),
        "index": Kind(index("exact"), searched),
        "approximate index": Kind(index("hnsw"), searched),
        "graph": Kind(
            lambda folder, number: graph(number).save(folder), lambda folder: KnowledgeGraph.load(folder).digest
        ),
        "table of vectors": Kind(
            lambda folder, number: training(number).table.save(folder), lambda folder: KGETable.load(folder).digest
        ),
        "graph embedding": Kind(
            lambda folder, number: training(number).save(folder),
            lambda folder: TrainedKGE.load(folder, "cpu").table.digest,
        ),
        "checkpoint": Kind(
            lambda folder, number: train_kge(
                graph(number), replace(SETTINGS, seed=number, epochs=1), device="cpu", folder=folder
            ),
            resumed,
            heals=("checkpoint.pt",),  # where it is gone, training begins anew
        ),
        "results": Kind(results, figures, heals=("tests.json", "results.jsonl")),
        "stored vectors": Kind(
            lambda folder, number: store(folder, number),
            lambda folder: store(folder, 0).tolist(),
            heals=("vectors.bin", "entries.bin", "key.json"),
        ),
        "neighbors": Kind(neighbors, read_table),
    }


# ---------------------------------------------------------------------- damage


def files_of(folder: Path) -> list[str]:
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return sorted(name for name in found if not name.endswith("lock"))


def same(made: bytes, content: bytes) -> bool:
    """Whether nothing was damaged, or white space of JSON alone."""
    try:
        return made == content or bool(json.loads(made) == json.loads(content))
    except (ValueError, RecursionError):
        return False


def damages(whole: Path, other: Path, name: str, damaged: Path) -> Iterator[str]:
    """Damage a file of a copy in one way after another, and say which."""
    content, file = (whole / name).read_bytes(), damaged / name
    others = [path for path in other.rglob(file.name) if path.is_file()] or sorted(other.rglob(f"*{file.suffix}"))
    ways = {**DAMAGES, "of another folder": lambda _: others[0].read_bytes(), "missing": None, "a folder": None}
    for way, damage in ways.items():
        shutil.rmtree(damaged, ignore_errors=True)
        shutil.copytree(whole, damaged)
        if damage is not None:
            if same(made := damage(content), content):
                continue
            file.write_bytes(made)
        else:
            file.unlink()
            if way == "a folder":
                file.mkdir()
        yield way


@pytest.mark.long
@pytest.mark.parametrize(
    "kind",
    [
        "terminology",
        "index",
        "approximate index",
        "graph",
        "table of vectors",
        "graph embedding",
        "checkpoint",
        "results",
        "stored vectors",
        "neighbors",
    ],
)
def test_every_file_is_missed_and_every_damage_is_seen(kinds: dict[str, Kind], kind: str, tmp_path: Path):
    saved = kinds[kind]
    whole, other, damaged = (tmp_path / name for name in ("whole", "other", "damaged"))
    saved.save(whole, 0)
    saved.save(other, 1)
    shutil.copytree(whole, damaged)
    expected, n, wrong = saved.load(damaged), 0, []
    for name in files_of(whole):
        for way in damages(whole, other, name, damaged):
            n += 1
            message = ""
            try:
                found = saved.load(damaged)
            except InputError as error:
                message = str(error)
                named = Path(name).name in message or (way == "of another folder" and str(damaged) in message)
                ok = named and "\n" not in message
            except Exception as error:
                line = disk_error(error)  # what the command line says of a folder in the way of a file
                message, ok = f"{type(error).__name__}: {error}", line is not None and Path(name).name in str(line)
            else:
                message, ok = "passed", Path(name).name in saved.heals and found == expected
            if not ok:
                wrong.append(f"{name}, {way}: {message}")
    print(f"{kind}: {n - len(wrong)} of {n} held")
    assert not wrong, "\n".join(wrong)
    assert n >= 15 * len(files_of(whole))
