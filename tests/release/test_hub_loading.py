"""Publishing, through the Hub's own client, on a Hub in this process."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from huggingface_hub import HfApi, constants
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Normalize

import st_biomed
from st_biomed.errors import InputError
from st_biomed.modules.adapt import adapt
from st_biomed.modules.inject_knowledge import inject_knowledge
from st_biomed.modules.markers import pool_mentions
from st_biomed.modules.residual_feed_forward import ResidualFeedForward
from st_biomed.release.fold_modules import fold_modules
from st_biomed.release.folder import save_release
from st_biomed.release.hub import Pushed, plan_push, push_plan
from st_biomed.release.hub_plan import HubPlan, PushOptions
from st_biomed.terminology import Terminology
from tests.loopback_hub import READER, STRANGER, WRITER, LoopbackHub, loopback_hub
from tests.modules.mention_texts import table

NAME = "org/tiny-hiprbert"
TERMS = ["acute flenn", "chronic disease of the tove"]


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoopbackHub]:
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # what the client waits between its tries
    with loopback_hub(monkeypatch, tmp_path_factory.mktemp("cache")) as running:
        yield running


def digest(folder: Path) -> str:
    """Of every path, content and time of change."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    files_read = [
        (str(path), hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns) for path in files
    ]
    return hashlib.sha256(json.dumps(files_read).encode()).hexdigest()


@pytest.fixture
def plan(hub: LoopbackHub, release: Path, licensed: Terminology, tiny_bert_folder: Path):
    def planned(token: str = WRITER, folder: Path = release, name: str = NAME, **options) -> HubPlan:
        api = HfApi(endpoint=hub.url, token=token)
        base = {"terminologies": [licensed], "base_model": tiny_bert_folder}
        return plan_push(folder, PushOptions(name, **options), **base, api=api)

    return planned


@pytest.fixture
def send(hub: LoopbackHub, plan):
    """Plans and pushes, and checks that the folder stays as it is, whatever happens."""

    def sent(token: str = WRITER, **options) -> Pushed:
        planned = plan(token, **options)
        before = digest(planned.folder)
        try:
            return push_plan(planned, api=HfApi(endpoint=hub.url, token=token))
        finally:
            assert digest(planned.folder) == before

    return sent


def refused(send, *arguments, **options) -> str:
    with pytest.raises(InputError) as error:
        send(*arguments, **options)
    assert "\n" not in str(error.value)
    return str(error.value)


# ---------------------------------------------------------------------- the plan


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


# ---------------------------------------------------------------------- pushing


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


def test_variants_share_a_collection(hub: LoopbackHub, send) -> None:
    """Catches a collection for each of them."""
    first = send(collection="HiPrBERT variants")
    second = send(name="org/other", collection="HiPrBERT variants")
    send(name="org/other", collection="HiPrBERT variants", update=True)
    (held,) = hub.collections.values()
    assert [item["id"] for item in held["items"]] == [NAME, "org/other"] and held["private"]
    assert first.collection == second.collection == f"{hub.url}/collections/{held['slug']}"


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


# ---------------------------------------------------------------------- what goes wrong


