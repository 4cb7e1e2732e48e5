"""Ways in which a model's folder is damaged, with the file that has to be named and what has to be said."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModel

from tests.models.malicious import edit

Damage = Callable[[Path], Any]
WEIGHTS = "model.safetensors"

SPOILED: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "cut off": lambda content: content[: len(content) // 2],
    "garbage": lambda content: b"\x00\x01\xff" + content,
    "another encoding": lambda content: content.decode().encode("utf-16"),
    "a number": lambda content: b"7",
    "null": lambda content: b"null",
    "a string": lambda content: b'"model"',
    "nested without end": lambda content: b'{"a":' * 5000,
}


def tensors_changed(change: Callable[[dict[str, torch.Tensor]], Any], name: str = WEIGHTS) -> Damage:
    def damage(folder: Path) -> None:
        tensors = load_file(folder / name)
        change(tensors)
        save_file(tensors, folder / name)

    return damage


def replaced(**values: Any) -> Callable[[dict[str, torch.Tensor]], None]:
    return lambda tensors: tensors.update({name.replace("__", "."): value for name, value in values.items()})


def bytes_changed(change: Callable[[bytes], bytes], name: str = WEIGHTS) -> Damage:
    return lambda folder: (folder / name).write_bytes(change((folder / name).read_bytes()))


def removed(*names: str) -> Damage:
    def damage(folder: Path) -> None:
        for name in names:
            shutil.rmtree(folder / name) if (folder / name).is_dir() else (folder / name).unlink()

    return damage


def pickled(content: object) -> Damage:
    def damage(folder: Path) -> None:
        (folder / WEIGHTS).unlink()
        torch.save(content, folder / "pytorch_model.bin")

    return damage


def sharded(folder: Path) -> Path:
    AutoModel.from_pretrained(folder).save_pretrained(folder, max_shard_size="10KB")
    (folder / WEIGHTS).unlink(missing_ok=True)
    return folder / f"{WEIGHTS}.index.json"


def _shard_lost(folder: Path) -> None:
    sharded(folder)
    sorted(folder.glob("model-*.safetensors"))[0].unlink()


def _shard_cut(folder: Path) -> None:
    sharded(folder)
    bytes_changed(lambda content: content[:200], sorted(folder.glob("model-*.safetensors"))[0].name)(folder)


def _shard_lists_more(folder: Path) -> None:
    index = sharded(folder)
    listed = json.loads(index.read_text())["weight_map"]
    edit(index, weight_map={**listed, "more.weight": next(iter(listed.values()))})


def _words(folder: Path, count: int) -> None:
    found = json.loads((folder / "tokenizer.json").read_text())
    found["model"]["vocab"] |= {f"word{i}": 111 + i for i in range(count)}
    (folder / "tokenizer.json").write_text(json.dumps(found))


QUERY = "encoder.layer.1.attention.self.query.weight"
NORM = "embeddings.LayerNorm.weight"
NAN = float("nan")
DAMAGES: dict[str, tuple[Damage, str, str]] = {
    "no weights": (removed(WEIGHTS), WEIGHTS, "is missing; it has the weights"),
    "weights are empty": (bytes_changed(lambda content: b""), WEIGHTS, "damaged or truncated"),
    "weights are cut in the header": (bytes_changed(lambda content: content[:100]), WEIGHTS, "damaged or truncated"),
    "weights are cut": (bytes_changed(lambda content: content[:-1]), WEIGHTS, "damaged or truncated"),
    "weights are half": (bytes_changed(lambda content: content[:20000]), WEIGHTS, "damaged or truncated"),
    "weights are garbage": (bytes_changed(lambda content: b"\x93" * 9999), WEIGHTS, "damaged or truncated"),
    "weights are a page of HTML": (bytes_changed(lambda content: b"<html>" * 99), WEIGHTS, "damaged or truncated"),
    "weights are a pointer of Git LFS": (
        bytes_changed(lambda content: b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"),
        WEIGHTS,
        "damaged or truncated",
    ),
    "weights of TensorFlow alone": (
        lambda folder: (folder / WEIGHTS).rename(folder / "tf_model.h5"),
        WEIGHTS,
        "the folder has tf_model.h5",
    ),
    "weights of a distributed checkpoint": (
        lambda folder: (folder / WEIGHTS).rename(folder / "shard-00001-model-00001-of-00001.safetensors"),
        "shard-00001-model-00001-of-00001.safetensors",
        "save the model in one piece",
    ),
    "weights of Dense are gone": (removed(f"2_Dense/{WEIGHTS}"), "2_Dense", "Dense cannot be loaded from its files"),
    "weights of Dense are cut": (
        bytes_changed(lambda content: content[:-1], f"2_Dense/{WEIGHTS}"),
        f"2_Dense/{WEIGHTS}",
        "damaged or truncated",
    ),
    "weights of Dense lack one": (
        tensors_changed(lambda tensors: tensors.pop("linear.bias"), f"2_Dense/{WEIGHTS}"),
        "2_Dense",
        'Missing key.*"linear.bias"',
    ),
    "a pickle is cut": (
        lambda folder: (pickled({})(folder), bytes_changed(lambda content: content[:99], "pytorch_model.bin")(folder)),
        "pytorch_model.bin",
        "objects other than tensors",
    ),
    "a pickle is empty": (
        lambda folder: (pickled({})(folder), (folder / "pytorch_model.bin").write_bytes(b"")),
        "pytorch_model.bin",
        "objects other than tensors",
    ),
    "a pickle of a list": (pickled([1, 2]), "pytorch_model.bin", "objects other than tensors"),
    "a pickle of nothing": (pickled({}), "", "the weights lack embeddings"),
    "a shard is gone": (_shard_lost, "model-00001-of-0000", "is missing, but model.safetensors.index.json lists it"),
    "a shard is cut": (_shard_cut, "model-00001-of-0000", "damaged or truncated"),
    "a shard lacks a tensor": (_shard_lists_more, f"{WEIGHTS}.index.json", "lists more.weight, which none"),
    "a tensor is gone": (tensors_changed(lambda tensors: tensors.pop(QUERY)), "", f"the weights lack {QUERY}, which"),
    "a norm is gone": (tensors_changed(lambda tensors: tensors.pop(NORM)), "", f"lack {NORM}"),
    "a layer is gone": (
        tensors_changed(lambda tensors: [tensors.pop(name) for name in list(tensors) if ".layer.1." in name]),
        "",
        "and 13 more, which transformers would initialize at random",
    ),
    "a tensor of another shape": (
        tensors_changed(replaced(embeddings__word_embeddings__weight=torch.ones(50, 16))),
        "",
        r"tensor embeddings.word_embeddings.weight is \[50, 16\], not \[111, 16\]",
    ),
    "more layers than weights": (
        lambda folder: edit(folder / "config.json", num_hidden_layers=3),
        "",
        "the weights lack encoder.layer.2",
    ),
    "another width": (lambda folder: edit(folder / "config.json", hidden_size=8), "", r"tensor .* is \[.*16"),
    "NaN": (
        tensors_changed(replaced(embeddings__LayerNorm__bias=torch.full((16,), NAN))),
        WEIGHTS,
        "LayerNorm.bias contains NaN",
    ),
    "one NaN": (
        tensors_changed(lambda tensors: tensors["embeddings.word_embeddings.weight"][77, 3:4].fill_(NAN)),
        WEIGHTS,
        "word_embeddings.weight contains NaN or infinity",
    ),
    "infinity": (
        tensors_changed(lambda tensors: tensors[QUERY][0, :1].fill_(float("inf"))),
        WEIGHTS,
        "query.weight contains NaN or infinity",
    ),
    "NaN in Dense": (
        tensors_changed(replaced(linear__bias=torch.full((8,), NAN)), f"2_Dense/{WEIGHTS}"),
        f"2_Dense/{WEIGHTS}",
        "linear.bias contains NaN",
    ),
    "zeros alone": (
        tensors_changed(lambda tensors: [tensor.zero_() for tensor in tensors.values()], f"2_Dense/{WEIGHTS}"),
        "",
        "the vectors of the model are all zero, for example for 'heart attack'",
    ),
    "a list for a prompt's name": (
        lambda folder: edit(folder / "config_sentence_transformers.json", default_prompt_name=[]),
        "config_sentence_transformers.json",
        r"default_prompt_name \[\] is not among its prompts",
    ),
    "a number for a list of configurations": (
        lambda folder: edit(folder / "config.json", configuration_files=5),
        "config.json",
        "must be a list, found 5",
    ),
    "a limit below 0": (
        lambda folder: edit(folder / "sentence_bert_config.json", max_seq_length=-5),
        "sentence_bert_config.json",
        "max_seq_length must be an integer of at least 1, found -5",
    ),
    "no tokenizer": (removed("tokenizer.json", "tokenizer_config.json"), "", "has no vocabulary"),
    "no vocabulary": (removed("tokenizer.json"), "", "has no vocabulary"),
    "an empty vocabulary": (
        lambda folder: (removed("tokenizer.json")(folder), (folder / "vocab.txt").write_text("")),
        "",
        "the tokenizer has only special tokens; its vocabulary is missing",
    ),
    "the vocabulary of another model": (
        lambda folder: _words(folder, 50),
        "",
        "has 161 tokens, but the encoder has vectors for 111",
    ),
    "no configuration": (removed("config.json"), "config.json", "is missing"),
    "no type": (
        lambda folder: edit(folder / "config.json", model_type=None),
        "config.json",
        "model_type None is unknown",
    ),
    "an unknown type": (
        lambda folder: edit(folder / "config.json", model_type="bret"),
        "config.json",
        "model_type 'bret' is unknown to the installed version of transformers",
    ),
    "a setting of another kind": (
        lambda folder: edit(folder / "config.json", num_attention_heads="many"),
        "",
        "Transformer cannot be loaded from its files",
    ),
    "no modules": (
        removed("modules.json"),
        "modules.json",
        "but config_sentence_transformers.json needs it",
    ),
    "a module without type": (
        lambda folder: (folder / "modules.json").write_text('[{"idx": 0, "name": "0", "path": ""}]'),
        "modules.json",
        "a module needs a name, a path and a type",
    ),
    "two modules of one name": (
        lambda folder: (folder / "modules.json").write_text(
            json.dumps([{**module, "name": "0"} for module in json.loads((folder / "modules.json").read_text())])
        ),
        "modules.json",
        "names two modules",
    ),
    "no folder of a module": (removed("1_Pooling"), "1_Pooling", "is missing; it is the folder of module '1'"),
    "no settings of a module": (
        removed("1_Pooling/config.json"),
        "1_Pooling/config.json",
        "the settings of a Pooling",
    ),
    "an unknown pooling": (
        lambda folder: edit(folder / "1_Pooling/config.json", pooling_mode="median"),
        "1_Pooling",
        "Pooling cannot be loaded from its files",
    ),
    "modules of other widths": (
        lambda folder: (
            edit(folder / "2_Dense/config.json", in_features=12),
            save_file(
                {"linear.weight": torch.ones(8, 12), "linear.bias": torch.ones(8)}, folder / "2_Dense" / WEIGHTS
            ),
        ),
        "",
        "loads, but fails on 'heart attack'",
    ),
    "prompts that are none": (
        lambda folder: edit(folder / "config_sentence_transformers.json", prompts={"query": 3}),
        "config_sentence_transformers.json",
        "prompts must map names to texts",
    ),
    "a default prompt that is none": (
        lambda folder: edit(folder / "config_sentence_transformers.json", default_prompt_name="term"),
        "config_sentence_transformers.json",
        "default_prompt_name 'term' is not among its prompts",
    ),
    "a similarity that is none": (
        lambda folder: edit(folder / "config_sentence_transformers.json", similarity_fn_name="near"),
        "config_sentence_transformers.json",
        "similarity_fn_name 'near' is unknown",
    ),
    "a width that is none": (
        lambda folder: edit(folder / "config_sentence_transformers.json", truncate_dim=0),
        "config_sentence_transformers.json",
        "truncate_dim must be an integer of at least 1",
    ),
    "a sparse encoder": (
        lambda folder: edit(folder / "config_sentence_transformers.json", model_type="SparseEncoder"),
        "",
        "is a SparseEncoder",
    ),
    "a requirement that is not met": (
        lambda folder: edit(folder / "config_sentence_transformers.json", requirements={"transformers": ">=99"}),
        "",
        "transformers>=99",
    ),
}
