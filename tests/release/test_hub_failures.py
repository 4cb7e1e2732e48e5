"""What goes wrong while publishing: tokens, connections, servers, the disk, and races with somebody else."""

from __future__ import annotations

import errno
import os

import pytest
from huggingface_hub import HfApi, constants

from st_biomed.errors import InputError
from st_biomed.release.hub import push_plan
from tests.loopback_hub import READER, STRANGER, WRITER, LoopbackHub
from tests.release.publishing import NAME, refused


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


@pytest.mark.long
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
