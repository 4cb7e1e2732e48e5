"""How a graph embedding is trained, and where each default comes from."""

from __future__ import annotations

from dataclasses import dataclass

from st_biomed.errors import InputError, unknown_name

MODEL_NAMES = ("transe", "complex", "rotate", "simple", "distmult")
LOSSES = ("self_adversarial", "one_vs_all")

MARGIN = 9.0
"""Of distances: the published setting of RotatE and TransE on FB15k-237 (Sun et al. 2019, appendix)."""


@dataclass(frozen=True)
class KGESettings:
    """Settings of a training. The Italian paper names its four models and its graph, and no hyper-parameter.

    Args:
        model: ``"transe"``, ``"complex"``, ``"rotate"``, ``"simple"`` or ``"distmult"``; "We have chosen ComplEx as
            reference model" (section 4).
        dimension: Reals of an entity: 200 are 100 complex numbers.
        norm: Of TransE, 1 or 2.
        reciprocal: Whether heads are asked for through reciprocal relations (Lacroix et al. 2018).
        loss: ``"self_adversarial"`` (Sun et al. 2019, Eq. 5), or ``"one_vs_all"``, the cross entropy over all entities
            (Lacroix et al. 2018).
        margin: Gamma of the self-adversarial loss; by default 9 for distances and 0 for products, whose scores may have
            either sign.
        temperature: Of the self-adversarial weights (1: Sun et al. 2019, appendix); 0 weighs all alike.
        negatives: Entities drawn for each side of a triple.
        chunk: Triples that share their negatives, so that a matrix product scores them (batched negatives: Lerer et al.
            2019, section 4.3); divides ``batch_size``.
        filter_negatives: Whether negatives that make a training triple do not count, as in the published code of Sun et al.
        n3: Weight of the N3 regulariser (Lacroix et al. 2018) of models whose score is a product.
        batch_size: Triples of a step.
        learning_rate: Of Adam.
        epochs: At most.
        evaluate_every: Epochs between two measurements on the validation triples.
        patience: Measurements without a better one after which training stops; 0 trains all epochs and keeps the last.
        validation_sample: Validation triples that are measured, drawn once; 0 for all.
        seed: Of initial values, batches, negatives and the sample.

    Raises:
        InputError: A value out of its range, or settings that exclude each other.
    """

    model: str = "complex"
    dimension: int = 200
    norm: int = 1
    reciprocal: bool = False
    loss: str = "self_adversarial"
    margin: float | None = None
    temperature: float = 1.0
    negatives: int = 64
    chunk: int = 64
    filter_negatives: bool = True
    n3: float = 0.0
    batch_size: int = 1024
    learning_rate: float = 1e-3
    epochs: int = 500
    evaluate_every: int = 10
    patience: int = 5
    validation_sample: int = 2000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.model not in MODEL_NAMES:
            raise unknown_name("model", self.model, MODEL_NAMES)
        if self.loss not in LOSSES:
            raise unknown_name("loss", self.loss, LOSSES)
        for name in ("dimension", "negatives", "chunk", "batch_size", "epochs", "evaluate_every"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, found {getattr(self, name)}")
        for name in ("temperature", "n3", "patience", "validation_sample", "seed"):
            if not getattr(self, name) >= 0:
                raise InputError(f"{name} must be at least 0, found {getattr(self, name)}")
        if not 0 < self.learning_rate < float("inf"):
            raise InputError(f"learning_rate must be above 0, found {self.learning_rate}")
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
    def margin_used(self) -> float:
        """The margin, or its default for the model."""
        return self.margin if self.margin is not None else MARGIN if self.is_distance else 0.0
