"""``run.json`` damaged in every way that a disk, a merge or a hand brings about: one line that names the file."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scorecards import difference, scorecard
from typer.testing import CliRunner

from st_biomed.cli import app
from st_biomed.errors import InputError
from st_biomed.release.run_data import RunData, began_from, read_run, results_table
from st_biomed.release.run_record import RunRecord
from st_biomed.release.scorecard_text import scorecard_summary, scorecard_table

LATER = {"terminologies.0.definitions", "earlier.0.terminologies.0.definitions", "averaging.chosen", "batches"}
"""Fields that records of earlier versions lack."""
FREE = ("configuration", "training_arguments", "losses.synonyms.config")
"""Whose values may be anything: arguments, resolved."""
OTHERS: list[Any] = [None, True, 5, -1.5, "x", [], {}, [5], {"x": 5}]


@pytest.fixture(scope="module")
def record(trained) -> RunData:
    """A record that has every part."""
    run = copy.deepcopy(trained.run)
    run["corpora"] = [{"files": ["a.txt"], "documents": 3, "words": 9, "license": "CC0-1.0"}]
    run["batches"] = {"synonyms": 12}
    run["published"] = [{"system": "FlumpaBERT", "metric": "auc_0v1", "value": 0.5, "source": "invented"}]
    run["scorecards"] = [scorecard(benchmarks=[difference("mayosrs", "lost", in_domain=["ZORB"])], not_compared=["x"])]
    kept = ("recipe", "description", "base_model", "command", "seed", "terminologies", "corpora")
    run["earlier"] = [{**{name: copy.deepcopy(run[name]) for name in kept}, "losses": ["ALoss"]}]
    return run


def places(value: Any, where: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place of a JSON value, outside in."""
    if where:
        yield where
    if ".".join(map(str, where)) in FREE:
        return
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*where, key))


def changed(run: RunData, where: tuple[Any, ...], value: Any = None, *, leave_out: bool = False) -> RunData:
    """A record with another value at a place, or without what is there."""
    new = copy.deepcopy(run)
    inside: Any = new
    for key in where[:-1]:
        inside = inside[key]
    if leave_out:
        del inside[where[-1]]
    else:
        inside[where[-1]] = value
    return new


def refusal(path: Path) -> str:
    """What is said of a record; empty where it is read, and what is made of it holds."""
    try:
        run = read_run(path)
    except InputError as error:
        assert str(error).startswith(f"{path}: ") and "\n" not in str(error)
        return str(error)
    for benchmark in run["results"]:
        results_table(run, benchmark)
    for data in run["scorecards"]:
        scorecard_summary(data)
        scorecard_table(data)
    began_from(run)
    return ""


