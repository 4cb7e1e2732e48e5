"""The scorecard of a release: at the top of its card, in its record, put there under its lock and judged before."""

from __future__ import annotations

import json
import re
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from scorecards import difference, scorecard
from zorb_terms import TERM

from st_biomed.encoder import load_encoder
from st_biomed.encoder.digest import model_digest
from st_biomed.errors import InputError
from st_biomed.files import FolderInUse, finish_replacement, lock
from st_biomed.release.add_scorecard import add_scorecard, with_scorecard
from st_biomed.release.card import BiomedCard
from st_biomed.release.recheck import recheck
from st_biomed.release.run_data import read_run
from st_biomed.release.scorecard_text import scorecard_summary, scorecard_table
from tests.forks import Forked
from tests.kills import every_kill


@pytest.fixture(scope="session")
def digest(pristine_release: Path) -> str:
    return model_digest(load_encoder(pristine_release, device="cpu"))


# ---------------------------------------------------------------------- what it says


def test_the_summary_has_the_base_the_counts_the_families_and_every_loss():
    text = scorecard_summary(scorecard())
    assert text.startswith(
        "Against `example/tiny-bert` (mean pooling, 32 tokens), on 4 benchmarks: **2 gained, 1 kept, 1 lost**. "
        "Without the 1 benchmark made of terminologies that it was trained on: **1 gained, 1 kept, 1 lost**."
    )
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert rows[1:] == [
        "| linking | 1 | 0 | 0 | 1 gained, 0 kept, 0 lost |",
        "| relatedness | 0 | 0 | 1 | 0 gained, 0 kept, 1 lost |",
        "| hierarchy | 1 | 0 | 0 | – |",
        "| other languages (it) | 0 | 1 | 0 | 0 gained, 1 kept, 0 lost |",
    ]
    assert "\n- mayosrs, spearman: 0.500 to 0.400, -0.100 (-0.150 to -0.050), p .020, Holm's .080\n" in text
    assert "(Holm 1979) it is 1 gained, 3 kept, 0 lost." in text and "1,000 draws from seed 0" in text


def test_what_a_reader_could_miss_is_said():
    """Would catch a card without losses that does not say so, and benchmarks that are left out in silence."""
    none = scorecard_summary(scorecard(benchmarks=[difference("a", "kept")], not_compared=["zorb"], recorded=False))
    assert "No benchmark was lost." in none and "Measured and not compared: zorb." in none
    assert "on 1 benchmark: **0 gained, 1 kept, 0 lost**." in none and "Without the" not in none
    assert "No record says what the model was trained on" in none
    few = scorecard_summary(scorecard(draws=50))
    assert "With 50 draws the smallest of 4 adjusted p is never below .078" in few
    assert "Scored as the papers' scripts do" in scorecard_summary(scorecard(as_published=True))
    assert scorecard_summary(scorecard(benchmarks=[])).startswith(
        "Against `example/tiny-bert` (mean pooling, 32 tokens), on 0 "
    )


def test_every_benchmark_stands_in_the_table():
    lines = scorecard_table(scorecard()).splitlines()
    assert lines[3] == "| mayosrs, spearman | 0.500 | 0.400 | -0.100 (-0.150 to -0.050) | .020 | .080 | lost |"
    assert lines[4].startswith("| hpo_tree \\*, mean_auc |") and lines[-1].startswith("\\* made of")


# ---------------------------------------------------------------------- in a release


def headings(card: str) -> list[str]:
    return re.findall(r"^##+ (.+)$", card, re.MULTILINE)


def test_it_is_the_first_section_of_the_card_and_in_the_record(release: Path, licensed, digest: str):
    """Would catch a card whose record does not say what it shows, and weights that were copied or changed."""
    before = {path.name: path.stat().st_ino for path in release.iterdir() if path.is_file()}
    record = read_run(release / "run.json")
    report = add_scorecard(release, [scorecard("other"), scorecard(digest)], terminologies=[licensed])
    assert "no name of ZORB in any file" in report
    run, card = read_run(release / "run.json"), (release / "README.md").read_text("utf-8")
    assert run == {**record, "scorecards": [scorecard(digest)]}
    assert headings(card)[:2] == ["Scorecard", "How to use it"]
    assert "Each benchmark against example/tiny-bert" in headings(card)
    assert scorecard_summary(scorecard(digest)) in card and scorecard_table(scorecard(digest)) in card
    assert card == BiomedCard.from_run(run).render(load_encoder(release, device="cpu"))
    after = {path.name: path.stat().st_ino for path in release.iterdir() if path.is_file()}
    assert {name for name in before if before[name] != after[name]} == {"README.md", "run.json"}
    assert [path.name for path in release.parent.iterdir()] == [release.name]
    assert recheck(release, run, [licensed]) == report


def test_a_second_one_takes_the_place_of_one_against_the_same_base(release: Path, licensed, digest: str):
    add_scorecard(release, [scorecard(digest)], terminologies=[licensed])
    add_scorecard(release, [scorecard(digest, base="example/other")], terminologies=[licensed])
    add_scorecard(release, [scorecard(digest, draws=7)], terminologies=[licensed])
    found = read_run(release / "run.json")["scorecards"]
    assert [(data["base"], data["draws"]) for data in found] == [("example/tiny-bert", 7), ("example/other", 1000)]
    card = (release / "README.md").read_text("utf-8")
    assert headings(card).count("Scorecard") == 1 and card.index("`example/tiny-bert` (") < card.index(
        "`example/other` ("
    )


