"""The provenance of a figure: the benchmark's file, its data, and the versions that computed it."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from st_biomed.errors import InputError
from st_biomed.evaluators.benchmark import Benchmark, benchmark_names
from st_biomed.leaderboard.results import Result

_PACKAGES = ("st-biomed", "sentence-transformers", "transformers", "torch", "numpy", "scipy", "scikit-learn")


def definition_of(benchmark: Benchmark) -> dict[str, Any]:
    """A benchmark's evaluator, title, settings, file with its SHA-256, and the version and source of its data."""
    file = benchmark.path
    return {
        "evaluator": benchmark.evaluator,
        "title": benchmark.title,
        "settings": benchmark.settings,
        "file": "" if file is None else str(file),
        "file_sha256": "" if file is None else hashlib.sha256(file.read_bytes()).hexdigest(),
        "data_version": benchmark.data.version,
        "data_source": benchmark.data.source,
    }


def versions() -> dict[str, str]:
    """The versions of Python and of each package that may change a figure."""
    versions_of = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions_of[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions_of


def now() -> str:
    """The time in UTC, to the second (ISO 8601)."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def benchmarks_of(results: Iterable[Result], known: Mapping[str, Benchmark]) -> dict[str, Benchmark]:
    """The benchmarks of results by name: known ones, those of the original files, and those of the package; benchmarks
    whose file no longer exists are left out.
    """
    benchmarks_of = dict(known)
    files = {
        result.benchmark: result.definition.get("file", "") for result in results if result.benchmark not in known
    }
    for name, file in files.items():
        if (benchmark := _readable(file)) is not None and benchmark.name == name:
            benchmarks_of[name] = benchmark
    if files.keys() - benchmarks_of.keys():
        along = [_readable(path) for path in benchmark_names().values()]
        benchmarks_of = {
            benchmark.name: benchmark for benchmark in along if benchmark is not None and benchmark.name in files
        } | benchmarks_of
    return benchmarks_of


def _readable(file: Any) -> Benchmark | None:
    try:
        return Benchmark.read(file) if file else None
    except InputError:
        return None
