"""The arguments for the training sets of a few-shot encoder."""

from __future__ import annotations

from dataclasses import dataclass, field

from st_biomed.few_shot.training_sets import TrainingSet, open_training_sets
from st_biomed.settings.checks import about, at_least, one_of
from st_biomed.training_data.high_level_concepts import N_LARGEST, NAMES


@dataclass
class TrainingSetArguments:
    """The arguments of :func:`~st_biomed.few_shot.training_sets.open_training_sets`."""

    training_sets: list[str] = field(
        default_factory=lambda: ["ICD-10=icd10cm"],
        metadata={
            "help": "NAME=SOURCE for the top concepts of a terminology, NAME=SOURCE#CODE for the children of a "
            "concept, or NAME=TABLE for a .csv or .tsv with the columns concept and name (2.3)"
        },
    )
    names: str = field(
        default="preferred",
        metadata=about("names of a code: preferred (its reference name), or all (2.3)", one_of(*NAMES)),
    )
    largest: int = field(
        default=N_LARGEST, metadata=about("number of children of a concept to keep (2.3)", at_least(2))
    )
    leave_out: list[str] = field(default_factory=list, metadata={"help": "codes of concepts to exclude from training"})

    def open_training_sets(self) -> list[TrainingSet]:
        """The training sets.

        Raises:
            InputError: As in :func:`~st_biomed.few_shot.training_sets.open_training_sets`.
        """
        return open_training_sets(self.training_sets, names=self.names, largest=self.largest, leave_out=self.leave_out)
