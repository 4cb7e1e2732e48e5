"""A Hub's cache of its own, from which nothing is downloaded, and a place for code that is not to run."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import transformers.dynamic_module_utils as dynamic
from huggingface_hub import constants


def pop_code_of_folders() -> dict:
    """The modules that sentence-transformers imported out of model folders, taken out of the table of modules."""
    names = [name for name in sys.modules if name.partition(".")[0] == "transformers_modules"]
    return {name: sys.modules.pop(name) for name in names}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The Hub's cache; whoever asks on standard input whether code may run is told yes.

    sentence-transformers imports a folder's code as a part of one package whose path is the first cache it saw: the package is
    forgotten before and after, so that no other test looks for its code here, and so are the caches of earlier tests.
    """
    folder = tmp_path / "cache"
    folder.mkdir()
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(folder))
    monkeypatch.setattr(dynamic, "HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n" * 100))
    monkeypatch.setattr(sys, "path", [place for place in sys.path if not Path(place, "transformers_modules").is_dir()])
    before = pop_code_of_folders()
    yield folder
    pop_code_of_folders()
    sys.modules.update(before)


@pytest.fixture(scope="session")
def adapted_folder(tiny_bert_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved model with bottleneck adapters: a release that carries a file of code of ours."""
    from sentence_transformers import SentenceTransformer

    from st_biomed.modules.adapters import add_adapters

    folder = tmp_path_factory.mktemp("adapted") / "model"
    add_adapters(SentenceTransformer(str(tiny_bert_folder), device="cpu"), 2).save_pretrained(
        str(folder), create_model_card=False
    )
    return folder
