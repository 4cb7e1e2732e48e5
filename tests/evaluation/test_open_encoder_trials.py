"""The trials of the open encoder: which is next, and what an interrupted run leaves."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from evaluation.open_encoder_trials import Turn, in_processes, lines_of, next_trial, settings, write
from st_biomed.errors import InputError


def test_shares_without_a_line_are_still_measured(tmp_path: Path):
    """Catches a trial that is done after the first of its shares, and a line that is written onto one that was cut off."""
    trials, results = tmp_path / "trials.yaml", tmp_path / "results.jsonl"
    trials.write_text("mild: {arguments: --max_steps 300, shares: [1, 0.5]}\ncontrol: {removed: 1}\n")
    assert next_trial(trials, results) == ("mild", {"arguments": "--max_steps 300", "shares": [1, 0.5]}, [1, 0.5])
    write(results, "mild", 1, {"dev": 0.25})
    with results.open("a", encoding="utf-8") as file:
        file.write('{"trial": "mild", "sh')
    _, _, left = next_trial(trials, results)
    assert left == [0.5]
    write(results, "mild", 0.5, {"dev": 0.5})
    assert list(lines_of(results)) == [("mild", 1), ("mild", 0.5)]
    assert next_trial(trials, results) == ("control", {"removed": 1}, [0.0])
    write(results, "control", 0.0, {"dev": 0.0})
    assert next_trial(trials, results) is None


@pytest.mark.parametrize("trial", ["{argument: --max_steps 3}", "{mix: {a: 1}, removed: 1}", "{shares: [1]}", "3"])
def test_a_trial_of_another_form_is_refused(tmp_path: Path, trial: str):
    """Catches a KeyError after the trials before it."""
    (tmp_path / "trials.yaml").write_text(f"mild: {trial}\n")
    with pytest.raises(InputError, match=r"trials.yaml: mild: expected arguments \(with shares\), mix or removed"):
        next_trial(tmp_path / "trials.yaml", tmp_path / "results.jsonl")


def test_each_process_takes_its_own_trials(tmp_path: Path):
    """Catches a trial that two processes train, and one that none does."""
    trials, results = tmp_path / "trials.yaml", tmp_path / "results.jsonl"
    trials.write_text("".join(f"{name}: {{removed: 1}}\n" for name in "abc"))
    taken: dict[int, list[str]] = {0: [], 1: []}
    for place in taken:
        while (waiting := next_trial(trials, results, Turn(place, 2))) is not None:
            taken[place].append(waiting[0])
            write(results, waiting[0], 0.0, {})
    assert taken == {0: ["a", "c"], 1: ["b"]}


@pytest.mark.parametrize(("code", "status"), [("", 0), ("import sys; sys.exit(3 if sys.argv[-1] == '1' else 0)", 3)])
def test_the_status_of_processes_is_that_of_one_that_failed(code: str, status: int):
    """Catches trials that fail unnoticed."""
    assert in_processes([sys.executable, "-c", code], 2) == status


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--alone hierarchy", "--alone hierarchy: a trial trains one encoder; found --alone hierarchy"),
        ("--alone trees", "alone: none, or different ones of"),
    ],
)
def test_a_trial_with_parts_alone_is_refused(arguments: str, message: str):
    """Catches a trial that reports the recipe without them."""
    smoke = str(Path(__file__).parents[2] / "recipes" / "configs" / "open_encoder_smoke.yaml")
    with pytest.raises(InputError) as error:
        settings(smoke, arguments)
    assert str(error.value).startswith(message)
