"""Recipe arguments for the sub-trees that are held out of training and measured."""

from __future__ import annotations

from dataclasses import dataclass, field

from st_biomed.evaluators.benchmark import BENCHMARK, read_benchmark_settings
from st_biomed.evaluators.tree.settings import TreeSettings
from st_biomed.settings.checks import COUNT, PATTERN, SEED, SIZE, about, within


@dataclass
class TreeArguments:
    """A frozen protocol, or the settings of a new one."""

    subtrees: str = field(
        default="", metadata=about("regular expression for the codes of the roots of held-out sub-trees", PATTERN)
    )
    subtree_depth: int = field(default=1, metadata=about("depth of these roots, if there is no expression", SIZE))
    held_out: float = field(
        default=1 / 6,
        metadata=about("share of the sub-trees held out for dev, and again for test", within("(0, 0.5)")),
    )
    split_seed: int = field(default=0, metadata=about("random seed of the split and of the pairs", SEED))
    pairs_per_class: int = field(default=800, metadata=about("pairs measured at each distance", COUNT))
    benchmark: str | None = field(
        default=None,
        metadata=about("frozen protocol that sets the five arguments above and checks the pairs, or none", BENCHMARK),
    )

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
            dev=self.held_out,
            test=self.held_out,
            seed=self.split_seed,
            pairs_per_class=self.pairs_per_class,
        )
