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

    The rule is that of ``encode_query`` (the prompt ``query``) and ``encode_document`` (the first of the prompts
    ``document``, ``passage`` and ``corpus``). A model without the named prompts, and texts without a task, have the
    default prompt, as in ``encode``.

    Args:
        task: ``"query"`` for mentions, ``"document"`` for names, ``None`` for texts that are neither.
    """
    prompts = getattr(model, "prompts", {})
    named = [name for name in _PROMPTS[task] if name in prompts] if task else []
    prompt = prompts.get(named[0] if named else getattr(model, "default_prompt_name", None) or "")
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
