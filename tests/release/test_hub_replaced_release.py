"""A folder that is replaced while it is judged, before it is sent, and while it is sent."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from huggingface_hub import HfApi

from st_biomed.errors import InputError
from st_biomed.release.hub import push_plan
from tests.loopback_hub import WRITER, LoopbackHub
from tests.release.publishing import NAME


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
