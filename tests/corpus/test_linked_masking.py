"""Where mentions are in tokens, and which entities they are."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from transformers import BertTokenizer

from st_biomed.corpus.linked_masking import LinkedMentionCollator
from st_biomed.corpus.masking import IGNORED, MentionMaskingCollator
from st_biomed.errors import InputError

LETTERS = "abcdefghij"
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, *(f"##{letter}" for letter in LETTERS)]
ENTITIES = np.array([3, -100, 0, 7])
ROWS = [
    {"text": "ab c def", "starts": [0, 3, 5], "ends": [2, 8, 8], "texts": [0, 1, 3]},
    {"text": "g", "starts": [0], "ends": [1], "texts": [2]},
    {"text": "h", "starts": [], "ends": [], "texts": []},
]


@pytest.fixture
def tokenizer() -> BertTokenizer:
    return BertTokenizer(vocab={word: i for i, word in enumerate(WORDS)})


def test_spans_and_entities_by_hand(tokenizer: BertTokenizer) -> None:
    """[CLS] a ##b c d ##e ##f [SEP]; catches the off-by-one of [CLS], padding that is a span, and labels out of step."""
    batch = LinkedMentionCollator(tokenizer, ENTITIES)(ROWS)
    pad = [-1, -1]
    assert batch["mention_spans"].tolist() == [[[1, 3], [3, 7], [4, 7]], [[1, 2], pad, pad], [pad, pad, pad]]
    assert batch["entity_labels"].tolist() == [[3, IGNORED, 7], [0, IGNORED, IGNORED], [IGNORED] * 3]
    assert (batch["mention_spans"].dtype, batch["entity_labels"].dtype) == (torch.int64, torch.int64)


def test_a_mention_that_is_cut_off_goes_and_one_that_is_cut_is_shorter(tokenizer: BertTokenizer) -> None:
    batch = LinkedMentionCollator(tokenizer, ENTITIES, max_length=5)(ROWS[:1])
    assert batch["mention_spans"].tolist() == [[[1, 3], [3, 4]]]
    assert batch["entity_labels"].tolist() == [[3, IGNORED]]


def test_tokens_are_masked_as_without_the_links(tokenizer: BertTokenizer) -> None:
    """Catches a second draw, or spans that are made of what is masked."""
    plain = MentionMaskingCollator(tokenizer, seed=3)(ROWS)
    linked = LinkedMentionCollator(tokenizer, ENTITIES, seed=3)(ROWS)
    assert all(torch.equal(linked[name], value) for name, value in plain.items())


def test_a_batch_without_any_mention_has_one_column_of_padding(tokenizer: BertTokenizer) -> None:
    assert LinkedMentionCollator(tokenizer, ENTITIES)(ROWS[2:])["mention_spans"].tolist() == [[[-1, -1]]]


def test_what_does_not_fit_is_refused(tokenizer: BertTokenizer) -> None:
    with pytest.raises(InputError, match=r"entity_of_text must be integers \[T\], found float64 \[4\]"):
        LinkedMentionCollator(tokenizer, ENTITIES.astype(float))
    with pytest.raises(
        InputError, match="text ids must be from 0 to 3, found 4: were the mentions found with another"
    ):
        LinkedMentionCollator(tokenizer, ENTITIES)([{**ROWS[1], "texts": [4]}])
