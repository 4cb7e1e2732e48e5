"""Ways to turn texts into vectors: a model, or an existing matrix."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from st_biomed.encoder.prompts import TASKS, Task, TaskInput, task_inputs
from st_biomed.errors import InputError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Embed: TypeAlias = Callable[[Sequence[str]], np.ndarray]
"""Maps N texts to their vectors ``[N, D]``."""


def model_embedder(
    model: SentenceTransformer,
    *,
    batch_size: int = 128,
    show_progress_bar: bool = False,
    truncate_dim: int | None = None,
    bf16: bool = False,
) -> Embed:
    """Embed with a model.

    If its prompts or routes for mentions and names differ from those of other texts
    (:func:`~st_biomed.encoder.prompts.task_input`), the result is an :class:`EmbedByTask`.

    Args:
        model: Any sentence-transformers model; its ``encode`` sorts the texts by length.
        batch_size: Texts per forward pass.
        show_progress_bar: Whether ``encode`` shows its progress bar.
        truncate_dim: Keep only the first dimensions.
        bf16: Autocast to bfloat16, which is faster on processors that support it; the vectors are returned as float32.

    Raises:
        InputError: The model cannot encode.
    """
    if not hasattr(model, "encode"):
        raise InputError(
            f"expected a model with encode(), found {type(model).__name__}; measure(table_embedder(texts, matrix)) takes a matrix"
        )

    def embedder(own: TaskInput | None = None) -> Embed:
        options: dict[str, Any] = {} if own is None else own._asdict()

        def embed(texts: Sequence[str]) -> np.ndarray:
            import torch
            from sentence_transformers.util import get_world_size

            if bf16 and get_world_size() > 1:  # other processes of a training would embed a share without autocast
                options["device"] = str(model.device)
            with torch.autocast(model.device.type, dtype=torch.bfloat16, enabled=bf16):
                return model.encode(
                    list(texts),
                    batch_size=batch_size,
                    show_progress_bar=show_progress_bar,
                    truncate_dim=truncate_dim,
                    convert_to_numpy=True,
                    **options,
                )

        return embed

    if not (inputs := task_inputs(model)):
        return embedder()
    return EmbedByTask(embedder(), {task: embedder(own) for task, own in inputs.items()}, inputs)


class EmbedByTask:
    """An :data:`Embed` with other vectors for mentions, for names or for both.

    Args:
        plain: Embeds texts that are neither.
        tasks: Embeds mentions (``"query"``) and names (``"document"``); a task that is not there is embedded plainly.
        inputs: The prompt and task of each; needed to store the vectors.
    """

    def __init__(
        self, plain: Embed, tasks: Mapping[Task, Embed], inputs: Mapping[Task, TaskInput] | None = None
    ) -> None:
        self.plain, self.tasks, self.inputs = plain, dict(tasks), dict(inputs or {})

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors ``[N, D]`` of N texts without a task."""
        return self.plain(texts)

    def of_task(self, task: Task) -> Embed:
        """How the texts of a task are embedded."""
        return self.tasks.get(task, self)


def embed_of_task(embed: Embed, task: Task) -> Embed:
    """How mentions (``"query"``) or names (``"document"``) are embedded; most ways to embed have one for all texts."""
    of_task = getattr(embed, "of_task", None)
    return embed if of_task is None else of_task(task)


def map_embedder(embed: Embed, change: Callable[[Embed], Embed]) -> Embed:
    """Apply a change to each embedder: that of texts without a task, and those of mentions and of names."""
    plain = change(embed)
    others = {task: own for task in TASKS if (own := embed_of_task(embed, task)) is not embed}
    return EmbedByTask(plain, {task: change(own) for task, own in others.items()}) if others else plain


