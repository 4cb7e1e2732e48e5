"""What ``sentence_bert_config.json`` hands on, and weights that are pickles."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path

import torch

from tests.models.malicious.workshop import Pickled, Workshop, auto_map, case, edit


@case()
def flag_among_the_arguments_of_the_model(at: Workshop) -> Path:
    folder = at.with_code()
    edit(folder / "config.json", model_type=at.evil, auto_map=auto_map(at.evil))
    flag = {"trust_remote_code": True}
    edit(folder / "sentence_bert_config.json", model_args=flag, tokenizer_args=flag, config_args=flag)
    return folder


@case()
def auto_map_among_the_arguments_of_the_configuration(at: Workshop) -> Path:
    folder = at.own_file(at.folder())
    where = f"{at.code_repository()}--{at.evil}"
    edit(folder / "sentence_bert_config.json", config_args={"auto_map": auto_map(where)})
    return folder


@case()
def pickles_allowed_by_the_folder(at: Workshop) -> Path:
    """``weights_only`` is an argument of the model as any other."""
    folder = at.folder()
    (folder / "model.safetensors").unlink()
    torch.save({"x": Pickled(at.marker)}, folder / "pytorch_model.bin")
    edit(folder / "config.json", dtype=None)  # transformers looks for it among the weights then
    edit(folder / "sentence_bert_config.json", model_kwargs={"weights_only": False})
    return folder


@case()
def pickles_allowed_by_the_second_file(at: Workshop) -> Path:
    """sentence-transformers passes over an empty one."""
    folder = pickles_allowed_by_the_folder(at)
    (folder / "sentence_bert_config.json").rename(folder / "sentence_xlm-roberta_config.json")
    (folder / "sentence_bert_config.json").write_text("{}")
    return folder


@case()
def weights_of_a_distributed_checkpoint(at: Workshop) -> Path:
    folder = at.folder()
    (folder / "model.safetensors").rename(folder / "shard-00001-model-00001-of-00001.safetensors")
    (folder / ".metadata").write_bytes(pickle.dumps(Pickled(at.marker)))
    return folder


@case()
def tokenizer_of_another_repository(at: Workshop) -> Path:
    folder, other = at.own_file(at.folder()), at.root / f"tokenizer{at.number}"
    shutil.copytree(at.model, other)
    at.with_code(other)
    edit(other / "tokenizer_config.json", auto_map={"AutoTokenizer": [None, f"{at.evil}.EvilTokenizer"]})
    edit(folder / "sentence_bert_config.json", tokenizer_name_or_path=str(other))
    return folder


@case()
def attention_of_a_repository(at: Workshop) -> Path:
    folder = at.with_code()
    edit(folder / "sentence_bert_config.json", model_args={"attn_implementation": at.code_repository()})
    return folder


@case()
def attention_of_a_repository_in_the_configuration(at: Workshop) -> Path:
    folder = at.with_code()
    kernel = at.code_repository()
    edit(folder / "config.json", _attn_implementation=kernel, attn_implementation=kernel)
    return folder


@case()
def task_that_names_a_class(at: Workshop) -> Path:
    folder = at.own_file(at.folder())
    where = f"{at.code_repository()}--{at.evil}"
    edit(folder / "config.json", model_type=at.evil, architectures=[], auto_map=auto_map(where))
    edit(folder / "sentence_bert_config.json", transformer_task="retrieval")
    return folder


@case()
def pickle_as_weights(at: Workshop) -> Path:
    folder = at.folder()
    (folder / "model.safetensors").unlink()
    torch.save({"x": Pickled(at.marker)}, folder / "pytorch_model.bin")
    return folder


@case()
def pickle_of_the_oldest_kind(at: Workshop) -> Path:
    folder = at.folder()
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Pickled(at.marker)))
    return folder


@case()
def pickle_in_the_place_of_safetensors(at: Workshop) -> Path:
    folder = at.folder()
    (folder / "model.safetensors").write_bytes(pickle.dumps(Pickled(at.marker)))
    return folder
