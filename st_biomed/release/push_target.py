"""Where a recipe publishes its release, read from the trainer's arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transformers.trainer_utils import HubStrategy

from st_biomed.errors import InputError
from st_biomed.release.hub_plan import PushOptions

if TYPE_CHECKING:
    from transformers import TrainingArguments


def push_target(training: TrainingArguments) -> PushOptions | None:
    """Where the release is published in the end, as ``--push_to_hub owner/name`` says; the trainer itself uploads nothing.

    ``push_to_hub=True`` with ``hub_model_id``, as the library has it, says the same.

    Args:
        training: The trainer's arguments; ``push_to_hub`` is taken out of them.

    Raises:
        InputError: No repository is named, or checkpoints are to be uploaded, which hold training terms.
    """
    said: Any = training.push_to_hub
    training.push_to_hub = False
    switch = str(said).lower()
    if switch in ("", "false"):
        if training.hub_model_id:
            raise InputError(f"hub_model_id: nothing is published without --push_to_hub {training.hub_model_id}")
        return None
    name = training.hub_model_id if switch == "true" else str(said)
    if not name or "/" not in name:
        raise InputError(
            f"push_to_hub takes the repository, owner/name, found {said!r}: the trainer's own would upload the training "
            "folder with its terms, here it is the release folder that is published"
        )
    strategy = HubStrategy(training.hub_strategy)
    if strategy in (HubStrategy.CHECKPOINT, HubStrategy.ALL_CHECKPOINTS):
        raise InputError(f"hub_strategy {strategy.value}: checkpoints hold terms and are never published")
    return PushOptions(name, public=training.hub_private_repo is False, branch=training.hub_revision or "")
