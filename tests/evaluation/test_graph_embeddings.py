"""evaluation/graph_embeddings.py: the graphs are the published ones, and the defaults of each model learn them."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import pytest

from evaluation.graph_embeddings import GRAPHS, IN_WHEEL, figures, main, read_graph, train
from st_biomed.errors import InputError

TRIPLES = [(f"e{i}", f"r{step}", f"e{(i + step) % 9}") for i in range(9) for step in (1, 2, 4)]
WHEEL = "pykeen-1.11.1-py3-none-any.whl"
PAGE = Path(__file__).parents[2] / "evaluation" / "results" / "graph_embeddings.md"


def written(folder: Path) -> Path:
    """An invented graph in the form of the public ones."""
    folder.mkdir(parents=True)
    for part, rows in (("train", TRIPLES[:21]), ("valid", TRIPLES[21:24]), ("test", TRIPLES[24:])):
        (folder / f"{part}.txt").write_text("".join("\t".join(row) + "\n" for row in rows))
    return folder


def test_a_folder_and_a_wheel_have_the_same_graph(tmp_path: Path) -> None:
    """Catches parts that change places, and heads that become tails."""
    folder = written(tmp_path / "codex-s")
    with zipfile.ZipFile(tmp_path / WHEEL, "w") as file:
        for path in folder.iterdir():
            file.write(path, f"{IN_WHEEL}codex-s/{path.name}")
    graph = read_graph(tmp_path, "codex-s")
    assert read_graph(tmp_path / WHEEL, "codex-s").digest == graph.digest
    assert [len(part) for part in graph.parts.values()] == [21, 3, 3]
    names = [(graph.entities[h], graph.relations[r], graph.entities[t]) for h, r, t in graph.triples.tolist()]
    assert names == TRIPLES


def test_a_row_has_our_figures_and_the_published_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path / "codex-s")
    main([str(tmp_path), "codex-s", "--models", "transe", "simple", "--epochs", "10", "--seeds", "0", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert [len(line.split("|")) for line in lines[-4:]] == [9] * 4
    assert "| 0.354 | 10 |" in lines[-2] and "published mrr |" in lines[-4] and "|  | 10 |" in lines[-1]
    graph = read_graph(tmp_path, "codex-s")
    two = [figures(train(graph, "simple", 10, seed))["mrr"] for seed in (0, 1)]
    assert two[0] != two[1] and lines[-1].startswith(f"| simple | {sum(two) / 2:.3f} (")


def test_the_page_compares_the_graphs_with_a_figure_of_the_same_protocol() -> None:
    """Catches a published figure of another protocol beside ours, as those of Nations, which do not say how ties are treated."""
    tables = PAGE.read_text("utf-8").split("\n\n|")[1:]
    for name, table in zip(("umls", "kinships", "nations"), tables):
        cells = [line.split(" | ") for line in table.split("\n\n")[0].splitlines()[2:]]
        shown = {row[0].strip("| ").lower(): float(row[4]) for row in cells if len(row) == 6}
        assert shown == GRAPHS[name].figures


def test_bad_input_is_named(tmp_path: Path) -> None:
    folder = written(tmp_path / "umls")
    with pytest.raises(InputError, match="umls has other triples or parts than the published graph"):
        read_graph(tmp_path, "umls")
    (folder / "valid.txt").write_text("a\tb\tc\na b c\n")
    with pytest.raises(InputError, match="valid.txt:2: expected head, relation and tail, found 1 fields"):
        read_graph(tmp_path, "umls")
    with pytest.raises(InputError, match="train.txt: no such file"):
        read_graph(tmp_path, "nations")
    with pytest.raises(InputError, match="unknown graph 'nation'.*did you mean 'nations'"):
        read_graph(tmp_path, "nation")


@pytest.fixture(scope="module")
def public(realdata: Path) -> Path:
    """The graphs of PyKEEN, out of its wheel: where `make realdata` puts it, or in the data folder."""
    places = [folder / WHEEL for folder in (Path(sys.prefix) / "wheels", realdata / "kg")]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        pytest.skip(f"no {WHEEL} in {' or '.join(str(place.parent) for place in places)}: make realdata downloads it")
    return found


@pytest.mark.realdata
def test_the_public_graphs_are_the_pinned_ones(public: Path) -> None:
    sizes = {name: read_graph(public, name) for name in GRAPHS if GRAPHS[name].digest}
    assert {name: (len(graph.entities), len(graph.relations)) for name, graph in sizes.items()} == {
        "umls": (135, 46),
        "kinships": (104, 25),
        "nations": (14, 55),
    }


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("name", "model", "floor"),
    [
        ("umls", "complex", 0.86),
        ("umls", "simple", 0.87),
        ("umls", "distmult", 0.85),
        ("umls", "transe", 0.70),
        ("umls", "rotate", 0.75),
        ("kinships", "complex", 0.83),
        ("kinships", "simple", 0.80),
        ("kinships", "distmult", 0.62),
    ],
)
def test_the_defaults_of_a_model_learn_a_public_graph(public: Path, name: str, model: str, floor: float) -> None:
    """MRR after 30 epochs. With the settings of the distances, products reach .78, .81, .68 and .76, .74, .55."""
    assert figures(train(read_graph(public, name), model, epochs=30))["mrr"] > floor


@pytest.mark.realdata
def test_the_defaults_reach_the_published_hits(public: Path) -> None:
    """DistMult on Kinships, the only graph with a published figure of our protocol: .925 (Ali et al. 2021).

    Seed 0 has .940; with the settings of the distances it has .847.
    """
    trained = train(read_graph(public, "kinships"), "distmult")
    assert figures(trained)["hits@10"] > GRAPHS["kinships"].figures["distmult"]