def test_tokens_that_do_not_do(hub: LoopbackHub, send, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a page of traceback for a token that expired."""
    assert "the Hub does not know the token (401" in refused(send, STRANGER)
    assert "the token of reader may only read" in refused(send, READER)
    assert "use one that may write to elsewhere" in refused(send, name="elsewhere/model")
    monkeypatch.setattr("huggingface_hub.hf_api.get_token", lambda: None)
    assert "no token found: store one with hf auth login" in refused(send, None)
    assert hub.repos == {}


def test_a_repository_that_comes_up_meanwhile_is_not_overwritten(hub: LoopbackHub, plan, send) -> None:
    planned, api = plan(), HfApi(endpoint=hub.url, token=WRITER)
    api.create_repo(NAME, private=True)
    with pytest.raises(InputError, match="already exists, or was changed at the same time .409"):
        push_plan(planned, api=api)
    planned = plan()
    hub.repos[NAME].commit("main", {"README.md": b"mine"})
    with pytest.raises(InputError, match="was changed since it was read .412"):
        push_plan(planned, api=api)
    assert hub.tree(NAME) == {"README.md": b"mine"}


def test_a_repository_that_goes_meanwhile_is_named(hub: LoopbackHub, send, plan) -> None:
    send()
    planned = plan(update=True)
    hub.repos.clear()
    with pytest.raises(InputError, match=f"{NAME}: not found, or the token may not see it .404"):
        push_plan(planned, api=HfApi(endpoint=hub.url, token=WRITER))


@pytest.mark.parametrize("where", ["preupload", "commit"])
def test_a_connection_that_is_cut_leaves_nothing_half_published(where: str, hub: LoopbackHub, send) -> None:
    """Catches a model whose weights arrived and whose configuration did not; the same command finishes it."""
    hub.fail("POST", where, times=20, status=None)
    assert "the connection to the Hub broke" in refused(send)
    assert hub.tree(NAME).keys() == {".gitattributes"}
    hub.faults.clear()
    assert send().changed and "model.safetensors" in hub.tree(NAME)


def test_a_connection_that_is_cut_in_a_large_file(hub: LoopbackHub, send, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    hub.large = lambda path: path.endswith(".safetensors")
    hub.fail("PUT", "blobs", times=2, status=None)
    assert send().changed
    hub.blobs.clear()
    hub.fail("PUT", "blobs", times=20, status=None)
    assert "the connection to the Hub broke" in refused(send, name="org/another")
    assert hub.tree("org/another").keys() == {".gitattributes"}


def test_a_server_that_fails_twice_and_then_works(hub: LoopbackHub, send) -> None:
    hub.fail("POST", "preupload", times=2, status=500)
    assert send().changed
    assert sum("preupload" in asked for asked in hub.requests) == 3


def test_a_server_that_keeps_failing_is_one_line(hub: LoopbackHub, send) -> None:
    hub.fail("POST", "commit", times=20, status=503)
    assert "the Hub failed (503: told to fail)" in refused(send)


@pytest.mark.parametrize(
    ("status", "message", "expected"),
    [
        (
            403,
            "Private repository storage limit reached, please upgrade your plan.",
            "org has no room left on the Hub (403",
        ),
        (
            403,
            "Your storage patterns tripped our internal systems!\nPlease contact us",
            "org has no room left on the Hub",
        ),
        (402, "Payment required", "org has no room left on the Hub (402: Payment required)"),
        (
            403,
            "You don't have the rights to create a model under this namespace",
            "use one that may write to org",
        ),
        (403, "Forbidden: pass `create_pr=1` as a query parameter", ", or --pr, which opens a pull request"),
        (403, "This token has only the scope of reading", "the token may not do this (403: This token has only"),
        (403, "Access to this resource is disabled.", "is disabled on the Hub (403: Access to this resource"),
        (403, "Not from your country", "the Hub forbids this (403: Not from your country)"),
    ],
)
def test_a_refusal_is_told_as_what_it_says(status: int, message: str, expected: str, hub: LoopbackHub, send) -> None:
    """Catches somebody who makes one token after another while the storage is full."""
    hub.fail("POST", "commit", times=20, status=status, message=message)
    assert expected in refused(send)


def test_a_gated_repository_is_not_told_as_none(hub: LoopbackHub, plan, send) -> None:
    """Catches a plan to make a repository that is there; the client counts gated ones among those that are not found."""
    hub.fail(
        "GET", "api/models/", 20, 403, "Access to model org/x is restricted and you are not in the list.", "GatedRepo"
    )
    assert "is gated (403: Access to model org/x is restricted" in plan().obstacle
    assert "ask for access on its page" in refused(send)


def test_a_full_disk_is_named(hub: LoopbackHub, send, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client keeps what it sends in files of its own where it has to."""

    def full(*arguments, **options) -> None:
        try:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/tmp/cache")
        except OSError as error:
            raise RuntimeError("Error while uploading 'model.safetensors' to the Hub.") from error

    monkeypatch.setattr(HfApi, "preupload_lfs_files", full)
    assert "the disk is full (/tmp/cache): free some space" in refused(send)


def test_a_bug_keeps_its_traceback(send, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments, **options) -> None:
        raise AttributeError("a slip")

    monkeypatch.setattr(HfApi, "create_commit", broken)
    with pytest.raises(AttributeError, match="a slip"):
        send()


# ---------------------------------------------------------------------- the license


def test_a_name_that_may_not_leave_stops_the_plan(hub: LoopbackHub, plan, release: Path) -> None:
    """Catches a card that was edited after the release was checked."""
    from zorb_terms import TERM

    with (release / "README.md").open("a") as card:
        card.write(f"For example, {TERM}.")
    with pytest.raises(InputError, match="README.md: holds 'chronic zorbal inflammation"):
        plan()
    assert hub.requests == []


# ---------------------------------------------------------------------- loading

_LOAD = """
import json, sys
import numpy
from sentence_transformers import SentenceTransformer

name, out, revisions, terms = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), json.loads(sys.argv[4])
vectors = [SentenceTransformer(name, device="cpu", revision=one).encode(terms) for one in revisions]
assert "st_biomed" not in sys.modules
numpy.save(out, numpy.stack(vectors))
"""


def elsewhere(hub: LoopbackHub, home: Path, code: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process that knows the Hub by its address and a token alone."""
    here = {name: value for name, value in os.environ.items() if name not in ("HF_HUB_OFFLINE", "PYTHONPATH")}
    known = {"HF_ENDPOINT": hub.url, "HF_TOKEN": WRITER, "HF_HOME": str(home), "CUDA_VISIBLE_DEVICES": ""}
    return subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, env={**here, **known}, cwd=home
    )


@pytest.mark.slow
def test_what_was_published_loads_anywhere_with_plain_sentence_transformers(
    hub: LoopbackHub, send, release: Path, tmp_path: Path
) -> None:
    """From main, a tag, a branch and a pull request, in a process without this package."""
    send(tag="v1")
    (release / "LICENSE").write_text("another")
    send(pull_request=True)
    send(branch="dev", update=True)
    revisions = [None, "v1", "refs/pr/1", "dev"]
    ended = elsewhere(hub, tmp_path, _LOAD, NAME, str(tmp_path / "v.npy"), json.dumps(revisions), json.dumps(TERMS))
    assert ended.returncode == 0, ended.stderr
    expected = SentenceTransformer(str(release), device="cpu").encode(TERMS)
    np.testing.assert_allclose(np.load(tmp_path / "v.npy"), np.stack([expected] * 4), atol=1e-6)


_WITH_AND_WITHOUT = """
import json, sys
import numpy
from sentence_transformers import SentenceTransformer

sys.modules["st_biomed"] = None
out, names, terms = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])
refused, vectors = [], []
for name in names:
    try:
        model = SentenceTransformer(name, device="cpu")
    except (ValueError, OSError) as error:
        assert "trust_remote_code" in str(error), error
        refused.append(name)
        model = SentenceTransformer(name, device="cpu", trust_remote_code=True)
    vectors.append(model.encode(terms))
