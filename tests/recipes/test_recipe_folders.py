"""The folders of every recipe: one writer at a time, a base model that is replaced, and a disk that is full while it trains."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sentence_transformers import SentenceTransformer

from recipes import kge, sapbert
from st_biomed.encoder.released import load
from st_biomed.files import lock
from st_biomed.release.recheck import recheck
from st_biomed.release.run_data import read_run
from st_biomed.settings.recipe import run_recipe
from st_biomed.training.checkpoints import checkpoints_in, damage, last_complete_checkpoint
from tests.recipes.endings import CONFIGS, ENDINGS, release_of, run_ending, run_limited, sources_of, weights

HOLD = """
import sys, time
from st_biomed.files import lock
sys.argv[0] = "sapbert.py"
with lock(sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""
LATER = "italian_kge, pipelined"
"""Which needs the stage before it, and is the recipe of ``contrastive``."""


@pytest.fixture(scope="module")
def sources(tiny_bert_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    with pytest.MonkeyPatch.context() as patch:
        yield sources_of(tmp_path_factory.mktemp("sources"), tiny_bert_folder, patch)


def error_line(capsys: pytest.CaptureFixture[str]) -> str:
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
    return line


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder that another process writes to."""
    folder = tmp_path_factory.mktemp("held") / "out"
    with subprocess.Popen([sys.executable, "-c", HOLD, folder], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        yield folder
        process.kill()


@pytest.mark.parametrize("name", [*(name for name in ENDINGS if name != LATER), "sapbert, seeds", "kge"])
def test_a_second_run_into_one_folder_ends_at_once_and_says_who_writes_there(
    name: str, held: Path, sources, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    """Catches hours of training that end in the folder of another run, or in the line that it is taken."""

    def run() -> None:
        if name == "kge":
            kge.main([str(CONFIGS / "kge_smoke.yaml"), "--output_dir", str(held), "--terminology", "nowhere/at/all"])
        elif name == "sapbert, seeds":
            words = ("x", CONFIGS / "sapbert_smoke.yaml", "--output_dir", held, "--seeds", 1, 2)
            monkeypatch.setattr("sys.argv", [str(word) for word in words])
            sapbert.main()
        else:
            run_ending(name, {**sources, "base": Path("nowhere/at/all")}, held)

    with pytest.raises(SystemExit) as end:
        run_recipe(run)
    assert end.value.code == 2
    assert "out: sapbert.py " in (line := error_line(capsys)) and " has been writing to it since 20" in line


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    ["sapbert", *(pytest.param(name, marks=pytest.mark.slow) for name in ("hiprbert", "bergamot", "fewshot_names"))],
)
def test_a_release_may_be_trained_further_in_its_own_folder(
    name: str, sources, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a base model that is removed before it has been read, and a tokenizer that is compared with itself."""
    out = tmp_path / "out"
    run_ending(name, sources, out)
    first = weights(out)
    run_ending(name, {**sources, "base": out}, out, "--overwrite", "true", seed=2)
    assert weights(out) != first
    assert SentenceTransformer(str(out), device="cpu").encode("acute disease").shape == (16,)
    run = read_run(out / "run.json")
    assert Path(run["base_model"]).name == "out" and run["earlier"][0]["recipe"] == name
    assert recheck(out, run)
    peers = []
    monkeypatch.setattr("st_biomed.release.recheck.check_release", lambda *given, **options: peers.append(given[2]))
    alone = {
        **run,
        "terminologies": [],
        "earlier": [],
        "configuration": {"base_model": str(out)},
        "base_model": str(out),
    }
    for base_model in (None, out):
        recheck(out, alone, base_model=base_model)
    assert peers == [None, None], "it is no proof of its own tokenizer"


@pytest.mark.long
@pytest.mark.parametrize(
    "limit", [20_000, *(pytest.param(limit, marks=pytest.mark.slow) for limit in (1_000, 3_000, 40_000))]
)
def test_a_disk_that_is_full_while_it_trains_is_one_line_and_no_checkpoint(
    limit: int, sources, tmp_path: Path
) -> None:
    """Catches a traceback, and half a checkpoint from which a run goes on."""
    given = ("--save_strategy", "steps", "--save_steps", 1, "--disable_tqdm", "true")
    code, lines = run_limited(limit, lambda: run_ending("sapbert", sources, tmp_path / "out", *given))
    (line,) = lines
    assert code == 2
    assert line.startswith("error: ") and ("than this process may write" in line or "to its end" in line)
    work = tmp_path / "out-training"
    assert not (tmp_path / "out").exists() and last_complete_checkpoint(work)[0] is None
    assert all(damage(checkpoint) for checkpoint in checkpoints_in(work))
    run_ending("sapbert", sources, tmp_path / "out")
    assert load(release_of("sapbert", tmp_path / "out"), device="cpu")


@pytest.mark.slow
def test_two_processes_have_one_writer_and_whole_checkpoints(sources, tmp_path: Path) -> None:
    """Catches a process that the other one's lock refuses, and a list of files without what the second process writes."""
    words = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    words += [str(Path(sapbert.__file__)), str(CONFIGS / "sapbert_smoke.yaml"), "--base_model", str(sources["base"])]
    words += [
        "--output_dir",
        str(tmp_path / "out"),
        "--use_cpu",
        "true",
        "--save_strategy",
        "steps",
        "--save_steps",
        "1",
    ]
    ended = subprocess.run([*words, "--save_total_limit", "1"], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    (checkpoint,) = checkpoints_in(tmp_path / "out-training")
    assert not damage(checkpoint)
    (checkpoint / "rng_state_1.pth").unlink()
    assert "rng_state_1.pth: is missing" in damage(checkpoint)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out-training"]
    again = subprocess.run(words, capture_output=True, text=True)
    assert again.returncode and again.stderr.count("error: ") == 1 and "already contains a release" in again.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_refused_before_training(sources, tmp_path: Path, capsys) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(SystemExit) as end:
        run_recipe(lambda: run_ending("hiprbert", sources, tmp_path / "below" / "out"))
    assert end.value.code == 2 and "no permission to write there" in error_line(capsys)


@pytest.mark.parametrize(
    ("name", "place"),
    [*((name, "release") for name in ENDINGS if name != LATER), ("sapbert", "work"), ("hiprbert", "above")],
)
def test_a_file_in_the_way_is_refused_before_anything_is_loaded(
    name: str, place: str, sources, tmp_path: Path, capsys
) -> None:
    out = tmp_path / "out"
    release = release_of(name, out)
    blocked = {"release": release, "work": release.with_name(f"{release.name}-training"), "above": out.parent / "file"}
    blocked[place].parent.mkdir(parents=True, exist_ok=True)
    blocked[place].write_text("mine")
    target = blocked["above"] / "out" if place == "above" else out
    with pytest.raises(SystemExit) as end:
        run_recipe(lambda: run_ending(name, {**sources, "base": Path("nowhere/at/all")}, target))
    assert end.value.code == 2
    assert f"{blocked[place].name}: is a file, expected a folder" in error_line(capsys)
    assert blocked[place].read_text() == "mine"


@pytest.mark.long
def test_a_lock_of_this_process_does_not_hold_it_up(sources, tmp_path: Path) -> None:
    """Catches a recipe that a program runs in a folder which it holds."""
    with lock(tmp_path / "out"):
        run_ending("sapbert", sources, tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out-training"]
