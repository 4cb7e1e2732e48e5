"""Losses over thousands of names in the memory of one small mini-batch (GradCache)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from sentence_transformers import __version__ as host_version
from sentence_transformers.base.losses import CachedLossMixin, has_static_embedding_input
from sentence_transformers.util import get_world_size
from torch import Tensor, nn

from st_biomed.errors import InputError, check_integer, check_name
from st_biomed.losses.embed import merge_columns, take_rows, token_lengths
from st_biomed.losses.info_nce import InfoNCELoss
from st_biomed.losses.kge_margin_multi_similarity import KGEMarginMultiSimilarityLoss
from st_biomed.losses.multi_similarity import PRESETS, MultiSimilarityLoss
from st_biomed.losses.ordinal_multi_similarity import OrdinalMultiSimilarityLoss

Plain = TypeVar("Plain", bound=nn.Module)
Cached = TypeVar("Cached", bound=nn.Module)


def _processes_may_differ() -> bool:
    """Whether sentence-transformers synchronizes gradients once a step and not once a mini-batch."""
    return tuple(int(part) for part in host_version.split(".")[:2]) >= (6, 2)


class CachedLoss(CachedLossMixin, nn.Module):
    """The cached form of a loss. A subclass only names the loss.

    First, every mini-batch is embedded without a graph. Then the loss of the whole batch is differentiated with
    respect to the embeddings. Finally, every mini-batch is embedded again and passes its part of that gradient to the
    weights (GradCache: Gao et al. 2021, arXiv 2101.06983). Loss and gradients equal those of the uncached loss; the
    encoder runs forward twice. The texts of all columns are sorted by length, so mini-batches need little padding, and
    are restored to their own order for the loss.

    Args:
        model: The encoder; ``None`` if only :meth:`compute_loss_from_embeddings` is called.
        *args: Arguments of the loss, as in its uncached form.
        mini_batch_size: Number of texts embedded at once.
        mini_batch_num_tokens: Number of tokens embedded at once, in place of ``mini_batch_size``. With several
            processes it needs sentence-transformers 6.2, because their numbers of mini-batches may differ.
        show_progress_bar: Whether to show the mini-batches.
        **kwargs: Arguments of the loss, as in its uncached form.

    Raises:
        InputError: A size below one; an encoder of static embeddings, whose inputs have no rows; a loss with its own
            parameters, whose gradients would miss gradient accumulation and loss scaling. In ``forward``: mini-batches
            by tokens in several processes of an older sentence-transformers, which would wait for each other.
    """

    loss_class: ClassVar[Callable[..., nn.Module]]

    def __init__(
        self,
        model: nn.Module | None,
        *args: Any,
        mini_batch_size: int = 64,
        mini_batch_num_tokens: int | None = None,
        show_progress_bar: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        check_integer("mini_batch_size", mini_batch_size, or_none=mini_batch_num_tokens is not None)
        check_integer("mini_batch_num_tokens", mini_batch_num_tokens, or_none=True)
        if model is not None and has_static_embedding_input(model):
            raise InputError(
                f"{type(self).__name__} cannot cut the inputs of a StaticEmbedding into mini-batches: "
                "use the uncached loss"
            )
        self.model: Any = model
        self.loss: Any = type(self).loss_class(None, *args, **kwargs)
        if own := [name for name, parameter in self.loss.named_parameters() if parameter.requires_grad]:
            raise InputError(
                f"{type(self).__name__} cannot learn parameters of the loss ({', '.join(own)}): use the uncached loss"
            )
        self.mini_batch_size = mini_batch_size
        self.mini_batch_num_tokens = mini_batch_num_tokens
        self.show_progress_bar = show_progress_bar

    def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor | None) -> Tensor:
        if self.mini_batch_num_tokens is not None and get_world_size() > 1 and not _processes_may_differ():
            raise InputError(
                f"mini_batch_num_tokens in several processes needs sentence-transformers>=6.2, found {host_version}: "
                "use mini_batch_size"
            )
        columns = list(sentence_features)
        names = merge_columns(columns)
        lengths = None if names is None else token_lengths(names["attention_mask"])
        batch: Any = (labels, None)  # sentence-transformers hands over what is in the labels' place as it is
        if names is None or lengths is None:
            return self.forward_cached(columns, batch)
        # Longest first: a mini-batch too large for the device fails at once, and later ones fit where the first did.
        rows = torch.from_numpy(np.argsort(-lengths, kind="stable")).to(names["attention_mask"].device)
        ordered = take_rows(names, rows, width=int(lengths.max()))
        batch = (labels, (rows.argsort(), len(columns)))
        return self.forward_cached([ordered], batch)

    def calculate_loss(self, reps: list[list[Tensor]], labels: Any = None, *, with_backward: bool = False) -> Tensor:
        """The loss of the whole batch, with a backward pass to the embeddings on request.

        Args:
            reps: Embeddings of every mini-batch ``[b, D]``, of every column.
            labels: The labels, and how to undo the sorting: ``None``, or the place of every row and the number of columns.
            with_backward: Whether to go backward and return a loss without graph.
        """
        labels, sorting = labels
        embeddings = [torch.cat(column) for column in reps]
        if sorting is not None:
            places, n_columns = sorting
            embeddings = list(embeddings[0].index_select(0, places).chunk(n_columns))
        loss = self.compute_loss_from_embeddings(embeddings, labels)
        if with_backward:
            loss.backward()
            loss = loss.detach()
        return loss

    def compute_loss_from_embeddings(self, embeddings: list[Tensor], labels: Tensor | None) -> Tensor:
        """The uncached loss of embeddings ``[B, D]``, one for every text column."""
        return self.loss.compute_loss_from_embeddings(embeddings, labels)

    def get_config_dict(self) -> dict[str, Any]:
        """The parameters, for cards and records."""
        return {
            **self.loss.get_config_dict(),
            "mini_batch_size": self.mini_batch_size,
            "mini_batch_num_tokens": self.mini_batch_num_tokens,
        }

    @property
    def citation(self) -> str:
        """BibTeX of the caching; sentence-transformers adds that of the loss itself."""
        return """
