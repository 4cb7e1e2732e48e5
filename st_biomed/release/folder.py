"""The release folder: a model that ``SentenceTransformer(path)`` loads, its card, its license and its run record."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Module

from st_biomed.encoder import OWN_CODE
from st_biomed.errors import InputError
from st_biomed.files import check_writable, replacing
from st_biomed.release.base_model import base_model_folder
from st_biomed.release.card import BiomedCard
from st_biomed.release.own_code import code_of, file_of, vectors_elsewhere
from st_biomed.release.own_text import said_of_sources
from st_biomed.release.privacy import check_release
from st_biomed.release.run_data import RunData, check_run, write_run
from st_biomed.terminology import Terminology

LICENSE_NOTE = """The files of this folder are licensed under: {license}
An identifier of the SPDX list (https://spdx.org/licenses/) stands for the license text published there; "other" means
terms of the publisher, given where this folder is published. The licenses of the training data are named in README.md.
"""
PROBES = ["heart attack", "broken wrist"]
"""The terms for testing a saved model; they are also in the card's template."""


def save_release(
    model: SentenceTransformer,
    folder: str | Path,
    *,
    run: RunData,
    terminologies: Sequence[Terminology],
    base_model: str | Path | None = None,
) -> Path:
    """Save a model for publication.

    Nothing is left at ``folder`` unless every check passes: only modules of sentence-transformers or this package, the
    rule of :mod:`st_biomed.release.privacy`, and a test that the saved model loads and encodes like the one in memory.
    A model with bottleneck adapters, mention pooling or injected knowledge contains the necessary files of code,
    states this on its card, and is loaded in a fresh process without this package. Checkpoints and
    ``training_args.bin`` stay in the trainer's own folder.

    Args:
        folder: A new or empty folder.
        run: The run record; the card is made from it and it is saved as ``run.json``.
        terminologies: All terminologies of training or measurement.
        base_model: Folder or cached Hub id of the model that training started from, to compare tokenizers; without it
            the tokenizer may contain only single words.

    Returns:
        The folder.

    Raises:
        InputError: A foreign module, an incomplete record, a folder in use, a violation of the privacy rule, or a
            model that does not load back.
    """
    folder = Path(folder)
    check_free(folder)
    with replacing(folder) as draft:
        fill_release(model, draft, run=run, terminologies=terminologies, base_model=base_model)
    return folder


def fill_release(
    model: SentenceTransformer,
    draft: Path,
    *,
    run: RunData,
    terminologies: Sequence[Terminology],
    base_model: str | Path | None = None,
) -> None:
    """Write and check the contents of :func:`save_release`.

    Args:
        draft: An empty folder, which is moved to its place only if there is no error.
        run, terminologies, base_model: As in :func:`save_release`.

    Raises:
        InputError: As in :func:`save_release`.
    """
    check_run(run)
    check_built_in(model)
    tokenizer_peer = None if base_model is None else base_model_folder(base_model)
    card = BiomedCard.from_run(run)
    model.save_pretrained(str(draft), create_model_card=False)
    (draft / "README.md").write_text(card.render(model), "utf-8")
    (draft / "LICENSE").write_text(LICENSE_NOTE.format(license=run["license"]), "utf-8")
    write_run(run, draft / "run.json")
    own_text = f"{card.rendered_empty(model)}\n\n{LICENSE_NOTE}\n\n{said_of_sources(run)}"
    check_release(draft, terminologies, tokenizer_peer, own_text=own_text)
    if code_of(model):
        _check_equal(model, torch.from_numpy(vectors_elsewhere(draft, PROBES)))
    else:
        _check_loads_back(model, draft)


def check_free(folder: str | Path) -> None:
    """Reject an output folder that is in use.

    Raises:
        InputError: A file has its name, the folder is not writable, or it is not empty.
    """
    folder = check_writable(Path(folder))
    if folder.is_dir() and (held := next(folder.iterdir(), None)) is not None:
        raise InputError(f"{folder}: is not empty (it contains {held.name}); choose a new folder or empty this one")


def check_built_in(model: SentenceTransformer) -> None:
    """Reject foreign modules that would need ``trust_remote_code=True``, and modules of this package for training.

    Raises:
        InputError: With the name and class of each.
    """
    own = dict(model.named_children())
    nested = {name: module for name, module in model.named_modules() if name and isinstance(module, Module)}
    foreign = [
        f"module {name!r} is {type(module).__module__}.{type(module).__qualname__}"
        for name, module in {**own, **nested}.items()
        if not type(module).__module__.startswith("sentence_transformers.") and file_of(module) not in OWN_CODE
    ]
    if foreign:
        raise InputError(
            f"{'; '.join(foreign)}: only modules of sentence_transformers load without trust_remote_code, "
            "fold it into Dense, Normalize or WordWeights first"
        )


_MOST_ROUNDING = 0.05
"""Allowed change of a vector by half precision, as a share of its length; for bf16 and a small BERT it is about .01."""


def _check_loads_back(model: SentenceTransformer, folder: Path) -> None:
    try:
        loaded = SentenceTransformer(
            str(folder), device=str(model.device), local_files_only=True, trust_remote_code=False
        )
        vectors = loaded.encode(PROBES, convert_to_tensor=True, show_progress_bar=False)
    except (OSError, ValueError, ImportError, RuntimeError, TypeError, KeyError) as error:
        reason = str(error).strip().splitlines()[:1] or [type(error).__name__]
        raise InputError(f"the saved model does not load with plain SentenceTransformer: {reason[0]}") from error
    _check_equal(model, vectors)


def _check_equal(model: SentenceTransformer, vectors: torch.Tensor) -> None:
    expected = model.encode(PROBES, convert_to_tensor=True, show_progress_bar=False).to(vectors.device)
    # A model that was trained in half precision still encodes in it; what saving loses (an activation's argument, say)
    # moves a vector much farther than that rounds it.
    moved = (vectors.float() - expected.float()).norm(dim=1) / expected.float().norm(dim=1).clamp_min(1e-12)
    if not (moved < _MOST_ROUNDING).all():
        raise InputError(
            f"the saved model encodes differently from the one in memory (vectors move by {moved.max():.2g} of their "
            f"length, rounding by less than {_MOST_ROUNDING}): a module does not save its whole state"
        )
