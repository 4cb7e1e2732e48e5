"""Checkpoints of real runs: each file damaged in turn, kills while one is written, and the run that goes on from the last."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from recipes import bergamot, sapbert
from st_biomed.errors import InputError
from st_biomed.release.model_record import CHECKPOINT_FILES
from st_biomed.settings.recipe import run_recipe
from st_biomed.training.checkpoints import checkpoints_in, damage, last_complete_checkpoint, seal

pytestmark = pytest.mark.usefixtures("one_thread")

CONFIGS = Path(sapbert.__file__).parent / "configs"
STEPS = ("--smoke", "false", "--per_device_train_batch_size", 8, "--max_steps", 4, "--eval_strategy", "no")
RUNS = {
    "hard negatives": (sapbert, "sapbert_smoke.yaml", ("--held_out_names", 4, "--neighbors", 2, "--prototypes", 2, "--positives", 2)),
    "a loss with parameters": (bergamot, "bergamot_smoke.yaml", ("--graph", "none", "--relation_loss", "distmult")),
}  # fmt: skip


def run(name: str, base: Path, out: Path, *arguments: object) -> None:
    """Four steps with a checkpoint after each."""
    recipe, configuration, options = RUNS[name]
    given = [
        "--base_model",
        base,
        "--output_dir",
        out,
        *STEPS,
        "--save_strategy",
        "steps",
        "--save_steps",
        1,
        *options,
    ]
    with pytest.MonkeyPatch.context() as patch:
        words = ("recipe.py", CONFIGS / configuration, *given, *arguments)
        patch.setattr(sys, "argv", [str(word) for word in words])
        recipe.main()


@pytest.fixture(scope="module", params=list(RUNS))
def whole(request: pytest.FixtureRequest, tiny_bert_folder: Path, tmp_path_factory: pytest.TempPathFactory):
    """Which run, and where its unbroken release and checkpoints are."""
    out = tmp_path_factory.mktemp("whole") / "out"
    run(request.param, tiny_bert_folder, out)
    return request.param, out


@pytest.fixture
def broken(whole: tuple[str, Path], tmp_path: Path) -> Callable[[int], Path]:
    """The training folder of the same run where it came to a step, without a release."""
    _, out = whole

    def at(steps: int) -> Path:
        work = Path(shutil.copytree(out.with_name("out-training"), tmp_path / "out-training"))
        for checkpoint in checkpoints_in(work)[steps:]:
            shutil.rmtree(checkpoint)
        return work

    return at


def same(run: Path, other: Path) -> bool:
    """Whether two runs ended with the same weights, bit by bit."""
    files = sorted(path.relative_to(run) for path in run.rglob("*.safetensors"))
    assert files == sorted(path.relative_to(other) for path in other.rglob("*.safetensors"))
    return all(
        torch.equal(weight, load_file(other / file)[name])
        for file in files
        for name, weight in load_file(run / file).items()
    )


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "missing": Path.unlink,
    "empty": lambda path: path.write_bytes(b""),
    "cut": cut,
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"\0"),
    "a flipped bit": flip,
}


def test_every_damage_of_every_file_is_seen_and_the_checkpoint_before_is_taken(whole, broken) -> None:
    """Catches a checkpoint that is taken for whole, from which training dies or goes on wrongly."""
    work = broken(4)
    files = [path for path in sorted((work / "checkpoint-4").rglob("*")) if path.is_file()]
    names = {path.name for path in files}
    assert {
        "model.safetensors",
        "optimizer.pt",
        "scheduler.pt",
        "rng_state.pth",
        "trainer_state.json",
        CHECKPOINT_FILES,
    } < names
    assert names & {"loss.safetensors", "neighbors.npy"}, "what the run has of its own"
    cases = 0
    for path in files:
        content = path.read_bytes()
        for what, harm in DAMAGES.items():
            harm(path)
            cases += 1
            wrong = damage(work / "checkpoint-4")
            assert wrong.startswith(f"{path}: "), (what, wrong)
            found, passed = last_complete_checkpoint(work)
            assert found == work / "checkpoint-3" and passed == {"checkpoint-4": wrong}
            path.write_bytes(content)
    assert not damage(work / "checkpoint-4")
    print(f"{whole[0]}: {cases} damages of {len(files)} files")
    assert cases > 75


@pytest.mark.parametrize("files", ["{}", '{"a": 1}', "[]", '{"a": [1]}', '{"a": ["x", "y"]}', '{"a": [1, "y"]}'])
def test_a_list_that_lists_nothing_is_no_proof(files: str, tmp_path: Path) -> None:
    """Catches a check that an empty list switches off."""
    (tmp_path / "a").write_text("x")
    (tmp_path / CHECKPOINT_FILES).write_text(f'{{"format": 1, "files": {files}}}')
    assert damage(tmp_path).startswith(f"{tmp_path / CHECKPOINT_FILES}: damaged")
    assert damage(tmp_path / "nowhere").startswith(f"{tmp_path / 'nowhere' / CHECKPOINT_FILES}: is missing")
    (tmp_path / CHECKPOINT_FILES).unlink()
    seal(tmp_path)
    assert (
        damage(tmp_path)
        == f"{tmp_path / CHECKPOINT_FILES}: does not list trainer_state.json, so they do not belong together; the checkpoint is not whole"
    )


@pytest.mark.long
@pytest.mark.parametrize(
    ("whole", "file"),
    [
        ("hard negatives", CHECKPOINT_FILES),
        ("a loss with parameters", "optimizer.pt"),
        *(
            pytest.param(name, file, marks=pytest.mark.slow)
            for name in RUNS
            for file in ("model.safetensors", "rng_state.pth", "scheduler.pt", "trainer_state.json")
        ),
    ],
    indirect=["whole"],
)
def test_the_run_ends_as_the_unbroken_one_from_the_last_whole_checkpoint(
    file: str, whole, broken, tiny_bert_folder: Path, tmp_path: Path, capsys
) -> None:
    name, out = whole
    work = broken(3)
    cut(work / "checkpoint-3" / file)
    run(name, tiny_bert_folder, tmp_path / "out", "--resume_from_checkpoint", "true")
    output = capsys.readouterr().out
    assert f"passed over: {work / 'checkpoint-3' / file}: " in output
    assert f"going on from {work / 'checkpoint-2'}" in output
    assert same(out, tmp_path / "out")
    assert [path.name for path in checkpoints_in(work)] == [f"checkpoint-{step}" for step in (1, 2, 3, 4)]
    assert not list(work.glob("earlier-*")), "what was passed over goes when its step stands again"


@pytest.mark.parametrize("whole", ["hard negatives"], indirect=True)
def test_a_damaged_checkpoint_that_is_named_is_refused_in_one_line(
    whole, broken, tiny_bert_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    work = broken(4)
    (work / "checkpoint-4" / "scheduler.pt").unlink()
    with pytest.raises(SystemExit) as end:
        run_recipe(
            lambda: run(
                whole[0], tiny_bert_folder, tmp_path / "out", "--resume_from_checkpoint", work / "checkpoint-4"
            )
        )
    assert end.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()[-1:]
    assert (
        line.startswith("error: ")
        and "checkpoint-4/scheduler.pt: is missing; the checkpoint is not whole; true takes" in line
    )


@pytest.mark.parametrize("whole", ["a loss with parameters"], indirect=True)
def test_an_old_checkpoint_goes_only_when_the_new_one_is_whole(
    whole, tiny_bert_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches sentence-transformers' order: it removes old checkpoints before the callbacks have written into the new one."""
    from st_biomed.training import checkpoints

    seen: list[tuple[str, list[str]]] = []
    seal = checkpoints.seal

    def watched(checkpoint: Path) -> None:
        seen.append((checkpoint.name, [path.name for path in checkpoints_in(checkpoint.parent)]))
        assert len(seen) == 1 or last_complete_checkpoint(checkpoint.parent)[0] is not None
        seal(checkpoint)

    monkeypatch.setattr(checkpoints, "seal", watched)
    run(whole[0], tiny_bert_folder, tmp_path / "out", "--save_total_limit", 1)
    assert seen[1:] == [(f"checkpoint-{step}", [f"checkpoint-{step - 1}", f"checkpoint-{step}"]) for step in (2, 3, 4)]
    assert [path.name for path in checkpoints_in(tmp_path / "out-training")] == ["checkpoint-4"]
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert record["training_arguments"]["save_total_limit"] == 1