def test_no_place_of_this_machine_gets_into_the_record(trained, digest: str):
    run = with_scorecard(trained.run, scorecard(digest, model="/srv/alice/mine", base="/srv/alice/base"))
    assert "alice" not in json.dumps(run) and run["scorecards"][0]["base"] == "base"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"not_compared": [TERM]}, r"may not be released: README\.md: holds .*; run\.json: holds"),
        ({"benchmarks": [{"benchmark": "zorb"}]}, r"scorecard: scorecards\[0\].benchmarks\[0\] lacks family"),
        (
            {"model_digest": "another"},
            r"no scorecard of this model \(digest \w{8}\); available are mine \(another\): measure this folder",
        ),
    ],
)
def test_what_is_refused_leaves_the_release_as_it_was(
    more: dict[str, Any], message: str, release: Path, licensed, digest: str
):
    """Would catch a licensed name that a benchmark's name carries into the card."""
    before = contents(release)
    with pytest.raises(InputError, match=message):
        add_scorecard(release, [{**scorecard(digest), **more}], terminologies=[licensed])  # type: ignore[list-item, typeddict-item]
    assert contents(release) == before and [path.name for path in release.parent.iterdir()] == [release.name]


def test_names_that_cannot_be_searched_stop_it(release: Path, digest: str):
    with pytest.raises(
        InputError, match=rf"{re.escape(str(release))}: names of ZORB may not be redistributed, .* not available"
    ):
        add_scorecard(release, [scorecard(digest)])
    report = add_scorecard(release, [scorecard(digest)], allow_sources=["ZORB"])
    assert report.startswith("ZORB: allowed to leave")


def test_terminologies_beside_the_checkpoints_are_found(release: Path, licensed, digest: str):
    """Would catch a search beside the draft, whose name nothing bears."""
    licensed.save(release.with_name(f"{release.name}-training") / "terminology")
    assert "no name of ZORB" in add_scorecard(release, [scorecard(digest)])


def test_a_card_that_was_changed_by_hand_is_not_lost(release: Path, licensed, digest: str):
    with (release / "README.md").open("a") as card:
        card.write("Written by hand.\n")
    before = contents(release)
    with pytest.raises(
        InputError, match=r"README.md: is not the card that run.json gives .it was changed by hand, or"
    ):
        add_scorecard(release, [scorecard(digest)], terminologies=[licensed])
    assert contents(release) == before
    (release / "README.md").unlink()
    add_scorecard(release, [scorecard(digest)], terminologies=[licensed])
    assert "## Scorecard" in (release / "README.md").read_text("utf-8")


def test_a_linked_folder_is_not_taken_into_the_release(release: Path, licensed, digest: str, tmp_path: Path):
    """Would catch files of another folder that become files of the release and pass its check."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.json").write_text('{"password": "x"}')
    (release / "eval").symlink_to(tmp_path / "outside")
    with pytest.raises(InputError, match="release/eval: is a link or a special file"):
        add_scorecard(release, [scorecard(digest)], terminologies=[licensed])
    assert (release / "eval").is_symlink() and not read_run(release / "run.json")["scorecards"]


def test_a_read_only_release_gets_a_scorecard(release: Path, licensed, digest: str):
    """Would catch a read-only draft, and an earlier version that cannot be removed and blocks later calls."""
    for path in [*release.rglob("*"), release]:
        path.chmod(path.stat().st_mode & ~0o222)
    for draws in (7, 9):
        add_scorecard(release, [scorecard(digest, draws=draws)], terminologies=[licensed])
        assert read_run(release / "run.json")["scorecards"][0]["draws"] == draws
    assert [path.name for path in release.parent.iterdir()] == [release.name]
    assert all(path.stat().st_mode & 0o200 for path in [release, *release.rglob("*")] if path.is_dir())


def test_what_is_no_release_is_refused_before_anything_is_made(tmp_path: Path):
    for folder in (tmp_path / "nowhere" / "x", tmp_path):
        with pytest.raises(InputError, match=r"(no such folder|no run record found)"):
            add_scorecard(folder, [scorecard()])
    assert not any(tmp_path.iterdir())


def test_it_waits_for_no_other_writer(release: Path, licensed, digest: str, tmp_path: Path):
    """Would catch a card that is written into a release while a recipe replaces it."""
    held, done = tmp_path / "held", tmp_path / "done"

    def hold() -> None:
        with lock(release):
            held.touch()
            while not done.exists():
                time.sleep(0.01)

    other = Forked(hold)
    while not held.exists():
        time.sleep(0.01)
    before = contents(release)
    with pytest.raises(FolderInUse, match="has been writing to it since"):
        add_scorecard(release, [scorecard(digest)], terminologies=[licensed])
    done.touch()
    other.result()
    assert contents(release) == before


@pytest.mark.long
def test_a_kill_leaves_one_whole_release(release: Path, pristine_release: Path, licensed, digest: str):
    """Would catch a record with a scorecard beside a card without one."""

    def add() -> None:
        add_scorecard(release, [scorecard(digest)], terminologies=[licensed])

    def anew() -> None:
        finish_replacement(release)
        shutil.rmtree(release)
        shutil.copytree(pristine_release, release)

    found = set()
    for _ in every_kill(add, anew, stride=9):
        finish_replacement(release)
        in_record = bool(read_run(release / "run.json")["scorecards"])
        in_card = "## Scorecard" in (release / "README.md").read_text("utf-8")
        found.add((in_record, in_card))
        assert contents(release).keys() == contents(pristine_release).keys()
    assert found <= {(False, False), (True, True)} and (False, False) in found
