"""Masking: by hand, and that mentions are masked as a whole."""

from __future__ import annotations

import pytest
import torch
from transformers import BertTokenizer

from st_biomed.corpus.blocks import MARKERS
from st_biomed.corpus.masking import IGNORED, MentionMaskingCollator, tokens_of, whole_mentions
from st_biomed.errors import InputError

LETTERS = "abcdefghij"
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, *(f"##{letter}" for letter in LETTERS)]
TEXT = "[Ms] abc [Me] def g"
MENTION = {"text": TEXT, "starts": [5], "ends": [8]}


@pytest.fixture
def tokenizer() -> BertTokenizer:
    tokenizer = BertTokenizer(vocab={word: i for i, word in enumerate(WORDS)})
    tokenizer.add_special_tokens({"additional_special_tokens": list(MARKERS)})
    return tokenizer


def test_the_tokens_of_a_span_are_those_that_share_a_character():
    """By hand: [CLS] ab ##cd e [SEP]; catches the off-by-one at both ends and [CLS], which stands for no character."""
    offsets = torch.tensor([[0, 0], [0, 2], [2, 4], [5, 6], [0, 0]])
    assert tokens_of(offsets, 0, 2).tolist() == [False, True, False, False, False]
    assert tokens_of(offsets, 2, 5).tolist() == [False, False, True, False, False]
    assert tokens_of(offsets, 1, 6).tolist() == [False, True, True, True, False]
    assert not tokens_of(offsets, 4, 5).any()


def test_a_chosen_token_chooses_its_mention_and_no_other():
    """By hand; catches a mention that chooses the one that overlaps it, in turn."""
    offsets = torch.tensor([[[0, 0], [0, 1], [1, 2], [2, 3], [3, 4]]])
    chosen = torch.tensor([[False, True, False, False, False]])
    rows = [{"starts": [0, 1, 3], "ends": [2, 3, 4]}]
    assert whole_mentions(chosen, offsets, rows).tolist() == [[False, True, True, False, False]]
    assert not whole_mentions(torch.zeros_like(chosen), offsets, rows).any()
    assert torch.equal(whole_mentions(chosen, offsets, [{}]), chosen)


def test_what_is_never_masked(tokenizer):
    """Catches a masked marker, special token or pad, and one put in at random."""
    collator = MentionMaskingCollator(tokenizer, probability=1.0)
    batch = collator([MENTION, {"text": "a", "starts": [], "ends": []}])
    ids = tokenizer([TEXT, "a"], padding=True, return_tensors="pt")["input_ids"]
    special = torch.isin(ids, torch.tensor(tokenizer.all_special_ids))
    assert special.sum() == 4 + 2 + 8 and torch.equal(batch["labels"] == IGNORED, special)
    assert torch.equal(batch["input_ids"][special], ids[special])
    assert torch.equal(batch["labels"][~special], ids[~special])
    many = collator([{"text": "a b c d"}] * 500)["input_ids"][:, 1:-1]
    assert set(many.unique().tolist()) <= {4, *range(5, 25)} and len(many.unique()) == 21


def test_markers_that_are_added_as_plain_tokens_are_not_masked_either(tokenizer):
    plain = BertTokenizer(vocab={word: i for i, word in enumerate(WORDS)})
    plain.add_tokens(list(MARKERS))
    batch = MentionMaskingCollator(plain, probability=1.0)([MENTION])
    assert (batch["labels"][0, [1, 5]] == IGNORED).all() and (batch["labels"][0, 2:5] != IGNORED).all()


def test_a_mention_is_masked_whole_or_not_at_all(tokenizer):
    """Catches places of characters taken for places of tokens."""
    batch = MentionMaskingCollator(tokenizer, seed=3)([MENTION] * 400)
    masked = batch["labels"] != IGNORED
    mention = masked[:, 2:5]
    assert torch.equal(mention.any(1), mention.all(1))
    assert abs(mention.float().mean() - (1 - 0.85**3)) < 0.06  # above .15: the rate that results
    assert 0.1 < masked[:, 6:10].float().mean() < 0.2


def test_shares_of_masks_random_pieces_and_kept_ones(tokenizer):
    batch = MentionMaskingCollator(tokenizer, probability=0.5)([{"text": "a b c d e f g h i j " * 6}] * 100)
    chosen = batch["labels"] != IGNORED
    now, was = batch["input_ids"][chosen], batch["labels"][chosen]
    assert abs(chosen[:, 1:-1].float().mean() - 0.5) < 0.02
    assert abs((now == 4).float().mean() - 0.8) < 0.02
    assert abs((now == was).float().mean() - (0.1 + 0.1 / 20)) < 0.02
    assert torch.equal(batch["input_ids"][~chosen], batch["input_ids"][~chosen])


def test_the_seed_and_the_texts_fix_the_batches(tokenizer):
    """Catches a resumed run that masks other tokens, and a measurement that moves the masks of training."""
    rows = [[{"text": f"{a} {b} " * 20} for b in LETTERS] for a in "abc"]
    whole, resumed, other = (MentionMaskingCollator(tokenizer, seed=seed) for seed in (1, 1, 2))
    labels = [whole(batch)["labels"] for batch in rows]
    again = resumed(rows[2])
    assert torch.equal(again["labels"], labels[2]) and torch.equal(again["input_ids"], whole(rows[2])["input_ids"])
    assert not torch.equal(other(rows[2])["labels"], labels[2])
    masked = [batch != IGNORED for batch in labels]
    assert not torch.equal(masked[0], masked[1])
    assert not torch.equal(whole(rows[0][::-1])["labels"].flip(0), labels[0])  # other batches of another epoch


def test_long_and_empty_texts(tokenizer):
    """Catches a mention behind the cut, and a text without a token."""
    collator = MentionMaskingCollator(tokenizer, probability=1.0, max_length=4)
    batch = collator([{"text": "a b c d", "starts": [0, 6], "ends": [1, 7]}, {"text": "", "starts": [], "ends": []}])
    assert batch["input_ids"].shape == (2, 4)
    assert (batch["labels"] != IGNORED).sum(1).tolist() == [2, 0]


def test_wrong_arguments_are_named(tokenizer):
    with pytest.raises(InputError, match="probability must be above 0 and at most 1, found 0"):
        MentionMaskingCollator(tokenizer, probability=0)
    tokenizer.mask_token = None
    with pytest.raises(InputError, match="needs a fast tokenizer with a mask token"):
        MentionMaskingCollator(tokenizer)
