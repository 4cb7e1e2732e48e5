"""Whether encoders can be averaged: the same modules, the same tokenizer, tensors of the same shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sentence_transformers.base.modules import Router
from sentence_transformers.sentence_transformer.modules.tokenizer import WordTokenizer

from st_biomed.averaging.states import check_tensors
from st_biomed.encoder.digest import tokenizer_settings
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
    "vocab_size",  # the tokenizer has it
}
"""Ignored settings of a transformer's configuration, together with all settings of dropout."""


def check_alike(first: SentenceTransformer, other: SentenceTransformer, names: tuple[str, str]) -> None:
    """Reject two encoders whose weights do not correspond.

    Args:
        first, other: The encoders.
        names: Their names in the message.

    Raises:
        InputError: With the first difference: number or class of modules, a setting of one (pooling), architecture,
            tokenizer (with a note if one was extended), or the shape of a tensor.
    """
    if difference := _difference(first, other, names[0]):
        raise InputError(f"{names[1]}: cannot be averaged with {names[0]}: {difference}")
    check_tensors([first.state_dict(), other.state_dict()], names)


def _difference(first: Any, other: Any, called: str) -> str:
    kinds, others = ([type(module).__name__ for module in model] for model in (first, other))
    if kinds != others:
        return f"its modules are {', '.join(others)}, in {called} {', '.join(kinds)}"
    for i, (module, its) in enumerate(zip(first, other)):
        where = f"module {i} ({kinds[i]})"
        if any(hasattr(getattr(one, "auto_model", None), "peft_config") for one in (module, its)):
            return (
                f"{where} has adapters of peft, whose average is not that of the weights with them; merge them first"
            )
        if difference := _setting(_settings(module), _settings(its), called):
            return f"{where} has {difference}"
        if difference := _setting(_configuration(module), _configuration(its), called):
            return f"{where} has {difference}"
        if difference := _tokenizers(getattr(module, "tokenizer", None), getattr(its, "tokenizer", None), called):
            return difference
        for route, parts in module.sub_modules.items() if isinstance(module, Router) else ():
            if difference := _difference(parts, its.sub_modules[route], called):
                return f"in route {route!r} {difference}"
    return ""


def _setting(first: dict[str, Any], second: dict[str, Any], called: str) -> str:
    for name in [*first, *(name for name in second if name not in first)]:
        if first.get(name) != second.get(name):
            return f"{name} {shown(second.get(name))}, in {called} {shown(first.get(name))}"
    return ""


def _settings(module: Any) -> dict[str, Any]:
    """The saved settings of a module, except its length limit, which does not change the meaning of weights."""
    if not hasattr(module, "get_config_dict"):
        return {}
    return {name: value for name, value in module.get_config_dict().items() if name != "max_seq_length"}


def _configuration(module: Any) -> dict[str, Any]:
    config = getattr(getattr(module, "auto_model", None), "config", None)
    if config is None:
        return {}
    values = config.to_dict()
    return {name: values[name] for name in values if name not in _OF_NO_VECTOR and "drop" not in name}


def _tokenizers(first: Any, second: Any, called: str) -> str:
    if type(first) is not type(second):
        return f"its tokenizer is {type(second).__name__}, in {called} {type(first).__name__}"
    if first is None:
        return ""
    mine, its = ({} if isinstance(of, WordTokenizer) else of.get_vocab() for of in (first, second))
    if mine != its:
        for smaller, larger, where in ((mine, its, "its"), (its, mine, f"the vocabulary of {called}")):
            if smaller.items() < larger.items():
                extended = "its vocabulary" if where == "its" else where
                return f"{extended} was extended: {len(its):,} pieces, in {called} {len(mine):,}"
        place, piece = min((place, piece) for piece, place in mine.items() if its.get(piece) != place)
        here = next((piece for piece, id_ in its.items() if id_ == place), None)
        return f"another vocabulary: piece {place} is {here!r}, in {called} {piece!r}"
    if difference := _setting(tokenizer_settings(first), tokenizer_settings(second), called):
        return f"its tokenizer has {difference}"
    return ""
