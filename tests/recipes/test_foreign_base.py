"""A base model with code of its own, in every recipe that releases what it trains: refused before training."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from transformers import Trainer

from st_biomed.errors import InputError
from tests.recipes.endings import ENDINGS, run_ending, sources_of

RELEASING = sorted({*ENDINGS} - {"extend_bert", "italian_kge, pipelined", "sapbert, averaged", "sapbert, lora"})
"""``extend_bert`` makes no release; the others have the base model of another of the list, or none."""
CODE = "from transformers import BertModel\n\n\nclass OwnModel(BertModel):\n    pass\n"


@pytest.mark.parametrize("name", RELEASING)
def test_no_recipe_trains_what_it_may_not_release(
    name: str, tiny_bert_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Catches days of training that end with a file of code that is not on the list of published files."""
    base = shutil.copytree(tiny_bert_folder, tmp_path / "own")
    configuration = json.loads((base / "config.json").read_text("utf-8"))
    configuration["auto_map"] = {"AutoModel": "modeling_own.OwnModel"}
    (base / "config.json").write_text(json.dumps(configuration), "utf-8")
    (base / "modeling_own.py").write_text(CODE, "utf-8")
    sources = sources_of(tmp_path, base, monkeypatch)
    monkeypatch.setattr(Trainer, "train", lambda *_, **__: pytest.fail("it was trained"))
    with pytest.raises(
        InputError, match=r"base_model: runs foreign code \(modeling_own.OwnModel\).*nothing was trained"
    ):
        run_ending(name, sources, tmp_path / "out", "--trust_remote_code", "true")
