"""Benchmarks as files, so that two figures with the same name are comparable."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, Self, TypeVar, Unpack

from st_biomed.errors import InputError, check_name, unknown_name
from st_biomed.evaluators.base import EmbeddingEvaluator, EvaluatorOptions
from st_biomed.evaluators.data_folder import data_path
from st_biomed.evaluators.published_figures import PublishedFigure, read_published
from st_biomed.settings.bundled import bundled_folder
from st_biomed.settings.checks import PATH, Check
from st_biomed.settings.fill_dataclass import fill_dataclass
from st_biomed.settings.keyword_options import unless_none
from st_biomed.settings.registry import Registry
from st_biomed.settings.yaml_files import read_yaml

FOLDER = "evaluation/benchmarks"


class EvaluatorSettings(Protocol):
    """The settings of one kind of evaluator: a dataclass whose fields, except ``name``, are the keys of ``settings``."""

    name: str

    def evaluators(
        self, *, as_published: bool = False, **options: Unpack[EvaluatorOptions]
    ) -> list[EmbeddingEvaluator]:
        """The evaluators of the reported figures.

        Args:
            as_published: Score like the paper's script where it differs from the sound method.
            **options: Options of each evaluator, except ``name``.
        """
        ...

    def source_names(self) -> list[str]:
        """Names of the sources of the measured terms, spelled as in the record of a run that trains on them."""
        ...


AnySettings = TypeVar("AnySettings")


_KINDS: Registry[ModuleType] = Registry("st_biomed.evaluators", "evaluator", packages_only=True)
evaluator_kinds = _KINDS.names
"""The kinds of evaluators, sorted: the folders of ``st_biomed/evaluators``, each with ``SETTINGS`` and ``FAMILY`` in ``settings.py``."""

FAMILIES = ("linking", "relatedness", "hierarchy", "relations", "clustering", "types")
"""What the kinds measure, in the order of a scorecard."""
OTHER_LANGUAGES = "other languages"
"""The family of every benchmark that is not in English, the last of a scorecard."""


def settings_class(kind: str) -> type[EvaluatorSettings]:
    """The settings of a kind of evaluator.

    Raises:
        InputError: There is no such kind.
    """
    found: type[EvaluatorSettings] = _settings_module(kind).SETTINGS
    return found


def family_of(kind: str) -> str:
    """Which of :data:`FAMILIES` a kind of evaluator measures.

    Raises:
        InputError: There is no such kind, or its family is not one of them.
    """
    found: str = _settings_module(kind).FAMILY
    check_name(f"FAMILY of the evaluators {kind!r}", found, FAMILIES)
    return found


def _settings_module(kind: str) -> Any:
    return importlib.import_module(f"{_KINDS.module(kind).__name__}.settings")


@dataclass(frozen=True)
class Data:
    """The data of a benchmark.

    Attributes:
        files: Files and folders it needs, below the data folder.
        source: Where to get them.
        terminologies: Names of the sources of a plain file such as a dictionary, and of sources with the same concepts under
            other names. The sources of terminologies in the settings are found automatically.
    """

    files: list[str] = field(default_factory=list)
    source: str = ""
    version: str = ""
    license: str = ""
    terminologies: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Benchmark:
    """A benchmark: an evaluator, its settings, its data and published figures.

    Attributes:
        name: Prefix of its metrics.
        evaluator: Its kind, one of :func:`evaluator_kinds`.
        settings: The settings of that evaluator's protocol.
        language: Of its texts, ISO 639-1, or ``mul`` for several; other languages than English have a line of their own
            in a scorecard.
        published: Figures from the literature that were measured by this protocol.
    """

    name: str
    evaluator: str
    settings: dict[str, Any]
    title: str = ""
    language: str = "en"
    data: Data = field(default_factory=Data)
    published: list[PublishedFigure] = field(default_factory=list)
    path: Path | None = None

    @classmethod
    def read(cls, name: str | Path) -> Self:
        """Read a benchmark.

        Args:
            name: A file, or the name of a benchmark in ``evaluation/benchmarks``, which is also part of an
                installation.

        Raises:
            InputError: No such file, an invalid key or value, or figures of another protocol.
        """
        path = benchmark_file(name)
        written = fill_dataclass(_Written, read_yaml(path), str(path))
        if not re.fullmatch("[a-z]{2}|mul", written.language):
            raise InputError(
                f"{path}: language must be two letters of ISO 639-1, e.g. 'it', or 'mul' for several, found "
                f"{written.language!r}"
            )
        benchmark = cls(
            name=written.name,
            evaluator=written.evaluator,
            settings=written.settings,
            title=written.title,
            language=written.language,
            data=fill_dataclass(Data, written.data, f"{path}: data"),
            path=path,
        )
        settings = benchmark.evaluator_settings()  # checked at once
        return replace(benchmark, published=read_published(written.published, settings, f"{path}: published"))

    def evaluator_settings(self) -> EvaluatorSettings:
        """The settings as the evaluator's own dataclass.

        Raises:
            InputError: An unknown evaluator, or settings of another evaluator.
        """
        where = str(self.path or self.name)
        try:
            cls = settings_class(self.evaluator)
        except InputError as error:
            raise InputError(f"{where}: {error}") from None
        return fill_dataclass(cls, self.settings, f"{where}: settings", name=self.name)

    @property
    def family(self) -> str:
        """The line of a scorecard that it counts in: what its evaluator measures, or :data:`OTHER_LANGUAGES`."""
        return family_of(self.evaluator) if self.language == "en" else OTHER_LANGUAGES

    def source_names(self) -> list[str]:
        """Names of the sources that it is made of, sorted: a model that was trained on one of them knows its domain.

        Raises:
            InputError: A terminology that cannot be read.
        """
        return sorted({*self.data.terminologies, *self.evaluator_settings().source_names()})

    def missing(self) -> list[str]:
        """The files it needs that are neither here nor below the data folder."""
        return [file for file in self.data.files if not data_path(file).exists()]


@dataclass(frozen=True)
class _Written:
    """The keys of a file."""

    name: str
    evaluator: str
    settings: dict[str, Any]
    title: str = ""
    language: str = "en"
    data: dict[str, Any] = field(default_factory=dict)
    published: list[dict[str, Any]] = field(default_factory=list)


def benchmark_file(name: str | Path) -> Path:
    """A path as given, or the file of a packaged benchmark: its name, also with ``evaluation/benchmarks/`` before it.

    Raises:
        InputError: Neither.
    """
    path, known = Path(name), benchmark_names()
    if path.is_file():
        return path
    if path.suffix in ("", ".yaml") and path.stem in known and path.parent in (Path(), Path("evaluation/benchmarks")):
        return known[path.stem]
    if path.suffix == ".yaml" or "/" in str(name):
        raise InputError(f"{name}: no such file; expected a YAML file of a benchmark")
    raise unknown_name("benchmark", str(name), known)


def benchmark_files(names: Iterable[str | Path]) -> list[Path]:
    """The distinct files of benchmarks.

    Args:
        names: Names as in :meth:`Benchmark.read`, and folders, which stand for all their ``.yaml`` files in sorted
            order.

    Raises:
        InputError: As :func:`benchmark_file`, or a folder without such a file.
    """
    found: dict[Path, Path] = {}
    for name in names:
        is_folder = Path(name).is_dir() and str(name) not in benchmark_names()
        files = sorted(Path(name).glob("*.yaml")) if is_folder else [Path(name)]
        if not files:
            raise InputError(f"{name}: holds no benchmark (no file ending in .yaml)")
        for file in map(benchmark_file, files):
            found.setdefault(file.resolve(), file)
    return list(found.values())


def chosen_benchmarks(*lists: Iterable[str | Path]) -> list[Benchmark]:
    """The selected benchmarks, whose data must be present.

    Args:
        *lists: Names as in :func:`benchmark_files`, each as in :func:`~st_biomed.settings.keyword_options.unless_none`.

    Raises:
        InputError: No such benchmark, or missing data files.
    """
    names = (name for members in lists for name in unless_none(members))
    chosen = list(map(Benchmark.read, benchmark_files(names)))
    for benchmark in chosen:
        if missing := benchmark.missing():
            raise InputError(
                f"{benchmark.name}: needs {', '.join(missing)} in the data folder of ST_BIOMED_DATA "
                f"({benchmark.data.source}); leave the benchmark out, or use none for no benchmark"
            )
    return chosen


def _no_benchmark(name: str, value: str) -> str | None:
    try:
        if value in ("", "none"):
            return None
        if (line := PATH.wrong(name, value)) is None:
            for path in benchmark_files([value]):
                Benchmark.read(path)
        return line
    except InputError as error:
        return str(error)


BENCHMARK = Check(_no_benchmark)
"""The check of an option: a name or a file; ``none`` or empty for none. The data are checked later."""


def benchmark_names() -> dict[str, Path]:
    """The packaged benchmarks: name to file, sorted."""
    folder = bundled_folder(FOLDER)
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))} if folder else {}


def read_benchmark_settings(name: str | Path, cls: type[AnySettings]) -> AnySettings:
    """The settings of a benchmark of one kind.

    Raises:
        InputError: As :meth:`Benchmark.read`, or a benchmark of another evaluator.
    """
    benchmark = Benchmark.read(name)
    settings = benchmark.evaluator_settings()
    if not isinstance(settings, cls):
        wanted = next(kind for kind in evaluator_kinds() if settings_class(kind) is cls)
        raise InputError(f"{benchmark.path}: has evaluator {benchmark.evaluator!r}, expected {wanted!r}")
    return settings


def read_all_settings(names: Sequence[str | Path], cls: type[AnySettings]) -> list[AnySettings]:
    """The settings of several benchmarks of one kind; a single ``none`` selects none, as in :func:`chosen_benchmarks`.

    Raises:
        InputError: As :func:`read_benchmark_settings`.
    """
    return [read_benchmark_settings(name, cls) for name in unless_none(names)]
