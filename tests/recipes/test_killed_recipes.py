"""Every recipe killed at every step of its ending: one whole release stands, and what was trained is not lost.

A recipe is run once and releases; then it is run again, with another seed, and stopped where its ending begins. From there
on it is killed at one step of what it does to the disk after the other, each time in a process of its own.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch

import st_biomed.training.finish
from recipes import extend_bert
from st_biomed.encoder.released import load
from st_biomed.files import finish_replacement
from st_biomed.training.checkpoints import last_complete_checkpoint
from st_biomed.training.output import OutputFolders
from tests.kills import every_kill
from tests.recipes.endings import ENDINGS, KEEPS, release_of, run_ending, run_limited, sources_of, weights

NO_CHECKPOINTS = {"fewshot_names", "biolord", "open_encoder"}
"""Whose checkpoints do not lie in the training folder: no step is saved, or each phase has a folder of its own."""


@dataclass
class Killing:
    """Takes the place of the ending: kills it at every step, looks at what is left each time, and lets it end."""

    stride: int
    keeps_checkpoints: bool
    real: Callable[..., Any] = st_biomed.training.finish.finish
    steps: int = 0
    releases: list[str] = field(default_factory=list)
    trained: list[str] = field(default_factory=list)

    def __call__(self, folders: OutputFolders, **parts: Any) -> Any:
        root = folders.release.parent
        kept = root.with_name("kept")
        shutil.copytree(root, kept)

        def restore() -> None:
            shutil.rmtree(root)
            shutil.copytree(kept, root)

        self.interrupt(folders, lambda: self.real(folders, **parts), restore)
        restore()
        return self.real(folders, **parts)

    def interrupt(self, folders: OutputFolders, end: Callable[[], Any], restore: Callable[[], None]) -> None:
        for step in every_kill(end, restore, stride=self.stride):
            self.steps = step + 1
            self.look(folders)

    def look(self, folders: OutputFolders) -> None:
        """One whole release, and the trained weights somewhere."""
        finish_replacement(folders.release)
        finish_replacement(folders.trained)
        assert load(folders.release, device="cpu").encode("acute disease").shape == (16,)
        self.releases.append(weights(folders.release))
        stands = len(set(self.releases)) > 1
        self.trained.append(weights(folders.trained) if folders.trained.is_dir() else "")
        checkpoint, passed = last_complete_checkpoint(folders.work)
        assert not passed
        assert stands or self.trained[-1] or checkpoint is not None or not self.keeps_checkpoints


@dataclass
class Filling(Killing):
    """Lets no file grow beyond a size, which is one byte too small for each file of the release in turn."""

    messages: list[str] = field(default_factory=list)

    def interrupt(self, folders: OutputFolders, end: Callable[[], Any], restore: Callable[[], None]) -> None:
        assert run_limited(None, end) == (0, [])
        sizes = {path.stat().st_size for path in folders.release.rglob("*") if path.is_file()}
        for size in sorted(sizes)[:: self.stride]:
            restore()
            code, lines = run_limited(size - 1, end)
            assert code == 2 and len(lines) == 1, (size, code, lines)
            self.messages.append(lines[0])
            self.look(folders)


@pytest.fixture
def sources(tiny_bert_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    return sources_of(tmp_path, tiny_bert_folder, monkeypatch)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Kills of one process see no cache of the disk, have one thread, and find no lock of the process that forks them."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    monkeypatch.setattr("st_biomed.files.folders.lock", unlocked)
    monkeypatch.setattr("st_biomed.release.folder.vectors_elsewhere", vectors_here)
    yield
    torch.set_num_threads(threads)


@contextmanager
def unlocked(path: Path, *, wait: bool = False) -> Iterator[None]:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    yield


def vectors_here(folder: Path, probes: list[str]) -> Any:
    """In the place of a process for each kill, which takes seconds."""
    return load(folder, device="cpu").encode(probes, show_progress_bar=False)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "stride"),
    [
        pytest.param("sapbert", 13, id="sapbert at some steps"),
        *(pytest.param(name, 1, id=name, marks=pytest.mark.slow) for name in ENDINGS),
    ],
)
@pytest.mark.usefixtures("quick")
def test_a_kill_at_any_step_leaves_a_whole_release_and_the_trained_weights(
    name: str, stride: int, sources: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Catches a release removed before the new one stands, one that is half there, and weights that only memory had."""
    killing = Killing(stride, keeps_checkpoints=name not in NO_CHECKPOINTS)
    release = interrupted(name, killing, sources, tmp_path, monkeypatch)
    print(f"{name}: {killing.steps} steps")
    new, former = weights(release), killing.releases[0]
    assert killing.steps > 40
    assert new != former and killing.releases == sorted(killing.releases, key=[former, new].index)
    unreleased = [kept for kept, stands in zip(killing.trained, killing.releases) if stands == former]
    whole = next(kept for kept in unreleased[::-1] if kept)
    first = unreleased.index(whole)
    assert set(unreleased[first:]) == {whole}, "from when it was trained on until the release stands"
    assert name in KEEPS or whole == new


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "stride"),
    [
        pytest.param("sapbert", 3, id="sapbert at some files"),
        *(pytest.param(name, 1, id=name, marks=pytest.mark.slow) for name in ENDINGS),
    ],
)
@pytest.mark.usefixtures("quick")
def test_a_full_disk_at_any_file_is_one_line_and_leaves_the_release(
    name: str, stride: int, sources: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Catches a traceback, half a file that is taken for whole, and a release that made room for one that did not fit."""
    filling = Filling(stride, keeps_checkpoints=name not in NO_CHECKPOINTS)
    release = interrupted(name, filling, sources, tmp_path, monkeypatch)
    print(f"{name}: {len(filling.messages)} sizes")
    assert len(filling.messages) >= 3 and set(filling.releases) == {filling.releases[0]} != {weights(release)}
    for line in filling.messages:
        assert re.search(
            "^error: .*(than this process may write|not written to its end).* was not written(, |$)", line
        ), line


def interrupted(
    name: str, killing: Killing, sources: dict[str, Path], tmp_path: Path, patch: pytest.MonkeyPatch
) -> Path:
    """Run a recipe twice, its second ending interrupted; where its release is."""
    out = tmp_path / "runs" / "out"
    given = ["--overwrite", "true"]
    given += [] if name == "fewshot_names" else ["--save_strategy", "steps", "--save_steps", "2"]
    run_ending(name, sources, out, *given, "--learning_rate", 0.001)
    patch.setattr(st_biomed.training.finish, "finish", killing)
    patch.setattr(extend_bert, "finish", killing)
    run_ending(name, sources, out, *given, "--learning_rate", 0.002, seed=2)
    release = release_of(name, out)
    trained = release.with_name(f"{release.name}-training") / "trained"
    assert trained.is_dir() == (name in KEEPS)
    assert not [path for folder in (release, trained) for path in folder.parent.iterdir() if path.name[0] == "."]
    return release