numpy.save(out, numpy.stack(vectors))
print(json.dumps(refused))
"""


@pytest.mark.slow
def test_exactly_the_kinds_that_cannot_be_folded_need_trust_remote_code(
    hub: LoopbackHub, send, trained, licensed, tiny_bert_folder: Path, tmp_path: Path, monkeypatch
) -> None:
    """Marked mentions, injected knowledge and bottleneck adapters; with the flag, they need no installed package."""
    torch.manual_seed(0)
    makers = {
        "names": lambda model: model,
        "few-shot": lambda model: fold_modules(
            SentenceTransformer(modules=[*model, Normalize(), ResidualFeedForward(16, 4)])
        ),
        "mentions-folded": lambda model: fold_modules(pool_mentions(model)),
        "mentions": pool_mentions,
        "injected": lambda model: inject_knowledge(pool_mentions(model), table(), layer=1, mention="marked"),
        "adapters": lambda model: adapt(model, 2),
    }
    terms = [*TERMS, "the [Ms] chronic type [Me] of it"]
    # What is checked in a process of its own here would be checked in another one for each of them.
    probes = {name: maker(SentenceTransformer(str(tiny_bert_folder), device="cpu")) for name, maker in makers.items()}
    monkeypatch.setattr("st_biomed.release.folder.code_of", lambda model: [])
    monkeypatch.setattr("st_biomed.release.folder._check_loads_back", lambda model, folder: None)
    for name, model in probes.items():
        folder = save_release(
            model, tmp_path / name, run=trained.run, terminologies=[licensed], base_model=tiny_bert_folder
        )
        send(folder=folder, name=f"org/{name}")
    names = json.dumps([f"org/{name}" for name in probes])
    ended = elsewhere(hub, tmp_path, _WITH_AND_WITHOUT, str(tmp_path / "v.npy"), names, json.dumps(terms))
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout) == ["org/mentions", "org/injected", "org/adapters"]
    for name, found in zip(probes, np.load(tmp_path / "v.npy")):
        np.testing.assert_allclose(found, probes[name].encode(terms), atol=1e-5, err_msg=name)


def test_our_loader_takes_the_name_on_the_hub(hub: LoopbackHub, tiny_bert, tmp_path: Path) -> None:
    """Catches a loader for folders alone, and one that runs the code of the repository."""
    pooled = pool_mentions(tiny_bert)
    pooled.save_pretrained(str(tmp_path / "model"), create_model_card=False)
    (tmp_path / "model" / "mention_pooling.py").write_text("raise SystemExit('this ran')")
    api = HfApi(endpoint=hub.url, token=WRITER)
    api.create_repo(NAME, private=True)
    api.upload_folder(repo_id=NAME, folder_path=tmp_path / "model")
    loaded = st_biomed.load(NAME, device="cpu")
    np.testing.assert_allclose(loaded.encode(TERMS), pooled.encode(TERMS), atol=1e-6)


def test_a_copy_of_the_repository_is_a_release_again(hub: LoopbackHub, send, plan, tmp_path: Path) -> None:
    """A card that names one repository is published in another under that one's name."""
    send()
    copy = tmp_path / "copy"
    for path, content in hub.tree(NAME).items():
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        (copy / path).write_bytes(content)
    with pytest.raises(InputError, match=r"\.gitattributes: is not on the list"):
        plan(folder=copy)
    (copy / ".gitattributes").unlink()
    send(folder=copy, name="org/moved")
    assert 'SentenceTransformer("org/moved")' in hub.tree("org/moved")["README.md"].decode()
    shutil.rmtree(copy)


