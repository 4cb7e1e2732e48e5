"""The trials of the open encoder: which is next, and what an interrupted run leaves."""

from __future__ import annotations

import re
import sys
from functools import partial
from pathlib import Path

import pytest
import torch

from evaluation.open_encoder_trials import in_processes, kept_weights, made_of, settings, weights_of
from evaluation.trial_lines import Turn, check_mixes, lines_of, next_trial, write
from st_biomed.errors import InputError

CONFIGS = Path(__file__).parents[2] / "recipes" / "configs"


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


def test_figures_of_other_settings_are_measured_again(tmp_path: Path):
    """Catches figures of an earlier terminology, of other steps or of weights that were trained anew."""
    trials, results = tmp_path / "trials.yaml", tmp_path / "results.jsonl"
    smoke, model = CONFIGS / "open_encoder_smoke.yaml", tmp_path / "model"
    model.mkdir()

    def waiting(steps: int = 3, digest: str = "a", weights: str = "x"):
        trials.write_text(f"mild: {{arguments: --max_steps {steps}}}\nboth: {{mix: {{mild: 0.5, {model}: 0.5}}}}\n")
        (model / "model.safetensors").write_text(weights)
        identity = partial(made_of, trials=trials, config=str(smoke), common=["base", digest])
        found = next_trial(trials, results, made_of=identity)
        return found and (found[0], identity(*found[:2]))

    for name in ("mild", "both"):
        now, of = waiting()
        assert now == name
        write(results, name, 1.0, {"dev": 0.5}, of)
    assert (
        waiting() is None
        and waiting(steps=4)[0] == waiting(digest="b")[0] == "mild"
        and waiting(weights="y")[0] == "both"
    )
    write(results, *("both", 1.0, {"dev": 0.6}, waiting(weights="y")[1]))
    assert len(results.read_text().splitlines()) == 2
    (model / "pytorch_model.bin").write_text("z")
    assert waiting(weights="y")[0] == "both", "weights in another file"
    trials.write_text("both: {mix: {other: 1}}\n")
    with pytest.raises(InputError, match="both: expected trials and folders of models in mix, found other"):
        made_of("both", {"mix": {"other": 1}}, trials=trials, config=str(smoke), common=[])


def test_weights_are_those_of_the_settings_that_they_were_trained_with(tmp_path: Path):
    """Catches figures of old weights under the checksum of new settings, which would never be measured again."""
    torch.save({"made_of": "a", "weights": {"w": torch.ones(2)}}, tmp_path / "mild.pt")
    torch.save({"w": torch.ones(2)}, tmp_path / "old.pt")
    found = kept_weights(tmp_path / "mild.pt", "a")
    assert found and found["w"].tolist() == [1, 1]
    assert kept_weights(tmp_path / "mild.pt", "b") is kept_weights(tmp_path / "none.pt", "a") is None
    assert kept_weights(tmp_path / "old.pt", "a") is None
    assert weights_of("mild", "both", {}, lambda *_: "a", tmp_path)["w"].tolist() == [1, 1]
    with pytest.raises(
        InputError, match="both: the trial mild is not trained with its present settings yet: put it above"
    ):
        weights_of("mild", "both", {}, lambda *_: "b", tmp_path)


@pytest.mark.parametrize("trial", ["{argument: --max_steps 3}", "{mix: {a: 1}, removed: 1}", "{shares: [1]}", "3"])
def test_a_trial_of_another_form_is_refused(tmp_path: Path, trial: str):
    """Catches a KeyError after the trials before it."""
    (tmp_path / "trials.yaml").write_text(f"mild: {trial}\n")
    with pytest.raises(InputError, match=r"trials.yaml: mild: expected arguments \(with shares\), mix or removed"):
        next_trial(tmp_path / "trials.yaml", tmp_path / "results.jsonl")


