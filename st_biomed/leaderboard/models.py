"""Models to measure: an encoder, a known baseline with its pooling, or a matrix of vectors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

import numpy as np

from st_biomed.encoder import load_encoder
from st_biomed.encoder.digest import model_digest, table_digest
from st_biomed.encoder.prompts import task_inputs
from st_biomed.errors import InputError, did_you_mean
from st_biomed.evaluators.base import EmbeddingEvaluator
from st_biomed.evaluators.embedders import Embed, EmbedOnce, map_embedder, table_embedder
from st_biomed.evaluators.entity_linking.evaluator import EntityLinkingEvaluator
from st_biomed.evaluators.entity_linking.folds import FoldsEvaluator
from st_biomed.leaderboard.dense_and_sparse import dense_and_sparse, read_sparse_weight
from st_biomed.metrics.units_in_files import UNREADABLE
from st_biomed.settings.bundled import bundled
from st_biomed.settings.devices import check_device
from st_biomed.settings.fill_dataclass import fill_dataclass
from st_biomed.settings.yaml_files import read_yaml

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

BASELINES = "evaluation/known_models.yaml"


@dataclass(frozen=True)
class ModelSpec:
    """A model with its name in tables.

    Attributes:
        model: A folder, an id on the Hub, or a ``.npz`` file with ``texts`` ``[N]`` and ``vectors`` ``[N, D]``.
        pooling: Pooling as in :func:`~st_biomed.encoder.load_encoder`; empty for the model's own.
        max_length: Maximum number of tokens of a text in the papers' scripts, which cut longer names; 0 for the model's own.
        sparse: Whether it is a BioSyn model, which has a sparse part in its linking score.
        source: Paper, and source of its pooling.
    """

    name: str
    model: str
    pooling: str = ""
    max_length: int = 0
    sparse: bool = False
    source: str = ""

    @classmethod
    def named(cls, argument: str, baselines: str | Path = BASELINES) -> ModelSpec:
        """A model from an argument: a baseline, a folder, a ``.npz`` file, a Hub id, or ``name=`` and one of these.

        Raises:
            InputError: A name without a model, or an invalid file of baselines.
        """
        with_name = "=" in argument and not Path(argument).exists()  # a folder's name may have "=" in it
        name, equals, model = argument.partition("=") if with_name else ("", "", argument)
        if equals and not (name and model):
            raise InputError(f"models must have the form NAME=MODEL or MODEL, found {argument!r}")
        known = read_known_models(baselines)
        if model in known and not Path(model).exists():
            return replace(known[model], name=name or model)
        path = Path(model) if Path(model).name not in ("", "..") else Path(model).resolve()
        return cls(name or path.name.removesuffix(".npz"), model)


def read_known_models(path: str | Path = BASELINES) -> dict[str, ModelSpec]:
    """The models that the papers compare with, by name.

    Raises:
        InputError: No such file, or an invalid entry.
    """
    path = Path(path) if Path(path).exists() else bundled(path) or Path(path)
    return {
        name: fill_dataclass(ModelSpec, entry, f"{path}: {name}", name=name) for name, entry in read_yaml(path).items()
    }


def named_models(arguments: Iterable[str]) -> list[ModelSpec]:
    """Several models with distinct names.

    Raises:
        InputError: As in :meth:`ModelSpec.named`, no models, or a repeated name.
    """
    models = [ModelSpec.named(argument) for argument in arguments]
    if not models:
        raise InputError(f"no model: expected a folder, an id on the Hub, or one of {', '.join(read_known_models())}")
    for i, model in enumerate(models):
        if model.name in {other.name for other in models[:i]}:
            raise InputError(f"two models have the name {model.name!r}: write NAME=MODEL")
    return models


class LoadedModel:
    """A model in memory.

    Args:
        measured: The source of the model, and its name.
        device: The device; ``None`` for the best available.
        trust_remote_code: Whether the model may run its own code, see :func:`~st_biomed.encoder.load_model`.
        as_published: Whether texts are cut as in the papers' scripts; by default, at the model's own limit alone.

    Attributes:
        digest: Digest of its computation.
        description: Its source and settings: ``model``, ``pooling``, ``max_length``, ``dimension``, and
            ``trust_remote_code`` if it was allowed; also ``sparse_weight`` of a BioSyn model. A table of vectors has only ``model`` and
            ``dimension``.

    Raises:
        InputError: No such model or device, or a ``.npz`` file without texts and vectors.
    """

    def __init__(
        self,
        measured: ModelSpec,
        device: str | None = None,
        *,
        trust_remote_code: bool = False,
        as_published: bool = False,
    ) -> None:
        check_device(device)
        self.measured = measured
        self._embed: dict[tuple[object, ...], Embed] = {}
        if measured.model.endswith(".npz"):
            texts, matrix = read_table_of_vectors(Path(measured.model))
            self.table, self.encoder = table_embedder(texts, matrix), None
            self.digest = table_digest(texts, matrix)
            self.description: dict[str, Any] = {"model": measured.model, "dimension": matrix.shape[1]}
        else:
            max_length = measured.max_length if as_published else 0
            self.encoder = _loaded(measured, max_length, device, trust_remote_code)
            self.digest = self._encoder_digest = model_digest(self.encoder)
            self.description = {
                "model": measured.model,
                "pooling": _pooling(self.encoder),
                "max_length": self.encoder.max_seq_length,
                "dimension": self.encoder.get_embedding_dimension(),
            }
            if self.encoder.trust_remote_code:
                self.description["trust_remote_code"] = True
        if measured.sparse:
            self._sparse_weight = read_sparse_weight(measured.model)
            self.digest = f"{self.digest}+{self._sparse_weight}"
            self.description["sparse_weight"] = self._sparse_weight

    @property
    def device(self) -> str:
        """Its device; nothing for a table of vectors."""
        return "" if self.encoder is None else str(self.encoder.device)

    def settings_of(self, evaluator: EmbeddingEvaluator) -> dict[str, Any]:
        """Settings of a measurement that the model adds: in linking, ``prompts`` of mentions and names if it tells them apart."""
        if self.encoder is None or not evaluator.uses_task_prompts or not (inputs := task_inputs(self.encoder)):
            return {}
        return {"prompts": {task: own.prompt for task, own in inputs.items()}}

    def measure(self, evaluator: EmbeddingEvaluator) -> dict[str, float]:
        """The evaluator's metrics of this model.

        Raises:
            InputError: BioSyn's score with a similarity other than the inner product, or an error of the evaluator.
        """
        if self.encoder is None:
            return evaluator.measure(self.table)
        options = evaluator.embedding_options
        if options not in self._embed:
            self._embed[options] = evaluator.embedder(self.encoder, self._encoder_digest)
        embed = self._embed[options]
        if self.measured.sparse and isinstance(evaluator, EntityLinkingEvaluator):
            embed = self._with_sparse(embed, evaluator)
        if self.measured.sparse and isinstance(evaluator, FoldsEvaluator):
            dense = EmbedOnce(embed)
            return evaluator.measure_folds(lambda fold: self._with_sparse(dense, fold))
        return evaluator.measure_shared(embed, self.encoder)

    def _with_sparse(self, dense: Embed, evaluator: EntityLinkingEvaluator) -> Embed:
        if evaluator.scoring.similarity != "dot":
            raise InputError(
                f"{self.measured.name}: its score is an inner product, found similarity "
                f"{evaluator.scoring.similarity!r}: measure it --as-published"
            )
        return map_embedder(dense, lambda of: dense_and_sparse(of, evaluator.names.texts, self._sparse_weight))


def _loaded(measured: ModelSpec, max_length: int, device: str | None, trust_remote_code: bool) -> SentenceTransformer:
    """The encoder; if there is none, one line suggests the intended name."""
    try:
        return load_encoder(
            measured.model,
            pooling=measured.pooling or None,
            max_length=max_length or None,
            device=device,
            trust_remote_code=trust_remote_code,
            exported=True,
        )
    except InputError as error:
        path = Path(measured.model)
        if path.exists():
            raise
        below_a_folder = len(path.parts) == 2 and path.parent.is_dir()
        if measured.model.startswith((".", "~", "/")) or len(path.parts) > 2 or below_a_folder:
            raise InputError(f"{measured.model}: no such folder") from error
        if len(path.parts) == 1:
            near = did_you_mean(measured.model, read_known_models())
            raise InputError(
                f"{measured.model!r} is not a name of {BASELINES}{near or ', no folder here'} "
                f"(`st-biomed evaluate --list` shows the names); {error}"
            ) from error
        raise


def _pooling(encoder: SentenceTransformer) -> str:
    """The pooling of an encoder; nothing for a module of another kind."""
    modes: list[Any] = [module.pooling_mode for module in encoder if hasattr(module, "pooling_mode")]
    return " ".join(mode if isinstance(mode, str) else "+".join(mode) for mode in modes)


def read_table_of_vectors(path: Path) -> tuple[list[str], np.ndarray]:
    """Texts ``[N]`` and vectors ``[N, D]`` of a ``.npz`` file.

    Raises:
        InputError: No such file, one without the two arrays, or arrays that are not texts and finite vectors.
    """
    try:
        with ZipFile(path):  # numpy would also accept an array without a name
            pass
        with np.load(path, allow_pickle=False) as arrays:
            texts, vectors = arrays["texts"], arrays["vectors"]
    except KeyError as error:
        raise InputError(f"{path}: needs the arrays 'texts' and 'vectors': {error.args[0]}") from error
    except UNREADABLE as error:
        raise InputError(f"{path}: cannot be read as a table of vectors ({error})") from error
    if texts.ndim != 1 or texts.dtype.kind != "U":
        raise InputError(f"{path}: texts must be strings [N], found {texts.dtype} {list(texts.shape)}")
    if vectors.ndim != 2 or vectors.shape[0] != len(texts) or vectors.dtype.kind not in "fiu":
        raise InputError(
            f"{path}: vectors must be numbers [{len(texts)}, D], found {vectors.dtype} {list(vectors.shape)}"
        )
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        raise InputError(f"{path}: the vector of {str(texts[int(finite.argmin())])!r} has NaN or infinity")
    return texts.tolist(), vectors