def table_embedder(texts: Sequence[str], matrix: np.ndarray) -> Embed:
    """Look up vectors in a matrix, e.g. graph embeddings or earlier output of a model.

    Args:
        texts: The text of each row, ``T`` distinct strings (names, or codes if the evaluator uses codes).
        matrix: ``[T, D]``; may be memory-mapped.

    Raises:
        InputError: Lengths differ or a text is repeated; when called, texts without a row.
    """
    if np.ndim(matrix) != 2 or len(matrix) != len(texts) or (len(texts) and not matrix.shape[1]):
        raise InputError(f"matrix: expected one row for each of {len(texts):,} texts, found shape {np.shape(matrix)}")
    row = {text: i for i, text in enumerate(texts)}
    if len(row) < len(texts):
        twice = next(text for i, text in enumerate(texts) if row[text] != i)
        raise InputError(f"texts: {len(texts) - len(row):,} rows repeat a text, e.g. {twice!r}")

    def embed(wanted: Sequence[str]) -> np.ndarray:
        missing = [text for text in wanted if text not in row]
        if missing:
            shown = ", ".join(map(repr, missing[:5])) + (", ..." if len(missing) > 5 else "")
            raise InputError(f"matrix: {len(missing):,} of {len(wanted):,} texts have no row: {shown}")
        return np.asarray(matrix[[row[text] for text in wanted]])

    return embed


class EmbedOnce:
    """Embed each distinct text once, for any number of requests and calls.

    Args:
        embed: Maps N texts to ``[N, D]``.
        keep: Maximum number of texts whose vectors are kept; further texts are embedded again in another call.
    """

    def __init__(self, embed: Embed, keep: float = float("inf")) -> None:
        self._embed, self._keep = embed, keep
        self._vectors: dict[str, np.ndarray] = {}
        self._of_task: dict[Task, EmbedOnce] = {}

    def of_task(self, task: Task) -> EmbedOnce:
        """The same for mentions (``"query"``) or names (``"document"``), which most models embed like all texts."""
        own = embed_of_task(self._embed, task)
        if own is self._embed:
            return self
        return self._of_task.setdefault(task, EmbedOnce(own, self._keep))

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors ``[N, D]`` of N texts, repeats allowed.

        Raises:
            InputError: No text, or the vectors are not an ``[N, D]`` matrix of numbers.
        """
        if not texts:
            raise InputError("texts: expected at least one text to embed, found none")
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        matrix = self._checked(new) if new else np.empty((0, 0))
        known = self._vectors
        if len(known) + len(new) <= self._keep:
            known.update(zip(new, matrix))
        else:
            known = {**known, **dict(zip(new, matrix))}
        if len(new) == len(texts):
            return matrix
        return np.stack([known[text] for text in texts])

    def pass_through(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors ``[N, D]`` of N distinct texts that are not needed again and are not kept.

        Texts from earlier calls are looked up. Use it for millions of texts, a chunk at a time.

        Raises:
            InputError: As in a call.
        """
        is_known = np.array([text in self._vectors for text in texts], dtype=bool)
        if not is_known.any():
            return self._checked(texts)
        known = np.stack([self._vectors[text] for text in texts if text in self._vectors])
        vectors = np.empty((len(texts), known.shape[1]), dtype=known.dtype)
        vectors[is_known] = known
        if not is_known.all():
            vectors[~is_known] = self._checked([text for text in texts if text not in self._vectors])
        return vectors

    def _checked(self, texts: Sequence[str]) -> np.ndarray:
        matrix = np.asarray(self._embed(texts))
        if matrix.ndim != 2 or len(matrix) != len(texts):
            raise InputError(f"embeddings: expected [{len(texts)}, D], found shape {matrix.shape}")
        check_finite(texts, matrix)
        return matrix


def check_finite(texts: Sequence[str], vectors: np.ndarray) -> None:
    """Refuse vectors ``[N, D]`` of N texts that are not finite.

    Raises:
        InputError: With the number of such vectors and the first text of one.
    """
    broken = ~np.isfinite(vectors.sum(axis=1, dtype=np.float64))
    if broken.any():
        raise InputError(
            f"embeddings: {int(broken.sum()):,} of {len(texts):,} vectors hold NaN or infinity, "
            f"e.g. that of {texts[int(broken.argmax())]!r}"
        )