@misc{gao2021scaling,
    title = {Scaling Deep Contrastive Learning Batch Size under Memory Limited Setup},
    author = {Luyu Gao and Yunyi Zhang and Jiawei Han and Jamie Callan},
    year = {2021},
    eprint = {2101.06983},
    archivePrefix = {arXiv},
    primaryClass = {cs.LG}
}
"""


class CachedMultiSimilarityLoss(CachedLoss):
    """:class:`MultiSimilarityLoss` over large batches: its arguments, and those of :class:`CachedLoss`."""

    loss_class = MultiSimilarityLoss

    @classmethod
    def from_preset(cls, model: nn.Module | None, preset: str, **overrides: Any) -> CachedMultiSimilarityLoss:
        """As :meth:`MultiSimilarityLoss.from_preset`; the overrides may hold arguments of :class:`CachedLoss`."""
        return cls(model, **{**PRESETS[check_name("preset", preset, PRESETS)], **overrides})


class CachedOrdinalMultiSimilarityLoss(CachedLoss):
    """:class:`OrdinalMultiSimilarityLoss` over large batches: its arguments, and those of :class:`CachedLoss`."""

    loss_class = OrdinalMultiSimilarityLoss


class CachedInfoNCELoss(CachedLoss):
    """:class:`InfoNCELoss` over large batches: its arguments, and those of :class:`CachedLoss`."""

    loss_class = InfoNCELoss


class CachedKGEMarginMultiSimilarityLoss(CachedLoss):
    """:class:`KGEMarginMultiSimilarityLoss` over large batches: its arguments, and those of :class:`CachedLoss`."""

    loss_class = KGEMarginMultiSimilarityLoss


def cached_if(
    mini_batch_size: int | None, plain: Callable[..., Plain], cached: Callable[..., Cached]
) -> Callable[..., Plain | Cached]:
    """What creates a loss: its cached form with mini-batches of a size, or its plain form without a size.

    Args:
        mini_batch_size: Number of texts embedded at once; ``None`` for all texts of a batch.
    """
    return plain if mini_batch_size is None else partial(cached, mini_batch_size=mini_batch_size)
