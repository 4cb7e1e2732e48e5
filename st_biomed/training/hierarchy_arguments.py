"""Recipe arguments for a training on a hierarchy: the partners of an anchor, and the loss over them."""

from __future__ import annotations

from dataclasses import dataclass

from st_biomed.errors import InputError
from st_biomed.losses.ordinal_arguments import OrdinalArguments
from st_biomed.samplers.partner_arguments import PartnerArguments


@dataclass
class HierarchyArguments(PartnerArguments, OrdinalArguments):
    """The arguments of the batches and of the loss, which have to fit."""

    def check_groups(self) -> None:
        """Raise InputError if rows are compared in groups that are not those of the anchors."""
        rows = 1 + sum(self.partners)
        if (self.group_size or rows) % rows:
            raise InputError(
                f"group_size: an anchor and its partners have {rows} rows (partners {' '.join(map(str, self.partners))}); "
                f"allowed is a multiple, found {self.group_size}"
            )

    def shrink_partners(self) -> None:
        """Take one partner at every distance, for a test that the recipe runs."""
        self.partners = [1] * len(self.partners)
        if self.group_size is not None:
            self.group_size = 1 + len(self.partners)
