"""Batches for masked-language training that mask whole mentions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from st_biomed.corpus.blocks import MARKERS
from st_biomed.errors import InputError

IGNORED = -100
"""The label of a token that is not predicted."""

_MASKED, _REPLACED = 0.8, 0.1  # shares of the chosen tokens; the rest stay unchanged (Devlin et al. 2019, section 3.1)


class MentionMaskingCollator:
    """Tokenizes rows of text with mentions, and masks the tokens to predict.

    A share of the tokens is chosen; "we mask the whole entity if any of the 15% masked tokens happens to belong to a
    mention" (Amore Bondarenko et al. 2022, section 3.2), so that more than that share is masked in texts with
    mentions. 80% of the chosen tokens become the mask, 10% a random piece, 10% stay. Special tokens, markers and
    padding are never chosen.

    The draw depends only on the seed and the texts of the batch. It is therefore the same in every process and data
    loader worker, a resumed run masks the tokens of an uninterrupted one, and each measurement of the same batches
    masks the same tokens. Epochs differ because shuffling combines other texts; an identical batch gets an identical draw.

    Args:
        tokenizer: A fast tokenizer with a mask.
        probability: Share of the tokens that is chosen before mentions are completed.
        max_length: Maximum number of tokens of a text, including special tokens.
        seed: Seed of the draws.

    Raises:
        InputError: A probability outside 0 to 1, or a tokenizer without a mask or token offsets.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        *,
        probability: float = 0.15,
        max_length: int = 128,
        seed: int = 0,
    ) -> None:
        if not 0 < probability <= 1:
            raise InputError(f"probability must be above 0 and at most 1, found {probability}")
        if tokenizer.mask_token_id is None or not tokenizer.is_fast:
            raise InputError("masking mentions needs a fast tokenizer with a mask token")
        self.tokenizer = tokenizer
        self.probability = probability
        self.max_length = max_length
        self.seed = seed
        vocabulary = tokenizer.get_vocab()
        kept = {*tokenizer.all_special_ids, *(vocabulary[marker] for marker in MARKERS if marker in vocabulary)}
        self._kept = torch.tensor(sorted(kept))
        self._pieces = torch.tensor(sorted(set(vocabulary.values()) - kept))

    def __call__(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Tensor]:
        """A batch.

        Args:
            rows: With ``text``, ``starts`` and ``ends`` (of each mention, characters, half open), as
                :func:`~st_biomed.corpus.windows.mention_windows` returns them; a text without the two has no mentions.

        Returns:
            The output of the tokenizer and ``labels`` (the id of each chosen token, else ``IGNORED``), int64 ``[B,
            L]`` each.
        """
        batch, offsets = self._tokens(rows)
        return self._masked(batch, offsets, rows)

    def _tokens(self, rows: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Tensor], Tensor]:
        """The output of the tokenizer, and the characters of each token, ``[B, L, 2]``."""
        batch = self.tokenizer(
            [row["text"] for row in rows],
            truncation=True,
            max_length=self.max_length,
            padding=True,
            return_offsets_mapping=True,
            return_tensors="pt",
        )
        offsets = batch.pop("offset_mapping")
        return dict(batch), offsets

    def _masked(
        self, batch: dict[str, Tensor], offsets: Tensor, rows: Sequence[Mapping[str, Any]]
    ) -> dict[str, Tensor]:
        """The batch with tokens masked, and its labels."""
        ids = batch["input_ids"]
        generator = self._generator(rows)
        free = ~torch.isin(ids, self._kept) & batch["attention_mask"].bool()
        chosen = torch.rand(ids.shape, generator=generator) < self.probability
        chosen = whole_mentions(chosen & free, offsets, rows) & free
        labels = ids.masked_fill(~chosen, IGNORED)
        fate = torch.rand(ids.shape, generator=generator)
        random = self._pieces[torch.randint(len(self._pieces), ids.shape, generator=generator)]
        ids = torch.where(chosen & (fate < _MASKED), self.tokenizer.mask_token_id, ids)
        ids = torch.where(chosen & (fate >= _MASKED) & (fate < _MASKED + _REPLACED), random, ids)
        return {**batch, "input_ids": ids, "labels": labels}

    def _generator(self, rows: Sequence[Mapping[str, Any]]) -> torch.Generator:
        """The random sequence of a batch."""
        content = json.dumps([self.seed, [row["text"] for row in rows]])
        number = int.from_bytes(hashlib.sha256(content.encode()).digest()[:8], "little")
        return torch.Generator().manual_seed(number >> 1)


def tokens_of(offsets: Tensor, start: int, end: int) -> Tensor:
    """Whether tokens of a text contain a character of a span, boolean ``[L]``.

    Args:
        offsets: First character of each token and the one after its last, equal for tokens without characters,
            int64 ``[L, 2]``.
        start: First character of the span.
        end: Character after its last.
    """
    return (offsets[:, 0] < end) & (offsets[:, 1] > start) & (offsets[:, 1] > offsets[:, 0])


def whole_mentions(chosen: Tensor, offsets: Tensor, rows: Sequence[Mapping[str, Any]]) -> Tensor:
    """The chosen tokens, and all tokens of every mention that contains one of them.

    Args:
        chosen: Boolean ``[B, L]``.
        offsets: Characters of each token, int64 ``[B, L, 2]``.
        rows: ``starts`` and ``ends`` of the mentions of each text.

    Returns:
        Boolean ``[B, L]``.
    """
    whole = chosen.clone()
    for i, row in enumerate(rows):
        for start, end in zip(row.get("starts", ()), row.get("ends", ())):
            inside = tokens_of(offsets[i], start, end)
            if (chosen[i] & inside).any():
                whole[i] |= inside
    return whole
