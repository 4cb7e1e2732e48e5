"""Averages a trained encoder with its base (WiSE-FT), once, after training."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sentence_transformers import SentenceTransformer
from torch import Tensor

from st_biomed.averaging.average_encoders import buffers_of
from st_biomed.averaging.choice import candidate_shares, choose_weight
from st_biomed.averaging.states import average_states
from st_biomed.averaging.weights import check_weights
from st_biomed.encoder.digest import model_digest
from st_biomed.errors import InputError
from st_biomed.evaluators.base import EmbeddingEvaluator
from st_biomed.evaluators.embedders import model_embedder
from st_biomed.evaluators.suite import EvaluatorSuite
from st_biomed.processes import from_first_process
from st_biomed.release.portable import plain
from st_biomed.release.run_data import AveragedModelData, AveragingData, AveragingPointData


class AverageWithBase:
    """Keeps the weights before training, on the CPU, and averages the trained ones with them.

    Args:
        model: The encoder before training, with all trained modules and without adapters that are merged after
            training.
        name: Its name in the record.
        weight: Share of the trained weights; ``None`` to choose it on ``dev``.
        dev: The benchmarks that are measured at each share, for the choice or, with a given share, for the record.
        tolerance: The allowed loss, see :func:`~st_biomed.averaging.choice.choose_weight`.
        steps: Number of equal steps between the base and the trained weights that are measured.
        keep_trained: Whether the trained model stays beside the checkpoints after the release.

    Raises:
        InputError: A share outside of 0 to 1, or neither a share nor benchmarks to choose it.
    """

    def __init__(
        self,
        model: SentenceTransformer,
        name: str,
        weight: float | None,
        dev: Sequence[EmbeddingEvaluator] = (),
        *,
        tolerance: float = 0.0,
        steps: int = 10,
        keep_trained: bool = False,
    ) -> None:
        if weight is None and not dev:
            raise InputError("weight: without a share, benchmarks with a dev split are needed to choose it")
        if weight is not None:
            check_weights([1 - weight, weight], 2)
        self.name, self.weight, self.tolerance, self.keep_trained = plain(name), weight, tolerance, keep_trained
        self.candidates = sorted({*candidate_shares(steps), *([] if weight is None else [weight])})
        self.dev = EvaluatorSuite(dev)
        self.digest = model_digest(model)
        self.base = _copied(model)

    def apply(self, model: SentenceTransformer, *, verbose: bool = False) -> AveragingData:
        """Give a trained model the average of its weights and those of the base.

        Args:
            model: The trained model, which differs only in its weights; changed in place.
            verbose: Whether to print a line for each measured share.

        Returns:
            The averaged models, and the figures of the shares.

        Raises:
            InputError: The model has other tensors than the base, or a buffer that training has changed.
        """
        trained, digest = _copied(model), model_digest(model)
        fixed = buffers_of(model)

        def set_to(weight: float) -> None:
            names = ("the base model", "the trained model")
            model.load_state_dict(average_states([self.base, trained], [1 - weight, weight], fixed=fixed, names=names))

        shares, curve = dict[float, dict[str, float]](), list[AveragingPointData]()
        for tried in self.candidates if self.dev.tests else ():
            set_to(tried)
            figures = self._measured(model, f"{tried:g} of the trained model" if verbose else "")
            shares[tried] = {
                test.primary_metric: figures[test.primary_metric] / test.largest for test in self.dev.tests
            }
            finite = {name: value if math.isfinite(value) else None for name, value in figures.items()}
            curve.append(AveragingPointData(weight=tried, figures=finite))
        weight = from_first_process(choose_weight(shares, self.tolerance)) if self.weight is None else self.weight
        set_to(weight)
        return AveragingData(
            models=[
                AveragedModelData(name=self.name, recipe="", digest=self.digest, weight=1 - weight),
                AveragedModelData(name="trained", recipe="", digest=digest, weight=weight),
            ],
            metrics=[test.primary_metric for test in self.dev.tests],
            tolerance=self.tolerance,
            curve=curve,
            chosen=self.weight is None,
        )

    def _measured(self, model: SentenceTransformer, label: str) -> dict[str, float]:
        """The primary figures; vectors of temporary models are not stored on disk."""
        first = self.dev.tests[0]
        embed = model_embedder(model, batch_size=first.batch_size, truncate_dim=first.truncate_dim, bf16=first.bf16)
        figures = self.dev.measure_vectors(embed, label)
        return {test.primary_metric: figures[test.name][test.primary_metric] for test in self.dev.tests}


def _copied(model: SentenceTransformer) -> dict[str, Tensor]:
    return {name: tensor.detach().to("cpu", copy=True) for name, tensor in model.state_dict().items()}
