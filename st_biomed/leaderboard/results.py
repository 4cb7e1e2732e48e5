"""Result files: a line of JSON for each model and evaluator, and files of the units."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from st_biomed.errors import InputError
from st_biomed.files import lock, replace_text
from st_biomed.files.sealed import checksum_of, has_seal, read_sealed, sealed, unsealed
from st_biomed.leaderboard.unit_files import unit_file_name, write_units
from st_biomed.metrics.significance import PairedTest, Units
from st_biomed.metrics.units_in_files import load_units

logger = logging.getLogger(__name__)

_OTHERS = {
    "terminology.json": "a terminology",
    "index.json": "a concept index",
    "modules.json": "a model",
    "run.json": "a release",
    "table.json": "graph embeddings",
}
"""Files that identify folders with other contents."""


@dataclass(frozen=True)
class Result:
    """The result of one evaluator for one model.

    Attributes:
        evaluator: The evaluator's name, the prefix of its metrics.
        model: Name of the model in tables.
        model_digest: Digest of the model's computation.
        settings: The evaluator's configuration, :meth:`~st_biomed.leaderboard.models.LoadedModel.settings_of` and
            ``as_published``.
        headline: Label to metric, for tables.
        units: Metric to the number and kind of its units, e.g. ``{"acc@1": [960, "mention"]}``.
        seconds: Duration.
        versions: Versions of Python and the packages that computed it.
        units_file: Name of the file of its units in the folder ``units``; empty in results of older versions.
        units_checksum: Checksum of that file; empty in results of older versions.
        definition: The definition of the benchmark, see :func:`~st_biomed.leaderboard.provenance.definition_of`.
        encoder: The settings of the model, see :attr:`~st_biomed.leaderboard.models.LoadedModel.description`.
        computation: Batch size, device and whether it embedded under bfloat16 autocast.
        measured_at: Time in UTC (ISO 8601).
    """

    benchmark: str
    evaluator: str
    model: str
    model_digest: str
    settings: dict[str, Any]
    metrics: dict[str, float]
    primary: str
    headline: dict[str, str]
    units: dict[str, list[Any]] = field(default_factory=dict)
    seconds: float = 0.0
    versions: dict[str, str] = field(default_factory=dict)
    units_file: str = ""
    units_checksum: str = ""
    definition: dict[str, Any] = field(default_factory=dict)
    encoder: dict[str, Any] = field(default_factory=dict)
    computation: dict[str, Any] = field(default_factory=dict)
    measured_at: str = ""

    @property
    def key(self) -> str:
        """Digest of everything that the figures depend on."""
        return result_key(self.evaluator, self.model_digest, self.settings)

    @property
    def metric(self) -> str:
        """The primary metric without the evaluator's name."""
        return self.primary.removeprefix(f"{self.evaluator}_")

    @property
    def is_raw(self) -> bool:
        """Whether it is of a data set as distributed, before the steps of its benchmark."""
        return self.evaluator == f"{self.benchmark}_raw"


def result_key(evaluator: str, model_digest: str, settings: Mapping[str, Any]) -> str:
    """The identity of a measurement: evaluator, model, settings."""
    content = json.dumps([evaluator, model_digest, settings], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:24]


class ResultsFolder:
    """``results.jsonl`` and ``units/*.npz`` in a folder; several processes may write to it at the same time.

    Args:
        folder: The folder, created if it does not exist.

    Raises:
        InputError: A file in place of the folder, or an invalid line other than the last, which an interrupted run may
            have truncated.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError(f"{folder}: is a file, expected a folder for the results")
        for marker, what in _OTHERS.items():
            if (self.folder / marker).is_file():
                raise InputError(f"{folder}: contains {what} ({marker}); choose another folder for the results")
        self._results = self._read()

    @property
    def results(self) -> list[Result]:
        """The results, the most recently requested one last; a model has one of each key."""
        return list(self._results.values())

    def find(self, key: str) -> Result | None:
        """The latest result of a key, for any name of the model."""
        return next((result for result in reversed(self.results) if result.key == key), None)

    def add(self, result: Result, units: Mapping[str, Units] | None = None) -> Result:
        """Store a result as the latest, together with those that other processes added meanwhile.

        Args:
            units: Its units; ``None`` if a file has them already.

        Returns:
            The result with the file of its units.
        """
        with self._lock():
            if units is not None:
                result = replace(result, units_file=unit_file_name(result.model, result.evaluator, result.key))
                write_units(self._units(result), units, asdict(result))
                result = replace(result, units_checksum=checksum_of(self._units(result)))
            self._results = self._read()
            self._results.pop((result.key, result.model), None)
            self._results[result.key, result.model] = result
            replace_text(
                self.folder / "results.jsonl", "".join(sealed(asdict(of_all), indent=None) for of_all in self.results)
            )
        return result

    def units(self, result: Result) -> dict[str, Units]:
        """The units of a result.

        Raises:
            InputError: The file is missing or damaged, or contains the units of another result.
        """
        path = self._units(result)
        if result.units_checksum and path.is_file() and checksum_of(path) != result.units_checksum:
            raise InputError(f"{path}: cannot be read as the units of a benchmark (its checksum differs)")
        units = load_units(path)
        for metric, (n, _) in result.units.items():
            if len(units.get(metric.removeprefix(f"{result.evaluator}_"), ())) != n:
                raise InputError(f"{path}: does not contain the {n:,} units of {metric}")
        return units

    def tests(self) -> dict[str, PairedTest]:
        """Earlier paired tests, by their names in :func:`~st_biomed.leaderboard.comparison.compare`."""
        path = self.folder / "tests.json"
        if not path.is_file():
            return {}
        try:
            tests = read_sealed(path, "the tests are repeated")
            return {name: PairedTest(*numbers) for name, numbers in tests.items()}
        except InputError as error:
            logger.warning("%s", error)
            return {}

    def add_tests(self, tests: Mapping[str, PairedTest]) -> None:
        """Store tests in addition to existing ones."""
        with self._lock():
            replace_text(self.folder / "tests.json", sealed({**self.tests(), **tests}))

    def write(self, name: str, text: str) -> Path:
        """Write a report beside the results."""
        with self._lock():
            replace_text(self.folder / name, text)
        return self.folder / name

    def _read(self) -> dict[tuple[str, str], Result]:
        path = self.folder / "results.jsonl"
        results: dict[tuple[str, str], Result] = {}
        lines = path.read_bytes().splitlines(keepends=True) if path.is_file() else []
        for number, line in enumerate(lines, start=1):
            try:
                content = json.loads(line)
                result = Result(**(unsealed(content) if has_seal(content) else content))
            except (ValueError, TypeError, RecursionError) as error:
                if number == len(lines) and not line.endswith(b"\n"):
                    logger.warning("%s:%d: is truncated; its result is measured again", path, number)
                    break
                raise InputError(
                    f"{path}:{number}: is not a result ({error}); without this line it is measured again"
                ) from error
            results.pop((result.key, result.model), None)
            results[result.key, result.model] = result
        return results

    @contextmanager
    def _lock(self) -> Iterator[None]:
        with lock(self.folder, wait=True):
            self.folder.mkdir(exist_ok=True)
            yield

    def _units(self, result: Result) -> Path:
        return self.folder / "units" / (result.units_file or f"{result.key}.npz")