@pytest.mark.parametrize("stride", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_a_value_of_another_type_anywhere(stride: int, record: RunData, tmp_path: Path) -> None:
    """Catches a traceback of whatever reads a record, hours later: every value of it, replaced by nine others."""
    path, refused, read = tmp_path / "run.json", 0, 0
    for i, where in enumerate(places(record)):
        for value in OTHERS[i % stride :: stride]:
            path.write_text(json.dumps(changed(record, where, value)))
            if refusal(path):
                refused += 1
            else:
                read += 1
    print(f"{refused} refused, {read} fit")
    assert refused > 1000 / stride


def test_a_key_that_is_missing_anywhere(record: RunData, tmp_path: Path) -> None:
    path, refused = tmp_path / "run.json", []
    for where in places(record):
        if isinstance(where[-1], str):
            path.write_text(json.dumps(changed(record, where, leave_out=True)))
            refused += [".".join(map(str, where))] if refusal(path) else []
    free = {"losses.synonyms", "batches.synonyms", "citations.MultipleNegativesRankingLoss", "versions.torch"}
    named = {".".join(map(str, where)) for where in places(record) if isinstance(where[-1], str)}
    assert not free & set(refused), "what is listed by name may be shorter"
    assert (
        not {
            name
            for name in named - set(refused)
            if name.split(".")[0] not in ("losses", "batches", "citations", "versions", "results")
        }
        - LATER
    )


def test_a_record_from_before_definitions_were_counted_has_none(record: RunData, tmp_path: Path) -> None:
    """Catches a release of an earlier version that cannot be published, averaged or resumed."""
    old = copy.deepcopy(record)
    for stage in (old, *old["earlier"]):
        del stage["terminologies"][0]["definitions"]
    del old["averaging"]["chosen"], old["batches"]
    (tmp_path / "run.json").write_text(json.dumps(old))
    read = read_run(tmp_path / "run.json")
    assert not read["averaging"]["chosen"] and read["batches"] == {}
    assert [stage["terminologies"][0]["definitions"] for stage in (read, *read["earlier"])] == [0, 0]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: b"", "is not JSON"),
        (lambda text: text.encode()[: len(text) // 2], "is not JSON"),
        (lambda text: text.encode()[:-3], "is not JSON"),
        (lambda text: text.encode() + b"}", "is not JSON"),
        (lambda text: b"\0" * len(text), "is not JSON"),
        (lambda text: text.encode("utf-16"), "is not JSON"),
        (lambda text: text.replace("Zorbal", "Z\xf6rbal").encode("latin-1"), "is not JSON"),
        (lambda text: text.replace('"seed": 3', '"seed": 3, "seed": 4').encode(), "key 'seed' occurs twice"),
        (lambda text: text.replace('"seed": 3', '"seed": NaN').encode(), "NaN is not a number"),
        (lambda text: text.replace('"seed": 3', '"seed": true').encode(), "seed must be int, found True"),
        (lambda text: text.replace("0.875", "Infinity").encode(), "Infinity is not a number"),
        (lambda text: text.replace("0.875", "1e999").encode(), r"results.zorb_tree.after.auc_0v3 must be float"),
        (lambda text: text.replace('"seed": 3', '"seed": ' + "3" * 5000).encode(), "is not JSON"),
        (lambda text: b"[" * 100_000, "nested too deep"),
        (lambda text: b"[]", "format 'list'"),
        (lambda text: b"null", "format 'NoneType'"),
    ],
)
def test_what_is_no_record_at_all(damage, message: str, record: RunData, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(damage(json.dumps(record, ensure_ascii=False)))
    with pytest.raises(InputError, match=message) as raised:
        read_run(path)
    assert str(raised.value).startswith(f"{path}: ") and "\n" not in str(raised.value)


@pytest.mark.parametrize("command", [["org/x"], ["--legacy", "older"]], ids=["publish", "legacy"])
def test_the_command_says_which_file_and_what_to_do(command: list[str], release: Path, monkeypatch) -> None:
    monkeypatch.chdir(release.parent)
    run = json.loads((release / "run.json").read_text())
    (release / "run.json").write_text(json.dumps({**run, "seed": "three"}))
    ended = CliRunner().invoke(app, ["release", str(release), *command])
    assert ended.exit_code == 2
    (line,) = ended.output.splitlines()
    assert line.startswith(f"error: {release}/run.json: seed must be int, found 'three'; take it from an intact copy")
    assert not (release.parent / "older").exists()


def test_a_base_model_with_a_damaged_record_is_refused(release: Path, licensed) -> None:
    """Catches a night of training from a model whose past cannot be told."""
    (release / "run.json").write_text('{"format": 1')
    with pytest.raises(InputError, match="release/run.json: is not JSON"):
        RunRecord("r", str(release), {}, 0, [licensed])


@pytest.mark.long
@pytest.mark.parametrize("value", [5, {"a": 1}, [5, None], ["nowhere"], True])
@pytest.mark.parametrize("name", ["terminology", "base_model"])
def test_arguments_may_be_anything(name: str, value: object, release: Path, licensed) -> None:
    """Catches a traceback for a configuration that somebody wrote by hand."""
    from st_biomed.release.recheck import recheck

    run = read_run(release / "run.json")
    run["configuration"][name] = value
    assert "no name of ZORB" in recheck(release, run, [licensed])
