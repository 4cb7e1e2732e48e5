"""Whether encoders can be averaged: the same modules, the same tokenizer, tensors of the same shapes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from st_biomed.averaging.states import check_tensors
from st_biomed.errors import InputError, shown

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

_OF_NO_VECTOR = {
    "_name_or_path",
    "architectures",
    "auto_map",
    "dtype",
    "transformers_version",
    "use_cache",
    "vocab_size",  # the tokenizer's words say it
}
"""Of a transformer's configuration, with all that is called dropout."""
_LEFT_BY_A_CALL = ("padding", "truncation")  # of a tokenizer: what the last batch was cut and padded to


def check_alike(first: SentenceTransformer, other: SentenceTransformer, names: tuple[str, str]) -> None:
    """Refuse to average two encoders whose weights do not mean the same.

    Args:
        first, other: The encoders.
        names: What they are called in the message.

    Raises:
        InputError: With the first difference: another number or class of modules, another setting of one (a pooling), another
            architecture, another tokenizer (where one was extended it says so), or another shape of a tensor.
    """
    if found := _difference(first, other, names[0]):
        raise InputError(f"{names[1]}: cannot be averaged with {names[0]}: {found}")
    check_tensors([first.state_dict(), other.state_dict()], names)


def _difference(first: Any, other: Any, called: str) -> str:
    kinds, others = ([type(module).__name__ for module in model] for model in (first, other))
    if kinds != others:
        return f"its modules are {', '.join(others)}, in {called} {', '.join(kinds)}"
    for i, (module, its) in enumerate(zip(first, other)):
        where = f"module {i} ({kinds[i]})"
        if found := _setting(_settings(module), _settings(its), called):
            return f"{where} has {found}"
        if found := _setting(_configuration(module), _configuration(its), called):
            return f"{where} has {found}"
        if found := _tokenizers(getattr(module, "tokenizer", None), getattr(its, "tokenizer", None), called):
            return found
    return ""


def _setting(one: dict[str, Any], other: dict[str, Any], called: str) -> str:
    for name in [*one, *(name for name in other if name not in one)]:
        if one.get(name) != other.get(name):
            return f"{name} {shown(other.get(name))}, in {called} {shown(one.get(name))}"
    return ""


def _settings(module: Any) -> dict[str, Any]:
    """What a module saves of itself, but for its length limit, which changes no weight's meaning."""
    if not hasattr(module, "get_config_dict"):
        return {}
    return {name: value for name, value in module.get_config_dict().items() if name != "max_seq_length"}


def _configuration(module: Any) -> dict[str, Any]:
    config = getattr(getattr(module, "auto_model", None), "config", None)
    if config is None:
        return {}
    values = config.to_dict()
    return {name: values[name] for name in values if name not in _OF_NO_VECTOR and "drop" not in name}


def _tokenizers(one: Any, other: Any, called: str) -> str:
    if one is None or other is None or not hasattr(one, "get_vocab") or not hasattr(other, "get_vocab"):
        return (
            ""
            if type(one) is type(other)
            else f"its tokenizer is {type(other).__name__}, in {called} {type(one).__name__}"
        )
    mine, its = one.get_vocab(), other.get_vocab()
    if mine != its:
        for smaller, larger, where in ((mine, its, "its"), (its, mine, f"the vocabulary of {called}")):
            if smaller.items() < larger.items():
                extended = "its vocabulary" if where == "its" else where
                return f"{extended} was extended: {len(its):,} pieces, in {called} {len(mine):,}"
        place, piece = min((place, piece) for piece, place in mine.items() if its.get(piece) != place)
        here = next((piece for piece, id_ in its.items() if id_ == place), None)
        return f"another vocabulary: piece {place} is {here!r}, in {called} {piece!r}"
    if found := _setting(_backend(one), _backend(other), called):
        return f"its tokenizer has {found}"
    return ""


def _backend(tokenizer: Any) -> dict[str, Any]:
    """What a tokenizer does beside its vocabulary."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return {"class": type(tokenizer).__name__}
    written = json.loads(backend.to_str())
    written["model"] = {name: value for name, value in written["model"].items() if name != "vocab"}
    return {name: value for name, value in written.items() if name not in _LEFT_BY_A_CALL}
