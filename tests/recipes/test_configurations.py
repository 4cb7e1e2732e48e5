"""Every configuration of every recipe holds arguments of that recipe and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sentence_transformers import SentenceTransformerTrainingArguments
from transformers import TrainingArguments

from recipes.bergamot import BergamotArguments
from recipes.biolord import BioLORDArguments
from recipes.extend_bert import ExtendBERTArguments
from recipes.fewshot_names import FewShotArguments
from recipes.hiprbert import HiPrBERTArguments
from recipes.italian_kge import ItalianArguments
from recipes.kge import KGEArguments
from recipes.knowledge_injection import InjectionArguments
from recipes.open_encoder import OpenEncoderArguments
from recipes.sapbert import SapBERTArguments
from recipes.sapbert_finetune import FinetuningArguments, FinetuningTraining
from st_biomed.errors import InputError
from st_biomed.kge import KGESettings
from st_biomed.settings.extended_yaml import extended_yaml
from st_biomed.settings.recipe import read_settings

CONFIGS = Path(__file__).parents[2] / "recipes" / "configs"
ARGUMENTS: dict[str, tuple[type[Any], ...]] = {  # the longest beginning counts
    "bergamot": (BergamotArguments, SentenceTransformerTrainingArguments),
    "biolord": (BioLORDArguments, SentenceTransformerTrainingArguments),
    "extend_bert": (ExtendBERTArguments, TrainingArguments),
    "fewshot_names": (FewShotArguments, SentenceTransformerTrainingArguments),
    "hiprbert": (HiPrBERTArguments, SentenceTransformerTrainingArguments),
    "italian_kge": (ItalianArguments, SentenceTransformerTrainingArguments),
    "kge": (KGEArguments, KGESettings),
    "knowledge_injection": (InjectionArguments, SentenceTransformerTrainingArguments),
    "open_encoder": (OpenEncoderArguments, SentenceTransformerTrainingArguments),
    "sapbert": (SapBERTArguments, SentenceTransformerTrainingArguments),
    "sapbert_finetune": (FinetuningArguments, FinetuningTraining),
}


def arguments_of(path: Path) -> tuple[type[Any], ...]:
    return ARGUMENTS[max((name for name in ARGUMENTS if path.stem.startswith(name)), key=len)]


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_configuration_is_one_of_its_recipe(path: Path):
    kinds = arguments_of(path)
    precision = ["--bf16", "false", "--use_cpu", "true"] if kinds[1] is not KGESettings else []
    read_settings(kinds, [str(path), *precision])
    assert "use_cpu" not in extended_yaml(path), "a configuration leaves the device to the machine"
    with pytest.raises(InputError, match="--no_such_argument"):
        read_settings(kinds, [str(path), *precision, "--no_such_argument", "1"])
