"""The base of losses of pytorch-metric-learning on names that may have several concepts (extra ``ablation``).

The library compares labels for equality, which does not work for ambiguous names. Each of its losses also takes lists
of pairs or triplets. These lists are made here from shared concepts and filtered by the miners of this package.
"""

from __future__ import annotations

from abc import abstractmethod
from types import ModuleType
from typing import Any

from torch import Tensor, nn

from st_biomed.errors import InputError
from st_biomed.losses.pair_loss import PairLoss

REDUCERS = {"mean_all": "MeanReducer", "mean_nonzero": "AvgNonZeroReducer", "sum": "SumReducer"}


class MetricLearningLoss(PairLoss):
    """A :class:`PairLoss` with a formula of the library; a subclass names its settings and creates it.

    Args:
        model: The encoder; ``None`` if only :meth:`compute_loss_from_embeddings` is called.
        settings: The parameters of the loss by name, checked.
        **pairs: Arguments of :class:`PairLoss`.

    Raises:
        InputError: pytorch-metric-learning is not installed, or an argument is out of its range.
    """

    def __init__(self, model: nn.Module | None, settings: dict[str, float], **pairs: Any) -> None:
        super().__init__(model, **pairs)
        self.settings = settings
        peer = _metric_learning()
        self.formula: Any = self.make_formula(peer, getattr(peer.reducers, REDUCERS[self.reduction])())

    @abstractmethod
    def make_formula(self, peer: ModuleType, reducer: nn.Module) -> nn.Module:
        """The library's loss: ``formula(rows, indices_tuple=pairs)``."""

    def loss_of_pairs(self, unit: Tensor, similarities: Tensor, positives: Tensor, negatives: Tensor) -> Tensor:
        listed = (*positives.nonzero(as_tuple=True), *negatives.nonzero(as_tuple=True))
        return self.formula(unit, indices_tuple=listed)

    def get_config_dict(self) -> dict[str, Any]:
        return {**self.settings, **super().get_config_dict()}


def _metric_learning() -> ModuleType:
    try:
        import pytorch_metric_learning
        import pytorch_metric_learning.losses
    except ImportError as error:
        raise InputError("this loss needs pytorch-metric-learning: pip install 'st-biomed[ablation]'") from error
    return pytorch_metric_learning
