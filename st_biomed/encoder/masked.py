"""A masked language model and its tokenizer, loaded by the rules of the loader."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from st_biomed.encoder.foreign_code import ForeignCode, code_of_others
from st_biomed.encoder.json_files import AGAIN, read_list
from st_biomed.encoder.listed_modules import MODULES
from st_biomed.encoder.sources import find_model
from st_biomed.encoder.transformer_files import check_inside
from st_biomed.errors import InputError

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


def load_masked_model(
    name: str | Path, *, trust_remote_code: bool = False, new_head: bool = False
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """A checkpoint as a masked language model.

    Args:
        name: A local folder or a Hub id; for a sentence-transformers model, the checkpoint of its first module.
        trust_remote_code: Whether a checkpoint may run its own code.
        new_head: Whether a checkpoint without a head for masked tokens, such as a sentence encoder, gets a random one.

    Raises:
        ForeignCode: It needs foreign code that is not allowed.
        InputError: The checkpoint is not available, damaged, or has no trained head and ``new_head`` is false.
    """
    source = find_model(name)
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    from st_biomed.encoder.damage import reported_damage
    from st_biomed.encoder.transformer_files import check_transformer
    from st_biomed.encoder.weights import check_files, first_few

    folder, inner = source.folder, _first_checkpoint(source.folder)
    options: dict[str, Any]
    where, options = str(folder / inner), {"local_files_only": True, "trust_remote_code": False}
    try:
        if trust_remote_code and (named := code_of_others(source.folder)):
            raise ForeignCode(*named)
        check_transformer(folder, folder / inner)
        check_files(folder / inner)
    except ForeignCode:
        if not trust_remote_code:
            raise
        options = {"trust_remote_code": True}
        if source.repository:
            where, options = source.repository, options | ({"subfolder": inner} if inner else {})
    with reported_damage(folder / inner):
        model: Any
        model, report = AutoModelForMaskedLM.from_pretrained(where, output_loading_info=True, **options)
        tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(where, **options)
    encoder = f"{model.base_model_prefix}."
    if lost := sorted(name for name in report["missing_keys"] if name.startswith(encoder)):
        raise InputError(
            f"{folder / inner}: the weights lack {first_few(lost)}, which transformers would initialize at random"
        )
    if not new_head and (untrained := sorted(report["missing_keys"])):
        raise InputError(
            f"{name}: a checkpoint with a trained head for masked tokens is needed, its weights lack {first_few(untrained)}; "
            "new_head=True starts from a random head"
        )
    return model, tokenizer


def _first_checkpoint(folder: Path) -> str:
    """The folder of the first module below that of its model; empty for a checkpoint in the folder itself."""
    if (folder / "config.json").is_file() or not (folder / MODULES).is_file():
        return ""
    path = read_list(folder / MODULES)[0].get("path")
    if not isinstance(path, str):
        raise InputError(f"{folder / MODULES}: a module needs a path, found {path!r}: {AGAIN}")
    check_inside(folder / MODULES, path)
    return path