# ---------------------------------------------------------------------- a folder that is replaced meanwhile


def replace_with_another(release: Path) -> None:
    """What a recipe does in one moment."""
    new = Path(shutil.copytree(release, release.with_name("new")))
    (new / "LICENSE").write_text("another")
    shutil.move(release, release.with_name("old"))
    shutil.move(new, release)


def test_a_release_that_is_replaced_while_it_is_judged_is_refused(
    plan, release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a verdict on files of which half belong to another model."""
    from st_biomed.release import hub as module

    def replaced(*arguments: object, **options: object) -> str:
        replace_with_another(release)
        return "no name in any file"

    monkeypatch.setattr(module, "recheck", replaced)
    with pytest.raises(InputError, match="release: was replaced while it was read; repeat the command"):
        plan()


def test_a_release_that_is_replaced_before_it_is_sent_is_not_sent(hub: LoopbackHub, plan, release: Path) -> None:
    """Catches a push of what nobody judged."""
    planned = plan()
    replace_with_another(release)
    with pytest.raises(InputError, match="release: was replaced"):
        push_plan(planned, api=HfApi(endpoint=hub.url, token=WRITER))
    assert hub.repos == {}


def test_a_release_that_is_replaced_while_it_is_sent_is_not_published(
    hub: LoopbackHub, plan, release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a commit of files of two models."""
    planned = plan()
    upload = HfApi.preupload_lfs_files

    def replaced(self: HfApi, *arguments: object, **options: object) -> None:
        replace_with_another(release)
        upload(self, *arguments, **options)

    monkeypatch.setattr(HfApi, "preupload_lfs_files", replaced)
    with pytest.raises(InputError, match="release: was replaced"):
        push_plan(planned, api=HfApi(endpoint=hub.url, token=WRITER))
    assert set(hub.tree(NAME)) <= {".gitattributes"}
