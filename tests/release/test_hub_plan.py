"""What a push would do: the plan, options that make no sense, and a name that may not leave."""

from __future__ import annotations

from pathlib import Path

import pytest
from huggingface_hub import constants

from st_biomed.errors import InputError
from tests.loopback_hub import LoopbackHub
from tests.release.publishing import digest, refused


def test_a_plan_says_what_would_happen_and_sends_nothing(hub: LoopbackHub, plan, release: Path) -> None:
    """Catches a dry run that makes the repository, and a plan that hides a file."""
    before = digest(release)
    text = str(plan(tag="v1", collection="HiPrBERT"))
    for words in (
        "new, private, branch main, tag v1, in the collection 'HiPrBERT', as writer",
        "base model example/tiny-bert, license apache-2.0",
        "zorb_tree: auc_0v1 0.3142 before, 0.5772 after",
        "no name of ZORB in any file: 16 of 16 names are looked for (16 of at least 3 words or 20 characters)",
        "model.safetensors",
        "1 of them through LFS",
    ):
        assert words in text, words
    for path in release.rglob("*"):
        assert path.is_dir() or path.relative_to(release).as_posix() in text
    assert hub.repos == {} and digest(release) == before
    assert not [asked for asked in hub.requests if not asked.startswith("GET ")]


def test_a_plan_is_made_where_the_hub_cannot_be_asked(
    plan, send, hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a dry run that needs a network, and a push that goes on without an answer."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    planned = plan()
    assert "the Hub was not asked" in str(planned) and "HF_HUB_OFFLINE is set" in planned.obstacle
    assert "HF_HUB_OFFLINE is set" in refused(send)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "tiny"}, "write owner/name"),
        ({"name": "org/a b"}, "repository 'org/a b'"),
        ({"pull_request": True, "branch": "dev"}, "leave --branch out"),
        ({"pull_request": True, "tag": "v1"}, "leave --tag out"),
        ({"branch": "refs/pr/1"}, "give the name of a branch"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, object], message: str, plan) -> None:
    with pytest.raises(InputError, match=message):
        plan(**options)


def test_a_name_that_may_not_leave_stops_the_plan(hub: LoopbackHub, plan, release: Path) -> None:
    """Catches a card that was edited after the release was checked."""
    from zorb_terms import TERM

    with (release / "README.md").open("a") as card:
        card.write(f"For example, {TERM}.")
    with pytest.raises(InputError, match="README.md: holds 'chronic zorbal inflammation"):
        plan()
    assert hub.requests == []
