"""Settings of graph embeddings, with the source of each default."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

from st_biomed.errors import InputError
from st_biomed.kge.model_defaults import Objective, default_objective
from st_biomed.settings.checks import COUNT, SEED, SIZE, WEIGHT, Check, above, at_least, check_fields, one_of

MODEL_NAMES = ("transe", "complex", "rotate", "simple", "distmult")
LOSSES = ("self_adversarial", "one_vs_all")

MODEL_DEPENDENT = ("reciprocal", "loss", "margin", "negatives", "n3", "learning_rate")
"""Settings that are those of :mod:`st_biomed.kge.model_defaults` unless given."""

_PAIRED = ("complex", "rotate", "simple")


def _checked(default: Any, check: Check) -> Any:
    return field(default=default, metadata={"check": check})


@dataclass(frozen=True)
class KGESettings:
    """Settings of a training. The Italian paper names its four models and its graph, but no hyperparameters.

    ``None`` stands for the default of the model, see :mod:`st_biomed.kge.model_defaults`.

    Args:
        model: ``"transe"``, ``"complex"``, ``"rotate"``, ``"simple"`` or ``"distmult"``; "We have chosen ComplEx as
            reference model" (section 4).
        dimension: Real numbers per entity; 200 are 100 complex numbers.
        norm: Norm of TransE, 1 or 2.
        reciprocal: Whether heads are predicted with reciprocal relations (Lacroix et al. 2018, section 3).
        loss: ``"self_adversarial"`` (Sun et al. 2019, Eq. 5), or ``"one_vs_all"``, the cross entropy over all entities
            (Lacroix et al. 2018).
        margin: Gamma of the self-adversarial loss.
        temperature: Temperature of the self-adversarial weights (1: Sun et al. 2019, appendix); 0 gives equal weights.
        negatives: Number of entities drawn for each side of a triple, for the self-adversarial loss.
        chunk: Number of triples that share their negatives and are scored by one matrix product (batched negatives:
            Lerer et al. 2019, section 4.3); divides ``batch_size``.
        filter_negatives: Whether to ignore negatives that form a training triple, as in the published code of Sun et
            al.
        n3: Weight of the N3 regularizer (Lacroix et al. 2018), for models whose score is a product.
        batch_size: Triples per step.
        learning_rate: Learning rate of Adam.
        epochs: Maximum number of epochs.
        evaluate_every: Epochs between two evaluations on the validation triples.
        patience: Number of evaluations without improvement before training stops; 0 trains all epochs and keeps the
            last.
        validation_sample: Number of validation triples to evaluate, drawn once; 0 for all.
        seed: Seed of initial values, batches, negatives and the sample.

    Raises:
        InputError: A value out of range, or conflicting settings.
    """

    model: str = _checked("complex", one_of(*MODEL_NAMES))
    dimension: int = _checked(200, COUNT)
    norm: int = _checked(1, at_least(1, 2))
    reciprocal: bool | None = None
    loss: str | None = _checked(None, one_of(*LOSSES))
    margin: float | None = _checked(None, WEIGHT)
    temperature: float = _checked(1.0, WEIGHT)
    negatives: int | None = _checked(None, COUNT)
    chunk: int = _checked(64, COUNT)
    filter_negatives: bool = True
    n3: float | None = _checked(None, WEIGHT)
    batch_size: int = _checked(1024, COUNT)
    learning_rate: float | None = _checked(None, above(0))
    epochs: int = _checked(500, COUNT)
    evaluate_every: int = _checked(10, COUNT)
    patience: int = _checked(5, SIZE)
    validation_sample: int = _checked(2000, SIZE)
    seed: int = _checked(0, SEED)

    def __post_init__(self) -> None:
        check_fields(self)
        if self.model in _PAIRED and self.dimension % 2:
            raise InputError(f"dimension must be even, {self.model!r} has two halves; found {self.dimension}")
        if self.batch_size % self.chunk:
            raise InputError(f"chunk must divide batch_size ({self.batch_size}), found {self.chunk}")
        if self.n3 and self.is_distance:
            raise InputError(
                f"n3 is for models whose score is a product, {self.model!r} has a distance; found {self.n3}"
            )

    @property
    def is_distance(self) -> bool:
        """Whether the model's score is a negative distance."""
        return self.model in ("transe", "rotate")

    @property
    def of_model(self) -> tuple[str, ...]:
        """Names of the settings that are left to the model's defaults."""
        return tuple(name for name in MODEL_DEPENDENT if getattr(self, name) is None)

    def objective(self, n_entities: int) -> Objective:
        """The settings that depend on the model: those given, and the model's defaults for the rest."""
        given = {name: value for name in MODEL_DEPENDENT if (value := getattr(self, name)) is not None}
        return replace(default_objective(self.model, n_entities), **given)

    def complete(self, n_entities: int) -> KGESettings:
        """The same settings with the model's defaults filled in; arguments as in :meth:`objective`."""
        return replace(self, **asdict(self.objective(n_entities)))
