"""BERGAMOT over thousands of texts in the memory of one small mini-batch; the graph is outside the cache."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from st_biomed.errors import check_integer
from st_biomed.losses.bergamot import FULL_WIDTH, BergamotLoss
from st_biomed.losses.whole_vectors import refuse_parts
from st_biomed.modules.graph_encoder import GraphEncoder


class CachedBergamotLoss(BergamotLoss):
    """:class:`BergamotLoss` with texts embedded in mini-batches, forward and again backward (:mod:`~st_biomed.losses.gradient_cache`).

    Values and gradients equal the uncached ones, including those of the graph encoder, which is part of the ordinary
    backward pass.

    Args:
        model: See :class:`BergamotLoss`.
        graph_encoder: See :class:`BergamotLoss`.
        mini_batch_size: Texts that are embedded at once.
        **arguments: See :class:`BergamotLoss`.

    Raises:
        InputError: A size below one, or an argument that :class:`BergamotLoss` rejects.
    """

    uses_gradient_cache = True  # sentence-transformers' wrappers ask for it

    def __init__(
        self,
        model: nn.Module | None,
        graph_encoder: GraphEncoder | None,
        *,
        mini_batch_size: int = 64,
        **arguments: Any,
    ) -> None:
        super().__init__(model, graph_encoder, **arguments)
        check_integer("mini_batch_size", mini_batch_size)
        self.mini_batch_size = mini_batch_size

    def embed(self, texts: dict[str, Tensor]) -> Tensor:
        from st_biomed.losses.gradient_cache import embed_in_mini_batches

        return embed_in_mini_batches(self.model, texts, self.mini_batch_size)

    @property
    def calculate_loss(self) -> Any:
        """What MatryoshkaLoss and its like ask a cached loss for.

        Raises:
            InputError: Always: the graph encoder has the width of whole vectors.
        """
        refuse_parts(self, FULL_WIDTH)

    def get_config_dict(self) -> dict[str, Any]:
        return {**super().get_config_dict(), "mini_batch_size": self.mini_batch_size}
