"""The repository to which a recipe publishes its release, from the trainer's arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transformers.trainer_utils import HubStrategy

from st_biomed.errors import InputError
from st_biomed.release.hub_plan import PushOptions

if TYPE_CHECKING:
    from transformers import TrainingArguments


def push_target(training: TrainingArguments) -> PushOptions | None:
    """The repository of the release from ``--push_to_hub owner/name``; the trainer itself uploads nothing.

    ``push_to_hub=True`` with ``hub_model_id``, the form of the library, is equivalent.

    Args:
        training: The trainer's arguments; ``push_to_hub`` is reset in them.

    Raises:
        InputError: No repository is given, or checkpoints, which contain training terms, would be uploaded.
    """
    value: Any = training.push_to_hub
    training.push_to_hub = False
    switch = str(value).lower()
    if switch in ("", "false"):
        if training.hub_model_id:
            raise InputError(f"hub_model_id: nothing is published without --push_to_hub {training.hub_model_id}")
        return None
    name = training.hub_model_id if switch == "true" else str(value)
    if not name or "/" not in name:
        raise InputError(
            f"push_to_hub must be the repository, owner/name, found {value!r}: the trainer's switch would upload the "
            "training folder with its terms; here the release folder is published"
        )
    strategy = HubStrategy(training.hub_strategy)
    if strategy in (HubStrategy.CHECKPOINT, HubStrategy.ALL_CHECKPOINTS):
        raise InputError(f"hub_strategy {strategy.value}: checkpoints contain terms and are never published")
    return PushOptions(name, public=training.hub_private_repo is False, branch=training.hub_revision or "")
