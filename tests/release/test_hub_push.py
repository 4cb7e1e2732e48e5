"""Publishing, through the Hub's own client, on a Hub in this process: commits, branches, pull requests and collections."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from huggingface_hub import constants

from st_biomed.release.hub import Pushed
from tests.loopback_hub import LoopbackHub
from tests.release.publishing import NAME, refused


def test_a_release_is_published_privately_in_one_commit(hub: LoopbackHub, send, release: Path) -> None:
    """Catches a public first version, a file that stays behind, and a card that loads another model."""
    pushed = send(tag="v1")
    repo, tree = hub.repos[NAME], hub.tree(NAME)
    assert repo.private and pushed.changed and repo.tags == {"v1": pushed.commit} and len(repo.commits) == 2
    files = {path.relative_to(release).as_posix(): path for path in release.rglob("*") if path.is_file()}
    assert tree.keys() == files.keys() | {".gitattributes"}
    differ = {name for name, path in files.items() if tree[name] != path.read_bytes()}
    assert differ == {"README.md", "run.json"}
    card = tree["README.md"].decode()
    assert f'SentenceTransformer("{NAME}")' in card and "sentence_transformers_model_id" not in card
    assert json.loads(tree["run.json"])["model_id"] == NAME
    assert 'SentenceTransformer("sentence_transformers_model_id")' in (release / "README.md").read_text()


@pytest.mark.long
def test_a_second_push_needs_a_word_and_changes_what_changed(hub: LoopbackHub, send, release: Path) -> None:
    """Catches somebody's model overwritten, an empty commit, and modules of the last release left among those of this."""
    first = send()
    assert "contains 12 files; give --update or --pr" in refused(send)
    assert hub.repos[NAME].heads["main"] == first.commit
    assert send(update=True) == Pushed(first.commit, False, first.url)
    repo = hub.repos[NAME]
    tree = {**hub.tree(NAME), "2_Dense/config.json": b"{}", "picture.png": b"png"}
    repo.commit("main", tree)
    (release / "LICENSE").write_text("another")
    again = send(update=True)
    assert again.changed and hub.tree(NAME)["LICENSE"] == b"another"
    assert "2_Dense/config.json" not in hub.tree(NAME) and "picture.png" in hub.tree(NAME)


def test_a_pull_request_leaves_main_alone(hub: LoopbackHub, send, release: Path) -> None:
    first = send()
    (release / "LICENSE").write_text("another")
    pushed = send(pull_request=True)
    assert pushed.url.endswith("/discussions/1") and pushed.changed
    assert hub.repos[NAME].heads == {"main": first.commit}
    assert hub.tree(NAME, "refs/pr/1")["LICENSE"] == b"another" != hub.tree(NAME)["LICENSE"]


def test_a_pull_request_needs_a_repository(send) -> None:
    """Catches a repository made by a slip in its name."""
    assert "no such repository; a pull request needs one" in refused(send, pull_request=True)


def test_a_branch_gets_the_release_and_main_nothing(hub: LoopbackHub, send, release: Path) -> None:
    pushed = send(branch="legacy")
    assert hub.repos[NAME].heads["legacy"] == pushed.commit and hub.tree(NAME).keys() == {".gitattributes"}
    (release / "LICENSE").write_text("another")
    assert send(branch="legacy", update=True).changed
    assert hub.tree(NAME, "legacy")["LICENSE"] == b"another"


@pytest.mark.long
def test_variants_share_a_collection(hub: LoopbackHub, send) -> None:
    """Catches a collection for each of them."""
    first = send(collection="HiPrBERT variants")
    second = send(name="org/other", collection="HiPrBERT variants")
    send(name="org/other", collection="HiPrBERT variants", update=True)
    (held,) = hub.collections.values()
    assert [item["id"] for item in held["items"]] == [NAME, "org/other"] and held["private"]
    assert first.collection == second.collection == f"{hub.url}/collections/{held['slug']}"


@pytest.mark.long
def test_what_others_see_never_changes_unasked(hub: LoopbackHub, send, plan) -> None:
    """Catches a release that becomes visible because the repository already was."""
    send(public=True)
    assert not hub.repos[NAME].private
    assert "already exists and is public; give --public" in refused(send, update=True)
    hub.repos[NAME].private = True
    assert "already exists and is private" in refused(send, update=True, public=True)
    hub.repos[NAME].tags["v1"] = hub.repos[NAME].heads["main"]
    assert "already has a tag 'v1'" in refused(send, update=True, tag="v1")


def test_large_files_go_the_way_of_large_files(
    hub: LoopbackHub, send, release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    hub.large = lambda path: path.endswith(".safetensors")
    send()
    weights = (release / "model.safetensors").read_bytes()
    assert list(hub.blobs) == [hashlib.sha256(weights).hexdigest()]
    assert hub.tree(NAME)["model.safetensors"] == weights
    assert not send(update=True).changed