@pytest.mark.parametrize(
    ("mix", "message"),
    [
        ("{later: 1}", "both: expected trained trials above it and folders of models in mix, found later"),
        ("{both: 1}", "both: expected trained trials above it"),
        ("{none: 0.5}", "both: expected trained trials above it and folders of models in mix, found none"),
        ("{mild: 0.8, FOLDER: 0.3}", "both: expected shares above 0 that add up to 1 or less, found"),
        ("{mild: 0}", "both: expected shares above 0"),
        ("{mild: half}", "both: expected a share of each trial or folder in mix, found"),
        ("{1: 0.5}", "both: expected a share of each trial or folder in mix, found"),
        ("[mild]", "both: expected a share of each trial or folder in mix, found"),
        ("{}", "both: expected shares above 0"),
    ],
)
def test_a_mix_that_cannot_be_made_is_refused_before_any_training(tmp_path: Path, mix: str, message: str):
    """Catches two processes that wait for each other's trials, and a sum that is found after hours."""
    trials = tmp_path / "trials.yaml"
    lines = "mild: {arguments: --seed 1}\n'none': {removed: 1}\nboth: {mix: MIX}\nlater: {arguments: --seed 2}\n"
    trials.write_text(lines.replace("MIX", mix.replace("FOLDER", str(tmp_path))))
    with pytest.raises(InputError, match=message):
        check_mixes(trials)
    trials.write_text(lines.replace("MIX", "{mild: 0.1, FOLDER: 0.9}".replace("FOLDER", str(tmp_path))))
    check_mixes(trials)


@pytest.mark.parametrize("shares", ["0.8", "[1.5]", "[half]", "[]", "[true]"])
def test_shares_that_no_average_has_are_refused(tmp_path: Path, shares: str):
    """Catches an error after hours of training."""
    (tmp_path / "trials.yaml").write_text(f"mild: {{arguments: --seed 1, shares: {shares}}}\n")
    with pytest.raises(InputError, match="mild: expected shares from 0 to 1 in a list, found"):
        check_mixes(tmp_path / "trials.yaml")


def test_a_trial_on_other_texts_is_made_again(tmp_path: Path):
    """Catches the weights of a corpus that was rewritten since, be it a file or a folder."""
    trials, folder = tmp_path / "trials.yaml", tmp_path / "texts"
    folder.mkdir()
    trials.write_text("{}")
    seen = set()
    for place in (folder / "a.txt", folder):
        for text in ("flumpa", "zorb"):
            (folder / "a.txt").write_text(text)
            trial = {"arguments": f"--corpus {place}"}
            seen.add(made_of("a", trial, trials=trials, config=str(CONFIGS / "open_encoder_smoke.yaml"), common=[]))
    assert len(seen) == 4


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


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("", 0),
        ("import sys; sys.exit(3 if sys.argv[-1] == '1' else 0)", 3),
        ("import os, signal, sys; sys.argv[-1] == '1' and os.kill(os.getpid(), signal.SIGKILL)", -9),
    ],
)
def test_the_status_of_processes_is_that_of_one_that_failed(code: str, status: int):
    """Catches trials that fail unnoticed."""
    assert in_processes([sys.executable, "-c", code], 2) == status


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--alone hierarchy", "--alone hierarchy: a trial trains one encoder; found --alone hierarchy"),
        ("--alone trees", "alone: none, or different ones of"),
        ("--pooling cls", "--pooling cls: pooling is that of the configuration, "),
        ("--terminology icd10cm", "--terminology icd10cm: terminology is that of the configuration, "),
        ("--held_out_names 9", "--held_out_names 9: held_out_names is that of the configuration, "),
    ],
)
def test_a_trial_with_what_it_does_not_use_is_refused(arguments: str, message: str):
    """Catches a trial that reports the recipe without its parts alone, or with data and a pooling that it did not have."""
    with pytest.raises(InputError) as error:
        settings(str(CONFIGS / "open_encoder_smoke.yaml"), arguments)
    assert str(error.value).startswith(message)


def test_a_mix_of_folders_depends_on_the_configuration(tmp_path: Path):
    """Catches figures of another pooling or of other trees that are kept for a mix without a trained part."""
    (tmp_path / "model").mkdir()
    smoke = (CONFIGS / "open_encoder_smoke.yaml").read_text("utf-8")
    other = tmp_path / "other.yaml"
    other.write_text(re.sub(r"^pooling:.*$", "", smoke, flags=re.MULTILINE) + "\npooling: max\n", "utf-8")
    mix, trials = {"mix": {str(tmp_path / "model"): 1.0}}, tmp_path / "trials.yaml"
    trials.write_text(f"both: {mix}")
    of = [
        made_of("both", mix, trials=trials, config=str(config), common=[])
        for config in (CONFIGS / "open_encoder_smoke.yaml", other)
    ]
    assert of[0] != of[1]
