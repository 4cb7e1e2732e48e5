"""Classes and paths that ``modules.json`` names."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path

import torch

from tests.models.malicious.workshop import (
    HOST,
    POOLING,
    TRANSFORMER,
    Pickled,
    Workshop,
    auto_map,
    case,
    edit,
    modules,
)


@case(runs_with_flag=True)
def module_of_the_folder(at: Workshop) -> Path:
    folder = at.with_code()
    modules(folder, TRANSFORMER, (POOLING, "1_Pooling"), f"{at.evil}.EvilModule")
    return folder


@case(runs_with_flag=True)
def module_of_another_repository(at: Workshop) -> Path:
    folder = at.own_file(at.folder(), "mention_pooling.py")
    modules(folder, TRANSFORMER, (POOLING, "1_Pooling"), f"{at.code_repository()}--{at.evil}.EvilModule")
    return folder


@case(runs_with_flag=True)
def module_of_an_absolute_path(at: Workshop) -> Path:
    (at.root / "elsewhere").mkdir()
    elsewhere = at.with_code(at.root / "elsewhere")
    folder = at.own_file(at.folder(), "mention_pooling.py")
    modules(folder, TRANSFORMER, (POOLING, "1_Pooling"), f"{elsewhere}--{at.evil}.EvilModule")
    return folder


@case(runs_with_flag=True)
def module_with_the_name_of_our_own(at: Workshop) -> Path:
    folder = at.own_file(at.folder(), "mention_pooling.py")
    code = at.root / f"code{at.number}"
    code.mkdir()
    (code / "mention_pooling.py").write_text(at.code.replace("EvilModule", "MentionPooling"))
    modules(folder, TRANSFORMER, (POOLING, "1_Pooling"), f"{at.repository(code)}--mention_pooling.MentionPooling")
    return folder


@case()
def module_of_our_own_file_that_is_none(at: Workshop) -> Path:
    folder = at.own_file(at.with_code(), "mention_pooling.py")
    modules(folder, TRANSFORMER, (POOLING, "1_Pooling"), "mention_pooling.shutil")
    return folder


@case()
def module_of_our_own_package_that_is_none(at: Workshop) -> Path:
    folder = at.with_code()
    modules(folder, TRANSFORMER, (POOLING, "1_Pooling"), "st_biomed.evaluators.vector_store.VectorStore")
    return folder


@case()
def module_of_the_host_that_is_none(at: Workshop) -> Path:
    folder = at.folder()
    (folder / "2_").mkdir()
    (folder / "2_" / "model.safetensors").write_bytes(pickle.dumps(Pickled(at.marker)))
    modules(folder, TRANSFORMER, (POOLING, "1_Pooling"), f"{HOST}.base.model.pickle")
    return folder


@case()
def whole_model_as_a_module(at: Workshop) -> Path:
    """Keys of sentence_bert_config.json are arguments of the class: a model's own flag is one of them."""
    folder = at.with_code()
    edit(folder / "config.json", model_type=at.evil, auto_map=auto_map(at.evil))
    edit(folder / "sentence_bert_config.json", trust_remote_code=True, transformer_task=None)
    modules(folder, f"{HOST}.SparseEncoder", (POOLING, "1_Pooling"))
    return folder


@case()
def module_path_above_the_folder(at: Workshop) -> Path:
    above = at.root / f"above{at.number}"
    shutil.copytree(at.model, above)
    torch.save(Pickled(at.marker), above / "pytorch_model.bin")
    (above / "model.safetensors").unlink()
    folder = at.folder()
    modules(folder, (TRANSFORMER, f"../{above.name}"), (POOLING, "1_Pooling"))
    return folder


@case()
def module_path_from_the_root(at: Workshop) -> Path:
    elsewhere = at.root / f"elsewhere{at.number}"
    shutil.copytree(at.model, elsewhere)
    at.with_code(elsewhere)
    edit(elsewhere / "config.json", model_type=at.evil, auto_map=auto_map(at.evil))
    folder = at.own_file(at.folder())
    modules(folder, (TRANSFORMER, str(elsewhere)), (POOLING, "1_Pooling"))
    return folder
