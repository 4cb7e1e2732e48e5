"""The frozen encoder below a few-shot encoder: a model, word vectors, or a matrix with its vocabulary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sentence_transformers import SentenceTransformer

from st_biomed.encoder import load_encoder
from st_biomed.encoder.digest import model_digest
from st_biomed.encoder.prompts import Task
from st_biomed.errors import InputError
from st_biomed.evaluators.embedders import Embed, EmbedOnce, model_embedder
from st_biomed.evaluators.vector_store import stored
from st_biomed.modules.fasttext_binary import FastTextBinary
from st_biomed.modules.random_projection import random_projection
from st_biomed.modules.word_vectors import WordCoverage, word_coverage, word_vectors_encoder
from st_biomed.release.card import BiomedCard
from st_biomed.release.foreign_parts import check_base_model

TABLES = (".bin", ".vec", ".txt", ".npy")
"""The formats of word vectors: fastText's two, word2vec's text format, a numpy matrix."""


@dataclass(frozen=True)
class InputForm:
    """The source of the vectors of names.

    Args:
        source: A folder, an id on the Hub, or a file of word vectors (:data:`TABLES`).
        pooling: Pooling of a model, as in :func:`~st_biomed.encoder.load_encoder`; empty for its own.
        max_length: Maximum number of tokens of a name; the model's own by default.
        vocabulary: The file with the entries of a matrix.
        unit: The unit of an entry: ``"word"`` or ``"name"``.
        width: Dimension of a random projection of the vectors; none by default.
        trust_remote_code: Whether a model may run its own code, see :func:`~st_biomed.encoder.load_model`.
    """

    source: str
    pooling: str = ""
    max_length: int | None = None
    vocabulary: str = ""
    unit: str = "word"
    width: int | None = None
    trust_remote_code: bool = False

    @property
    def is_table(self) -> bool:
        """Whether it is a file of word vectors."""
        return Path(self.source).suffix in TABLES and not Path(self.source).is_dir()

    def load(self, names: Sequence[str] | None = None) -> SentenceTransformer:
        """The model.

        Args:
            names: For a ``.bin``: texts whose words the model knows in addition to those of the dictionary; not used
                for other formats.

        Raises:
            InputError: No such model or file, or one that cannot be read.
        """
        if not self.is_table:
            if self.vocabulary or self.unit != "word":
                raise InputError(
                    f"vocabulary and unit apply only to a matrix in .npy, found base model {self.source!r}"
                )
            model = load_encoder(
                self.source,
                pooling=self.pooling or None,
                max_length=self.max_length,
                card=BiomedCard(),
                trust_remote_code=self.trust_remote_code,
            )
        elif not Path(self.source).is_file():
            raise InputError(f"base model {self.source!r}: no such file")
        else:
            model = word_vectors_encoder(self.source, self.vocabulary or None, names=names, unit=self.unit)
        if self.width is None:
            return model
        return with_modules(model, [*model, random_projection(dimension_of(model), self.width)])


class FrozenEncoder:
    """Vectors of texts, each text embedded once.

    A ``.bin`` of fastText computes a vector for any word, which no module of sentence-transformers does. It becomes a
    table of the words of the requested texts.

    Args:
        form: The source of the vectors.
        bf16: Whether a model computes under bfloat16 autocast.
        cache_dir: Folder in which a model's vectors are stored for later runs; none by default.

    Raises:
        InputError: As :meth:`InputForm.load`, or a model that runs foreign code, which no release contains.
    """

    def __init__(self, form: InputForm, *, bf16: bool = False, cache_dir: str = "") -> None:
        self.form = form
        self.texts: dict[str, None] = {}
        self._open = form.is_table and Path(form.source).suffix == ".bin"
        self.model = None if self._open and Path(form.source).is_file() else form.load()
        embed: Embed = self._embed_with_words_of
        if self.model is not None:
            check_base_model(self.model)
            embed = model_embedder(self.model, bf16=bf16)
            if cache_dir:
                key = {"model": model_digest(self.model), "truncate_dim": None, "bf16": bf16}
                embed = stored(embed, cache_dir, key)
        self._once = EmbedOnce(embed)

    def _embed_with_words_of(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors of texts from a table of which only their words are read."""
        return model_embedder(self.form.load(texts))(texts)

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors ``[N, D]`` of N texts."""
        self.texts.update(dict.fromkeys(texts))
        return self._once(texts)

    def of_task(self, task: Task) -> Embed:
        """How a model embeds mentions (``"query"``) or names (``"document"``)."""
        own = self._once.of_task(task)
        return self if own is self._once else own

    def coverage(self, names: Sequence[str]) -> WordCoverage | None:
        """The words of some names that word vectors know; nothing for a model, which knows every text."""
        if not self.form.is_table or not names:
            return None
        return word_coverage(self.model or self.form.load(names), names)

    def complete_model(self, names: Iterable[str]) -> SentenceTransformer:
        """The model for any text; for a ``.bin`` with its dictionary and the words of some names, and no others: a word of a
        licensed name that is not searched for would be released.

        Args:
            names: The names; not used with other inputs.
        """
        if self.model is not None:
            return self.model
        return self.form.load([*FastTextBinary(self.form.source).words, *names])


def dimension_of(model: SentenceTransformer) -> int:
    """The dimension D of a model's vectors."""
    width = model.get_embedding_dimension()
    return int(width if width is not None else len(model.encode("a", show_progress_bar=False)))


def with_modules(model: SentenceTransformer, modules: list[Any]) -> SentenceTransformer:
    """A model of other modules with the prompts of this model, on its device."""
    return SentenceTransformer(
        modules=modules,
        device=str(model.device),
        prompts={name: prompt for name, prompt in model.prompts.items() if prompt},
        default_prompt_name=model.default_prompt_name,
        similarity_fn_name="cosine",
    )
