"""The use of a released model, for its card: example terms in its languages, and code for transformers alone."""

from __future__ import annotations

from collections.abc import Sequence

from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Normalize, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling

EXAMPLES = {
    "de": ["Herzinfarkt", "Myokardinfarkt", "gebrochenes Handgelenk"],
    "en": ["heart attack", "myocardial infarction", "broken wrist"],
    "es": ["ataque al corazón", "infarto de miocardio", "fractura de muñeca"],
    "fr": ["crise cardiaque", "infarctus du myocarde", "fracture du poignet"],
    "it": ["attacco di cuore", "infarto del miocardio", "frattura del polso"],
    "nl": ["hartaanval", "hartinfarct", "gebroken pols"],
    "pt": ["ataque cardíaco", "infarto do miocárdio", "fratura do punho"],
}
"""Two names of one concept and one of another, by language (ISO 639-1)."""


def example_terms(languages: Sequence[str]) -> list[str]:
    """Three terms in the language of a model; for several languages, two of the first one and one of the next.

    Args:
        languages: ISO 639-1 codes; English for languages without an example.
    """
    known = sorted(
        {language for language in languages if language in EXAMPLES}, key=lambda language: (language != "en", language)
    )
    if not known:
        return EXAMPLES["en"]
    first, other = known[0], known[1 % len(known)]
    return [EXAMPLES[first][0], EXAMPLES[other][1], EXAMPLES[first][2]]


def pooling_alone(model: SentenceTransformer) -> str:
    """The pooling with which transformers alone computes the vectors, ``"mean"`` or ``"cls"``; otherwise empty.

    Also empty if the model has a default prompt or cuts its vectors, which the code on the card does not do.

    Args:
        model: The model, loaded or trained.
    """
    kinds = [type(module) for module in model]
    if kinds not in ([Transformer, Pooling], [Transformer, Pooling, Normalize]):
        return ""
    if model.truncate_dim is not None or model.prompts.get(model.default_prompt_name or ""):
        return ""
    mode = str(model[1].pooling_mode)
    return mode if mode in ("mean", "cls") else ""


def is_normalized(model: SentenceTransformer) -> bool:
    """Whether vectors have length 1."""
    return isinstance(list(model)[-1], Normalize)
