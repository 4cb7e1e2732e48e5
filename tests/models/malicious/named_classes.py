"""Classes that the modules of sentence-transformers name in their own files."""

from __future__ import annotations

import shutil
from pathlib import Path

import torch
from safetensors.torch import save_file

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


def _dense(folder: Path, activation: str) -> None:
    edit(folder / "2_" / "config.json", in_features=16, out_features=16, bias=True, activation_function=activation)
    save_file({"linear.weight": torch.eye(16), "linear.bias": torch.zeros(16)}, folder / "2_" / "model.safetensors")
    modules(folder, TRANSFORMER, (POOLING, "1_Pooling"), f"{HOST}.models.Dense")


@case()
def pickle_as_the_weights_of_a_module(at: Workshop) -> Path:
    folder = at.folder()
    _dense(folder, "torch.nn.modules.linear.Identity")
    (folder / "2_" / "model.safetensors").unlink()
    torch.save({"linear.weight": Pickled(at.marker)}, folder / "2_" / "pytorch_model.bin")
    return folder


@case(runs_with_flag=True)
def activation_of_a_module_within_reach(at: Workshop) -> Path:
    folder = at.own_file(at.with_code())
    _dense(folder, f"{at.evil}.EvilActivation")
    return folder


@case()
def activation_that_is_a_function(at: Workshop) -> Path:
    folder = at.with_code()
    _dense(folder, "torch.utils.collect_env.main")
    return folder


def _routed(folder: Path, types: dict[str, str], subfolder: str = "") -> None:
    edit(
        folder / subfolder / "router_config.json",
        types=types,
        structure={"query": list(types), "document": list(types)},
        parameters={"default_route": "query"},
    )


@case(runs_with_flag=True)
def route_of_the_folder(at: Workshop) -> Path:
    folder = at.own_file(at.with_code())
    shutil.copytree(at.model, folder / "query_0_Transformer")
    _routed(folder, {"query_0_Transformer": TRANSFORMER, "query_1_Evil": f"{at.evil}.EvilModule"})
    modules(folder, f"{HOST}.base.modules.router.Router", (POOLING, "1_Pooling"))
    return folder


@case(runs_with_flag=True)
def route_of_another_repository(at: Workshop) -> Path:
    folder = at.own_file(at.folder())
    shutil.copytree(at.model, folder / "query_0_Transformer")
    evil = f"{at.code_repository()}--{at.evil}.EvilModule"
    _routed(folder, {"query_0_Transformer": TRANSFORMER, "query_1_Evil": evil})
    modules(folder, f"{HOST}.models.Asym", (POOLING, "1_Pooling"))
    return folder


@case(runs_with_flag=True)
def auto_map_of_a_route(at: Workshop) -> Path:
    folder = at.own_file(at.folder())
    part = shutil.copytree(at.model, folder / "query_0_Transformer")
    edit(part / "config.json", model_type=at.evil, auto_map=auto_map(f"{at.code_repository()}--{at.evil}"))
    _routed(folder, {"query_0_Transformer": TRANSFORMER})
    modules(folder, f"{HOST}.base.modules.router.Router", (POOLING, "1_Pooling"))
    return folder


@case()
def route_above_the_folder(at: Workshop) -> Path:
    folder, above = at.own_file(at.folder()), at.root / f"above{at.number}"
    at.with_code(shutil.copytree(at.model, above))
    edit(above / "config.json", model_type=at.evil, auto_map=auto_map(at.evil))
    _routed(folder, {f"../{above.name}": TRANSFORMER})
    modules(folder, f"{HOST}.base.modules.router.Router", (POOLING, "1_Pooling"))
    return folder


def _words(folder: Path, tokenizer: str) -> None:
    modules(folder, (f"{HOST}.models.WordEmbeddings", "0_"), (POOLING, "1_Pooling"))
    settings = {"tokenizer_class": tokenizer, "update_embeddings": False, "max_seq_length": 32}
    edit(folder / "0_" / "wordembedding_config.json", **settings)
    save_file({"emb_layer.weight": torch.ones(4, 16)}, folder / "0_" / "model.safetensors")
    words = {"vocab": ["[PAD]", "a", "b", "c"], "stop_words": [], "do_lower_case": True}
    edit(folder / "0_" / "whitespacetokenizer_config.json", **words)


@case(runs_with_flag=True)
def tokenizer_of_words_within_reach(at: Workshop) -> Path:
    folder = at.own_file(at.with_code())
    _words(folder, f"{at.evil}.EvilTokenizer")
    return folder


@case()
def tokenizer_of_words_that_asks(at: Workshop) -> Path:
    """sentence-transformers' wrapper loads without an answer to the question of trust, so that it is asked on standard input."""
    folder = at.own_file(at.folder())
    _words(folder, f"{HOST}.sentence_transformer.modules.tokenizer.word.TransformersTokenizerWrapper")
    shutil.copytree(at.model, folder / "0_", dirs_exist_ok=True)
    where = f"{at.code_repository()}--{at.evil}"
    edit(folder / "0_" / "config.json", model_type=at.evil, auto_map=auto_map(where))
    edit(
        folder / "0_" / "tokenizer_config.json",
        tokenizer_class="Evil",
        auto_map={"AutoTokenizer": [None, f"{where}.EvilTokenizer"]},
    )
    return folder