@pytest.mark.slow
def test_the_best_checkpoint_stays_beside_the_last(tiny_bert_folder: Path, tmp_path: Path) -> None:
    """Catches a limit that removes the weights that the end of training loads."""
    best = ("--eval_strategy", "steps", "--eval_steps", 1, "--load_best_model_at_end", "true", "--save_total_limit", 1)
    metric = ("--metric_for_best_model", "sequential_score", "--greater_is_better", "false", "--learning_rate", "0.01")
    name = "hard negatives"
    run(name, tiny_bert_folder, tmp_path / "out", *best, *metric)
    left = checkpoints_in(tmp_path / "out-training")
    state = json.loads((left[-1] / "trainer_state.json").read_text())
    assert {path.name for path in left} == {Path(state["best_model_checkpoint"]).name, "checkpoint-4"}
    assert not [damage(path) for path in left if damage(path)]


def killed_while_writing(checkpoint: str, number: int, action: Callable[[], object]) -> bool:
    """Run an action in a child that is killed when it opens a file of a checkpoint for the ``number``-th time."""
    child = os.fork()
    if child == 0:
        left = number

        def watch(event: str, arguments: tuple[object, ...]) -> None:
            nonlocal left
            if event == "open" and f"/{checkpoint}/" in str(arguments[0]):
                left -= 1
                if left < 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        try:
            torch.set_num_threads(1)
            sys.addaudithook(watch)
            action()
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


@pytest.mark.long
@pytest.mark.parametrize(
    "stride",
    [pytest.param(45, id="some"), pytest.param(1, id="all", marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("whole", ["a loss with parameters"], indirect=True)
def test_a_run_killed_while_it_writes_a_checkpoint_goes_on_from_the_one_before(
    stride: int, whole, tiny_bert_folder: Path, tmp_path: Path
) -> None:
    """Catches a traceback, and other weights than those of the unbroken run."""
    name, out = whole
    kills = 0
    folder = tmp_path / "runs" / "out"

    def action() -> None:
        run(name, tiny_bert_folder, folder, "--save_total_limit", 1)

    while killed_while_writing("checkpoint-3", kills * stride + 1, action):
        found, _ = last_complete_checkpoint(folder.with_name("out-training"))
        assert found is not None and found.name in ("checkpoint-2", "checkpoint-3")
        run(name, tiny_bert_folder, folder, "--resume_from_checkpoint", "true", "--save_total_limit", 1)
        assert same(out, folder)
        shutil.rmtree(folder.parent)
        kills += 1
    print(f"{kills} kills")
    assert kills >= 1


def test_no_whole_checkpoint_is_said(tmp_path: Path, tiny_bert_folder: Path) -> None:
    (tmp_path / "out-training" / "checkpoint-2").mkdir(parents=True)
    with pytest.raises(
        InputError, match=r"holds no whole checkpoint to resume from \(.*checkpoint-2/checkpoint_files"
    ):
        run("hard negatives", tiny_bert_folder, tmp_path / "out", "--resume_from_checkpoint", "true")
