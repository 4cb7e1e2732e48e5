"""Recipe arguments for the sub-trees that are held out of training and measured."""

from __future__ import annotations

from dataclasses import dataclass, field

from st_biomed.evaluators.benchmark import BENCHMARK, read_benchmark_settings
from st_biomed.evaluators.tree.settings import TreeSettings
from st_biomed.settings.checks import COUNT, PATTERN, SEED, SIZE, about, check_unused, share_or_number

_SET_BY_BENCHMARK = ("subtrees", "subtree_depth", "held_out", "held_out_dev", "pairs_per_class")  # and the trees' seed


@dataclass
class TreeArguments:
    """A frozen protocol, or the settings of a new one."""

    subtrees: str = field(
        default="", metadata=about("regular expression for the codes of the roots of held-out sub-trees", PATTERN)
    )
    subtree_depth: int = field(default=1, metadata=about("depth of these roots, if there is no expression", SIZE))
    held_out: float = field(
        default=1 / 6,
        metadata=about(
            "share of the sub-trees held out for test, or their number, e.g. 100", share_or_number("(0, 0.5)")
        ),
    )
    held_out_dev: float | None = field(
        default=None,
        metadata=about("the same for dev; by default that of test", share_or_number("(0, 0.5)")),
    )
    split_seed: int = field(default=0, metadata=about("random seed of the split and of the pairs", SEED))
    pairs_per_class: int = field(default=800, metadata=about("pairs measured at each distance", COUNT))
    benchmark: str | None = field(
        default=None,
        metadata=about("frozen protocol that sets the arguments above and checks the pairs, or none", BENCHMARK),
    )

    def check_protocol(self) -> None:
        """Raise InputError if an argument is given that the frozen protocol sets, or the protocol is invalid.

        Raises:
            InputError: One of them, or an error of :meth:`protocol`.
        """
        if self.benchmark is not None:
            check_unused(self, _SET_BY_BENCHMARK, f"benchmark {self.benchmark}", by=("benchmark",))
        self.protocol()

    def protocol(self) -> TreeSettings:
        """The frozen protocol, or one from the arguments.

        Raises:
            InputError: No such benchmark, or one of another kind.
        """
        if self.benchmark is not None:
            return read_benchmark_settings(self.benchmark, TreeSettings)
        return TreeSettings(
            subtrees=self.subtrees,
            depth=self.subtree_depth,
            dev=self.held_out if self.held_out_dev is None else self.held_out_dev,
            test=self.held_out,
            seed=self.split_seed,
            pairs_per_class=self.pairs_per_class,
        )
