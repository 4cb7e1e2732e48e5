"""The one loader of models, which every path that reads an encoder uses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from st_biomed.encoder.exported import Export
from st_biomed.encoder.foreign_code import ForeignCode, code_of_others
from st_biomed.encoder.sources import Source, find_model
from st_biomed.encoder.text_limit import check_limit
from st_biomed.errors import InputError, unknown_name

if TYPE_CHECKING:
    import torch
    from sentence_transformers import SentenceTransformer, SentenceTransformerModelCardData

POOLINGS = ("cls", "mean", "max", "lasttoken")


def load_encoder(
    name: str | Path,
    *,
    pooling: str | None = None,
    max_length: int | None = None,
    device: str | torch.device | None = None,
    card: SentenceTransformerModelCardData | None = None,
    trust_remote_code: bool = False,
    exported: bool = False,
) -> SentenceTransformer:
    """A model to train or to measure: like :func:`load_model`, with a choice of pooling and length.

    Args:
        name: A local folder or a Hub id. A plain transformers checkpoint becomes an encoder with ``pooling``.
        pooling: ``"cls"``, ``"mean"``, ``"max"`` or ``"lasttoken"`` (for decoders). ``None`` keeps the model's own
            pooling; a plain checkpoint gets the mean, a decoder's checkpoint the last token.
        max_length: Maximum number of tokens of a text, including special tokens; ``None`` keeps the model's own.
        device: The device; ``None`` for the best available.
        card: Card data, as in :func:`load_model`.
        trust_remote_code, exported: As in :func:`load_model`.

    Raises:
        InputError: As in :func:`load_model`; unknown pooling or a model without a pooling layer, a length that leaves
            no room for a token or exceeds the encoder's positions, or one for an encoder that reads whole texts.
    """
    if pooling is not None and pooling not in POOLINGS:
        raise unknown_name("pooling", pooling, POOLINGS)
    if max_length is not None:
        check_limit(max_length)
    model = load_model(name, device=device, card=card, trust_remote_code=trust_remote_code, exported=exported)
    from sentence_transformers.sentence_transformer.modules import Pooling

    layers = [(i, module) for i, module in enumerate(model) if isinstance(module, Pooling) and pooling is not None]
    if pooling is not None and not layers:
        found = ", ".join(type(module).__name__ for module in model)
        raise InputError(f"pooling {pooling!r}: {name} has no Pooling, its modules are {found}; keep its own")
    for i, module in layers:
        model[i] = chosen = Pooling(module.embedding_dimension, pooling, include_prompt=module.include_prompt)
        old, new = module.get_embedding_dimension(), chosen.get_embedding_dimension()
        if old != new and i + 1 < len(model):
            raise InputError(
                f"pooling {pooling!r}: {name} pools {module.pooling_mode} to {old} dimensions, for which its "
                f"{type(model[i + 1]).__name__} was trained, and this makes {new}; keep its own"
            )
    if max_length is not None:
        check_limit(max_length, model)
        model.max_seq_length = max_length
    return model


def load_model(
    name: str | Path,
    *,
    device: str | torch.device | None = None,
    revision: str | None = None,
    token: str | None = None,
    truncate_dim: int | None = None,
    card: SentenceTransformerModelCardData | None = None,
    trust_remote_code: bool = False,
    exported: bool = False,
) -> SentenceTransformer:
    """A model from a folder, the Hub or the packaged weights.

    The modules are created here from installed classes of sentence-transformers and of this package. Files of code in
    a model are never read, and a model that names other classes is rejected before any of it is loaded. The loaded
    model is tested: damaged or missing weights and invalid numbers are reported in one line.

    Args:
        name: A local folder, or ``owner/name`` on the Hub.
        device: The device; by default the best available.
        revision: Branch, tag, commit or ``refs/pr/N`` on the Hub.
        token: Access token of the Hub; by default the stored one.
        truncate_dim: Dimensions of a vector to keep.
        card: Card data; by default :class:`~st_biomed.encoder.private_card.PrivateCardData`, because sentence-transformers'
            card writes training strings into the README of every checkpoint.
        trust_remote_code: Whether to leave a model that requires foreign code or another repository to
            sentence-transformers, which runs the code. All other models, including releases of this package, are
            loaded as usual.
        exported: Whether the model may be an exported encoder (:mod:`st_biomed.encoder.exported`), which has no
            weights and computes on the CPU: for linking and evaluation.

    Raises:
        ForeignCode: The model needs foreign code that is not allowed.
        InputError: The model is not available, or damaged; an exported encoder where none is allowed, without its
            runtime, or on another device than the CPU.
    """
    source = find_model(name, revision=revision, token=token)
    if (export := Export.read(source.folder)) is not None:
        if not exported:
            raise InputError(
                f"{source.folder}: is an exported encoder, which serves index, link and evaluate; expected the model "
                f"that was exported, {export.source}"
            )
        if device is not None and str(device).partition(":")[0] != "cpu":
            raise InputError(f"device '{device}': an exported encoder computes on the CPU; expected cpu")
        device = "cpu"
    from st_biomed.encoder.assemble import assemble, place
    from st_biomed.encoder.listed_modules import listed_modules
    from st_biomed.encoder.private_card import PrivateCardData

    card = card or PrivateCardData()
    foreign = trust_remote_code and code_of_others(source.folder) is not None
    if not foreign:
        try:
            listed = listed_modules(source.folder)
            model = assemble(source, listed, truncate_dim=truncate_dim, card=card, export=export)
        except ForeignCode:
            if not trust_remote_code:
                raise
            foreign = True
    if foreign:
        model = _as_sentence_transformers_does(source, revision, token, truncate_dim, card)
    return place(model, source, device)


def _as_sentence_transformers_does(
    source: Source,
    revision: str | None,
    token: str | None,
    truncate_dim: int | None,
    card: SentenceTransformerModelCardData | None,
) -> SentenceTransformer:
    """The model with its own code, which is run: the user has allowed it."""
    from sentence_transformers import SentenceTransformer

    options: dict[str, Any] = (
        {"revision": revision, "token": token} if source.repository else {"local_files_only": True}
    )
    try:
        return SentenceTransformer(
            source.repository or str(source.folder),
            device="cpu",
            truncate_dim=truncate_dim,
            model_card_data=card,
            trust_remote_code=True,
            **options,
        )
    except (OSError, ValueError, ImportError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InputError(f"model {source.name!r}: cannot be loaded with the code that it names: {reason}") from error
