"""The arguments by which a recipe holds translations out of training and links them."""

from __future__ import annotations

from dataclasses import dataclass, field

from st_biomed.linking_data.held_out_translations import hold_out_translations
from st_biomed.linking_data.records import LinkingDataset
from st_biomed.settings.checks import SEED, SIZE, about, check_unused
from st_biomed.terminology import Terminology


@dataclass
class TranslationArguments:
    """The number and choice of concepts whose translations are held out for dev and test."""

    held_out_translations: int = field(
        default=0,
        metadata=about(
            "concepts for dev, and again for test, whose translations are held out and linked to names in the pivot language",
            SIZE,
        ),
    )
    translated: str = field(
        default="",
        metadata={"help": "prefix of the codes of these concepts and of the concepts in the dictionary, e.g. HP:"},
    )
    languages: list[str] = field(
        default_factory=list, metadata={"help": "languages of the held-out translations; all by default"}
    )
    split_seed: int = field(default=0, metadata=about("random seed of what is held out", SEED))

    def check_translations(self) -> None:
        """Raise InputError if a choice of translations is given and none is held out, before anything is read."""
        if not self.held_out_translations:
            names, where = ("translated", "languages"), "--held_out_translations 0"
            check_unused(self, names, where, by=("held_out_translations",))

    def hold_out(self, whole: Terminology, pivot: str) -> tuple[Terminology, list[LinkingDataset]]:
        """The training terminology, and the evaluators of held-out translations; all and nothing if none is held out.

        Definitions stay, also those in other languages.

        Args:
            pivot: The language of the names to which they are linked.

        Raises:
            InputError: As in :func:`~st_biomed.linking_data.held_out_translations.hold_out_translations`.
        """
        if not self.held_out_translations:
            return whole, []
        train, datasets = hold_out_translations(
            whole,
            languages=self.languages,
            pivot=pivot,
            n_dev=self.held_out_translations,
            n_test=self.held_out_translations,
            prefix=self.translated,
            seed=self.split_seed,
        )
        return train, list(datasets.values())
