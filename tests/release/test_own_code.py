"""A model with adapters that cannot be folded: it leaves with its one file, loads without this package, and says so."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import torch
from sentence_transformers import SentenceTransformer

from st_biomed.encoder import OWN_CODE
from st_biomed.errors import InputError
from st_biomed.modules.adapters import add_adapters
from st_biomed.release.folder import save_release
from st_biomed.release.own_code import code_of, vectors_elsewhere
from tests.fresh import run_fresh


@pytest.fixture
def adapted(tiny_bert: SentenceTransformer) -> SentenceTransformer:
    """Adapters that do something."""
    torch.manual_seed(0)
    model = add_adapters(tiny_bert, 2)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.add_(torch.randn_like(parameter) / 10)
    return model


@pytest.mark.usefixtures("new_interpreter")
@pytest.mark.slow
def test_a_model_with_bottleneck_adapters_is_released(
    adapted: SentenceTransformer, trained, licensed, tiny_bert_folder: Path, tmp_path: Path
):
    """Catches a release that loads only where this package is installed, and one that hides what it needs."""
    folder = save_release(
        adapted, tmp_path / "out", run=trained.run, terminologies=[licensed], base_model=tiny_bert_folder
    )
    assert (folder / "bottleneck_adapter.py").read_bytes() == OWN_CODE["bottleneck_adapter.py"].read_bytes()
    card = (folder / "README.md").read_text()
    assert "trust_remote_code=True)" in card and "one file of code, `bottleneck_adapter.py`" in card
    assert abs(vectors_elsewhere(folder, ["zoster"]) - adapted.encode(["zoster"])).max() < 1e-6


@pytest.mark.long
def test_a_released_model_loads_here_with_the_classes_that_are_installed(
    adapted: SentenceTransformer, trained, licensed, tiny_bert_folder: Path, tmp_path: Path
):
    """Catches a command line that cannot use what the recipe released, and one that runs the folder's code."""
    folder = save_release(
        adapted, tmp_path / "out", run=trained.run, terminologies=[licensed], base_model=tiny_bert_folder
    )
    load = (
        "import sys; from st_biomed.encoder import load_encoder; print(load_encoder(sys.argv[1]).encode('zoster')[0])"
    )

    def loaded() -> subprocess.CompletedProcess[str]:
        """In a process that has not met the adapters yet."""
        environment = {**os.environ, "HF_MODULES_CACHE": str(tmp_path / "modules"), "HF_HUB_OFFLINE": "1"}
        return run_fresh(load, folder, environment=environment)

    assert float(loaded().stdout) == pytest.approx(float(adapted.encode("zoster")[0]), abs=1e-6)
    with (folder / "bottleneck_adapter.py").open("a") as file:
        file.write("print('this ran')\n")
    assert float(loaded().stdout) == pytest.approx(float(adapted.encode("zoster")[0]), abs=1e-6)  # and no other word


def test_a_release_that_names_code_of_others_is_not_run(
    adapted: SentenceTransformer, trained, licensed, tiny_bert_folder: Path, tmp_path: Path, monkeypatch
):
    """Catches the proof of a release that runs what its base model named, and users who are told to."""
    adapted[0].model.config.auto_map = {"AutoModelForMaskedLM": "attacker/code--modeling.Evil"}
    with pytest.raises(
        InputError, match=r"run foreign code: config.json: auto_map asks for attacker/code--modeling.Evil"
    ):
        save_release(adapted, tmp_path / "out", run=trained.run, terminologies=[licensed], base_model=tiny_bert_folder)
    assert not (tmp_path / "out").exists()


def test_code_that_was_changed_does_not_leave(
    adapted: SentenceTransformer, trained, licensed, tiny_bert_folder: Path, tmp_path: Path, monkeypatch
):
    """Catches somebody else's code under the name of ours."""
    save = adapted.save_pretrained

    def spoiled(path: str, **options) -> None:
        save(path, **options)
        with Path(path, "bottleneck_adapter.py").open("a") as file:
            file.write("# more")

    monkeypatch.setattr(adapted, "save_pretrained", spoiled)
    with pytest.raises(InputError, match=r"bottleneck_adapter\.py: differs from this package"):
        save_release(adapted, tmp_path / "out", run=trained.run, terminologies=[licensed], base_model=tiny_bert_folder)


def test_a_plain_model_needs_no_code(tiny_bert: SentenceTransformer, pristine_release: Path):
    assert code_of(tiny_bert) == []
    assert "trust_remote_code" not in (pristine_release / "README.md").read_text()


@pytest.mark.long
@pytest.mark.usefixtures("new_interpreter")
def test_what_does_not_load_elsewhere_is_one_line(tmp_path: Path):
    with pytest.raises(InputError, match="does not load in a process without this package: ") as error:
        vectors_elsewhere(tmp_path, ["x"])
    assert "\n" not in str(error.value)
