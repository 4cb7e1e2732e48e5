"""Arguments for the names that a recipe holds out of training and links."""

from __future__ import annotations

from dataclasses import dataclass, field

from st_biomed.linking_data.held_out_names import HeldOutNames, hold_out_names
from st_biomed.settings.checks import SIZE, about
from st_biomed.terminology import Terminology


@dataclass
class HeldOutNameArguments:
    """The arguments of :func:`~st_biomed.linking_data.held_out_names.hold_out_names`."""

    held_out_names: int = field(
        default=1000, metadata=about("synonyms held out for dev, and for test, and linked; 0 for none", SIZE)
    )
    held_out_dictionary: int = field(
        default=20_000,
        metadata=about(
            "concepts whose names they are linked to: their own, and others drawn up to this number; 0 for all", SIZE
        ),
    )

    def hold_out_names(self, terminology: Terminology, seed: int) -> HeldOutNames:
        """The terminology without the held-out names, and these as a data set.

        Args:
            terminology: What is left of it after everything else is held out.

        Raises:
            InputError: Fewer concepts with three names than names asked for, or than the dictionary may have.
        """
        number = self.held_out_names
        return hold_out_names(
            terminology, n_dev=number, n_test=number, n_dictionary=self.held_out_dictionary, seed=seed
        )
