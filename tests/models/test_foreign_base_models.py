"""A base model that ran code of its own is refused before training, since no release may contain the code."""

from __future__ import annotations

from pathlib import Path

import pytest
from sentence_transformers import SentenceTransformer

from st_biomed.encoder import load_encoder
from st_biomed.errors import InputError
from st_biomed.modules.markers import pool_mentions
from st_biomed.release.foreign_parts import check_base_model
from tests.models.malicious import CASES, RUN_WITH_FLAG, Workshop
from tests.models.test_malicious_models import HUB, LOADS
from tests.modules.knowledge_layers import injected

FOLDERS = sorted(case for case in {*RUN_WITH_FLAG, *LOADS, "auto_map_of_our_adapters"} if not case.endswith(HUB))


@pytest.fixture
def workshop(cache: Path, tiny_bert_folder: Path, adapted_folder: Path, tmp_path: Path) -> Workshop:
    root = tmp_path / "workshop"
    root.mkdir()
    return Workshop(root, tiny_bert_folder, adapted_folder, cache)


@pytest.mark.long
@pytest.mark.parametrize("case", FOLDERS)
def test_what_ran_is_no_base_model(case: str, workshop: Workshop, monkeypatch: pytest.MonkeyPatch):
    """Catches foreign code in a module, an activation, a configuration or a tokenizer that is trained and not released."""
    name, folder = str(CASES[case](workshop)), workshop.root / f"model{workshop.number}"
    monkeypatch.syspath_prepend(folder)
    monkeypatch.chdir(folder)
    try:
        model = load_encoder(name, device="cpu", trust_remote_code=True)
    except Exception as error:
        pytest.skip(f"the code is no model: {error}")
    if workshop.marker.exists():
        with pytest.raises(InputError, match=r"base_model: runs foreign code \((evil\d+|mention_pooling)\.\w+\)"):
            check_base_model(model)
    else:
        check_base_model(model)


def test_models_of_this_package_and_the_host_are_base_models(
    cache: Path, tiny_bert: SentenceTransformer, tiny_bert_folder: Path, adapted_folder: Path, tmp_path: Path
):
    """Catches a release with files of this package's code that cannot be trained further."""
    injected(pool_mentions(tiny_bert), mention="marked").save_pretrained(
        str(tmp_path / "own"), create_model_card=False
    )
    check_base_model(tiny_bert)
    for folder in (tiny_bert_folder, adapted_folder, tmp_path / "own"):
        for trusted in (False, True):
            check_base_model(load_encoder(folder, device="cpu", trust_remote_code=trusted))
        check_base_model(SentenceTransformer(str(folder), device="cpu", trust_remote_code=True))  # its own files run
