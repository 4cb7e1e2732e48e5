"""Batches for knowledge injection: masked texts, the positions of their mentions, and the entity of each mention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from st_biomed.corpus.masking import IGNORED, MentionMaskingCollator, tokens_of
from st_biomed.errors import InputError


class LinkedMentionCollator(MentionMaskingCollator):
    """:class:`MentionMaskingCollator` with the positions of mentions in tokens and their entities.

    Args:
        tokenizer: A fast tokenizer with a mask.
        entity_of_text: Row of the entity of each text id, -100 for text ids with no or several entities,
            int64 ``[T]``: :meth:`st_biomed.kge.KGETable.rows_of_texts`.
        **options: Options of :class:`MentionMaskingCollator`.

    Raises:
        InputError: An error of that class, or not a vector of integers.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, entity_of_text: np.ndarray, **options: Any) -> None:
        super().__init__(tokenizer, **options)
        if entity_of_text.ndim != 1 or entity_of_text.dtype.kind != "i":
            raise InputError(
                f"entity_of_text must be integers [T], found {entity_of_text.dtype} {list(entity_of_text.shape)}"
            )
        self.entity_of_text = entity_of_text

    def __call__(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Tensor]:
        """A batch.

        Args:
            rows: With ``text``, ``starts``, ``ends`` and ``texts`` (text id of each mention), as
                :func:`~st_biomed.corpus.windows.mention_windows` returns them.

        Returns:
            The result of :class:`MentionMaskingCollator` with ``mention_spans`` (half open, in tokens, padded with -1,
            int64 ``[B, M, 2]``) and ``entity_labels`` (int64 ``[B, M]``, ``IGNORED`` if there is none). A mention that
            was cut off is left out.

        Raises:
            InputError: A text id beyond ``entity_of_text``.
        """
        batch, offsets = self._tokens(rows)
        spans: list[list[tuple[int, int]]] = []
        entities: list[list[int]] = []
        for i, row in enumerate(rows):
            places = [tokens_of(offsets[i], a, b).nonzero()[:, 0].tolist() for a, b in zip(row["starts"], row["ends"])]
            spans.append([(place[0], place[-1] + 1) for place in places if place])
            entities.append([self._entity(text) for text, place in zip(row["texts"], places) if place])
        most = max(1, *map(len, spans))
        masked = self._masked(batch, offsets, rows)
        masked["mention_spans"] = torch.tensor(
            [row_spans + [(-1, -1)] * (most - len(row_spans)) for row_spans in spans]
        )
        masked["entity_labels"] = torch.tensor(
            [row_entities + [IGNORED] * (most - len(row_entities)) for row_entities in entities]
        )
        return masked

    def _entity(self, text: int) -> int:
        if not 0 <= text < len(self.entity_of_text):
            raise InputError(
                f"text ids must be from 0 to {len(self.entity_of_text) - 1}, found {text}: were the mentions found "
                "with another terminology?"
            )
        return int(self.entity_of_text[text])
