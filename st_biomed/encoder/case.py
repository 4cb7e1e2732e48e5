"""Whether an encoder reads upper and lower case alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

_TEXTS = ("Acute DISEASE", "acute disease")


def ignores_case(model: SentenceTransformer) -> bool:
    """Whether the tokenizer gives a text and its lower-cased form the same tokens."""
    upper, lower = (model.preprocess([text]).get("input_ids") for text in _TEXTS)
    return upper is not None and lower is not None and upper.tolist() == lower.tolist()
