"""What a figure can be traced back to: the benchmark's file, its data, the versions that computed it."""

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
    """A benchmark as it was read: evaluator, title, settings, its file with the SHA-256, and version and source of its data."""
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
    """Of Python and of each package whose release may change a figure."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def now() -> str:
    """The time in UTC, to the second (ISO 8601)."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def benchmarks_of(results: Iterable[Result], known: Mapping[str, Benchmark]) -> dict[str, Benchmark]:
    """The benchmarks of results by name: those that are known already, those of the files they were read from, and those
    that come along; one whose file is gone is left out.
    """
    found = dict(known)
    files = {one.benchmark: one.definition.get("file", "") for one in results if one.benchmark not in known}
    for name, file in files.items():
        if (benchmark := _readable(file)) is not None and benchmark.name == name:
            found[name] = benchmark
    if files.keys() - found.keys():
        along = [_readable(path) for path in benchmark_names().values()]
        found = {one.name: one for one in along if one is not None and one.name in files} | found
    return found


def _readable(file: Any) -> Benchmark | None:
    try:
        return Benchmark.read(file) if file else None
    except InputError:
        return None
