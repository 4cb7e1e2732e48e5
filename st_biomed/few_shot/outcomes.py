"""The results of the runs of an experiment: means and deviations over seeds, as a table and for a picture."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from st_biomed.evaluators.embedders import Embed
from st_biomed.evaluators.suite import EvaluatorSuite
from st_biomed.few_shot.experiment import TrainedChain
from st_biomed.few_shot.nearest_prototype import prototype_accuracy
from st_biomed.few_shot.paired_tests import DrawTest
from st_biomed.files import replace_text
from st_biomed.metrics.holm import holm
from st_biomed.plots.dot_charts import METRICS

Measured = Mapping[str, Mapping[str, float]]
"""Figures by the evaluator's name."""

ARROW = "→"


class Spread(NamedTuple):
    """Mean over seeds, and the sample standard deviation, which a single seed does not have."""

    mean: float
    deviation: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None)

    def __str__(self) -> str:
        return f"{self.mean:.3f}" if self.deviation is None else f"{self.mean:.3f} ± {self.deviation:.3f}"


@dataclass(frozen=True)
class FewShotRun:
    """One trained encoder and its results.

    Attributes:
        sets: Names of the training sets of its stages, in order.
        shots: Number of names of every concept.
        seed: Seed of the draw, the weights and all other random choices.
        hidden: Width of the hidden layer of the last stage.
        epochs: Number of epochs of the last stage.
        validation_loss: Validation loss of that epoch.
        seconds: Duration of the last stage's training.
        prototype_accuracies: Accuracies of the input and of this encoder on the last stage's validation names, see
            :func:`~st_biomed.few_shot.nearest_prototype.prototype_accuracy`.
        tests: Evaluator to the paired test against the input; empty without tests.
    """

    sets: tuple[str, ...]
    shots: int
    seed: int
    hidden: int
    epochs: int
    best_epoch: int
    validation_loss: float
    seconds: float
    results: Measured
    prototype_accuracies: tuple[float, float]
    tests: Mapping[str, DrawTest] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        chain: TrainedChain,
        shots: int,
        seed: int,
        results: Measured,
        encoder: Embed,
        tests: Mapping[str, DrawTest],
    ) -> FewShotRun:
        """The outcome of a chain of stages on top of a frozen encoder."""
        last = chain.stages[-1]
        return cls(
            sets=chain.sets,
            shots=shots,
            seed=seed,
            hidden=last.module.hidden,
            epochs=len(last.validation_losses),
            best_epoch=last.best_epoch,
            validation_loss=last.validation_loss,
            seconds=round(last.seconds, 2),
            results=results,
            prototype_accuracies=(
                prototype_accuracy(encoder, last.split),
                prototype_accuracy(chain.embed, last.split),
            ),
            tests=tests,
        )

    def __str__(self) -> str:
        return (
            f"{self.name}, {self.shots}-shot, seed {self.seed}: validation loss {self.validation_loss:.4f} after "
            f"epoch {self.best_epoch} of {self.epochs}, {self.seconds:.1f} s, nearest prototype "
            "{:.3f} to {:.3f}".format(*self.prototype_accuracies)
        )

    @property
    def name(self) -> str:
        """The name of its row in tables."""
        return f" {ARROW} ".join(self.sets)


@dataclass
class Outcomes:
    """All runs of an experiment.

    Attributes:
        base: The figures before any training.
        metrics: Evaluator to the metric that tables and pictures show, in the order of columns.
        labels: Evaluator to the heading of its column.
    """

    base: Measured
    metrics: Mapping[str, str]
    labels: Mapping[str, str]
    runs: list[FewShotRun] = field(default_factory=list)

    @classmethod
    def of(cls, suite: EvaluatorSuite, base: Measured) -> Outcomes:
        """Empty outcomes for the measurements of a suite; its primary metrics are the columns."""
        metrics = {test.name: test.primary_metric for test in suite.tests}
        short = {name: key.removeprefix(f"{name}_") for name, key in metrics.items()}
        return cls(base, metrics, {name: f"{name}, {METRICS.get(key, key)}" for name, key in short.items()})

    @property
    def shots(self) -> list[int]:
        """Numbers of names, ascending."""
        return sorted({run.shots for run in self.runs})

    def spreads(self, evaluator: str, shots: int) -> dict[str, Spread]:
        """Row to its mean and deviation; rows that were not measured are left out."""
        values_of: dict[str, list[float]] = {}
        for run in self.runs:
            if run.shots == shots and evaluator in run.results:
                values_of.setdefault(run.name, []).append(run.results[evaluator][self.metrics[evaluator]])
        return {name: Spread.of(values) for name, values in values_of.items()}

    def table(self, shots: int) -> str:
        """The paper's Table 3 in Markdown: the input, and the result of each training set and each order of them.

        Measurements with only other numbers of names have no column.
        """
        columns = {evaluator: self.spreads(evaluator, shots) for evaluator in self.metrics}
        columns = {evaluator: spreads for evaluator, spreads in columns.items() if spreads}
        rows = dict.fromkeys(run.name for run in self.runs if run.shots == shots)
        head = ["training set", *(self.labels[evaluator] for evaluator in columns)]
        lines = [head, [":--", *["--:"] * len(columns)]]
        lines.append(["input", *(f"{self.base[evaluator][self.metrics[evaluator]]:.3f}" for evaluator in columns)])
        lines += [[row, *(str(spreads.get(row, "–")) for spreads in columns.values())] for row in rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def prototype_table(self, shots: int) -> str:
        """Accuracy of the nearest prototype on the last set's validation names, before and after training, in Markdown."""
        rows: dict[str, list[tuple[float, float]]] = {}
        for run in self.runs:
            if run.shots == shots:
                rows.setdefault(run.name, []).append(run.prototype_accuracies)
        lines = [["training set", "input", "trained"], [":--", "--:", "--:"]]
        lines += [[name, *(str(Spread.of(values)) for values in zip(*pairs))] for name, pairs in rows.items()]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def curves(self, evaluator: str) -> dict[str, dict[int, tuple[float, float]]]:
        """Row to shots to mean and deviation (0 for a single seed)."""
        curves: dict[str, dict[int, tuple[float, float]]] = {}
        for shots in self.shots:
            for name, spread in self.spreads(evaluator, shots).items():
                curves.setdefault(name, {})[shots] = spread.mean, spread.deviation or 0.0
        return curves

    def adjusted_p(self, evaluator: str, name: str) -> dict[tuple[int, int], float]:
        """(Shots, seed) to the p value of the paired test, adjusted by Holm's procedure over all draws of a row.

        Args:
            name: The row, see :attr:`FewShotRun.name`.
        """
        tests = {
            (run.shots, run.seed): run.tests[evaluator]
            for run in self.runs
            if run.name == name and evaluator in run.tests
        }
        return dict(zip(tests, holm([test.p for test in tests.values()])))

    def save(self, path: Path, **about: Any) -> None:
        """Write everything as JSON.

        Args:
            **about: Further contents of the file.
        """
        runs = [{"name": run.name, **asdict(run)} for run in self.runs]
        p_values = {
            (name, evaluator): self.adjusted_p(evaluator, name)
            for name in {run.name for run in self.runs}
            for evaluator in self.metrics
        }
        for run in runs:
            for evaluator, test in run["tests"].items():
                test["p_holm"] = p_values[run["name"], evaluator][run["shots"], run["seed"]]
        labels = {"metrics": dict(self.metrics), "labels": dict(self.labels)}
        content = {**about, **labels, "base": self.base, "runs": runs}
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_text(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
