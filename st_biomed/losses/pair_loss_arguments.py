"""Arguments for the losses that SapBERT compares."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from st_biomed.losses.by_name import LOSSES, MINERS, loss_by_name, parse_loss_options
from st_biomed.losses.published_form import FORMS
from st_biomed.settings.checks import about, one_of

if TYPE_CHECKING:
    from torch import nn

    from st_biomed.terminology import Terminology


@dataclass
class PairLossArguments:
    """Loss, miner, the form in which the loss uses the mined triplets, and options of the loss."""

    loss: str = field(default="ms", metadata=about(f"one of {', '.join(LOSSES)} (B.4, table 6)", one_of(*LOSSES)))
    miner: str = field(default="triplet", metadata=about("none, triplet (2, Eq. 1) or ms", one_of(*MINERS)))
    loss_form: str = field(
        default="pairs",
        metadata=about(
            "for infonce, nca and lifted: pairs, where a mined pair counts once, or published, where it counts once for "
            "each of its triplets",
            one_of(*FORMS),
        ),
    )
    loss_options: str = field(
        default="", metadata={"help": "options of the loss, NAME=VALUE,..., e.g. beta=50,base=0.6"}
    )

    def check_loss(self) -> None:
        """Make the loss without a model, before anything is read.

        Raises:
            InputError: There is no such form with the miner, an extra is not installed, or an option is malformed, unknown
                to the loss or out of its range.
        """
        options: dict[str, Any] = parse_loss_options(self.loss_options)
        options["mini_batch_size"] = getattr(self, "mini_batch_size", None)  # of the arguments beside these
        loss_by_name(self.loss, None, miner=self.miner, form=self.loss_form, **options)

    def pair_loss(self, model: nn.Module, lookup: Terminology, **options: Any) -> nn.Module:
        """The loss of the arguments.

        Args:
            lookup: Determines the labels that belong together.
            **options: Further arguments of :func:`~st_biomed.losses.by_name.loss_by_name`.
        """
        options = {**options, **parse_loss_options(self.loss_options)}
        return loss_by_name(self.loss, model, miner=self.miner, form=self.loss_form, lookup=lookup, **options)
