"""What a model puts before a mention and before a name: its prompts and routes, by one rule for index and benchmarks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Task = Literal["query", "document"]
"""A mention is a query and a name a document, for models that have a prompt or a route for each."""

TASKS: tuple[Task, ...] = ("query", "document")

_PROMPTS: dict[Task, tuple[str, ...]] = {"query": ("query",), "document": ("document", "passage", "corpus")}
"""Names of prompts, in the search order of ``encode_query`` and ``encode_document``."""

_TASK_SETTINGS = ("query_length", "document_length", "query_expansion")
"""Settings of a transformer that depend on the task."""


class TaskInput(NamedTuple):
    """What a model's vectors depend on besides the text.

    Attributes:
        prompt: The prefix of each text; empty for none.
        task: The task, if the model's modules read it.
    """

    prompt: str = ""
    task: Task | None = None


def task_input(model: SentenceTransformer, task: Task | None = None) -> TaskInput:
    """The prompt and the task with which a model embeds texts.

    A mention has the prompt ``query``, and a name the first of the prompts ``document``, ``passage`` and ``corpus``, as
    ``encode_query`` and ``encode_document`` have it. Empty prompts do not count: loading a model adds ``query`` and
    ``document`` without a text, with which ``encode_document`` finds no ``passage`` any more. Where no prompt of a task has
    a text, mentions and names have the default prompt, as texts without a task and ``encode``.

    Args:
        task: ``"query"`` for mentions, ``"document"`` for names, ``None`` for texts that are neither.
    """
    prompts = getattr(model, "prompts", {})
    own = {of: next(filter(None, map(prompts.get, names)), "") for of, names in _PROMPTS.items()}
    default = prompts.get(getattr(model, "default_prompt_name", None) or "")
    prompt = own[task] if task and any(own.values()) else default
    return TaskInput(prompt or "", task if task and _reads_task(model) else None)


def task_inputs(model: SentenceTransformer) -> dict[Task, TaskInput]:
    """The inputs of the tasks whose vectors differ from those of texts without a task; empty for most models."""
    plain = task_input(model)
    return {task: own for task in TASKS if (own := task_input(model, task)) != plain}


def _reads_task(model: SentenceTransformer) -> bool:
    """Whether vectors may depend on the task itself: routes, and lengths, expansions or templates of a task."""
    if not hasattr(model, "get_model_kwargs"):
        return False
    return "task" in model.get_model_kwargs() or any(
        any(getattr(module, name, None) is not None for name in _TASK_SETTINGS)
        or "task" in str(getattr(getattr(module, "processor", None), "chat_template", None) or "")
        for module in model.modules()
    )
