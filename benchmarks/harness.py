"""Interleaved timing, peak memory in a fresh process, and the table both go into.

A benchmark needs four names::

    times = interleaved({"ours": step, "peer": peer_step}, repeats=7)   # seconds; the contestants take turns
    megabytes = peak_memory(prepare, 1024)           # prepare(1024) returns the callable that is measured
    table = Table("Title", ["B", "ours"], [[512, f"{times['ours'].median:.3f} s"]], peers=["pytorch-metric-learning"])
    table.markdown()                                 # the table, what it was measured on and with which versions
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import platform
import resource
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

LOAD = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
"""Mean number of busy processes in the minute before this one; ``None`` where the system does not count them."""


DEVICE = "cpu"
"""Where benchmarks that list it among their ``DEVICES`` compute; ``python -m benchmarks --device`` sets it."""


@dataclass(frozen=True)
class Timing:
    """Wall-clock seconds of one contestant, one value per round."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    def times_faster_than(self, other: Timing) -> float:
        """The median over the rounds of ``other / self``: what disturbs a whole round cancels out."""
        return statistics.median(theirs / ours for ours, theirs in zip(self.seconds, other.seconds, strict=True))


def interleaved(
    contestants: Mapping[str, Callable[[], object]],
    repeats: int = 7,
    warmup: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Timing]:
    """Time several callables in turns (A B A B ...), so that a busy moment of the machine hits all of them.

    Args:
        contestants: Name to a callable without arguments.
        repeats: Rounds that are timed.
        warmup: Rounds before them that are not.
        clock: Seconds; ``time.process_time`` for processor time, where other processes take most of the machine.

    Returns:
        Name to its :class:`Timing`.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(warmup + repeats):
        for name, run in contestants.items():
            gc.collect()
            _finish()
            start = clock()
            run()
            _finish()
            elapsed = clock() - start
            if turn >= warmup:
                seconds[name].append(elapsed)
    return {name: Timing(tuple(values)) for name, values in seconds.items()}


def missed(figures: Mapping[str, str]) -> str:
    """The end of a sentence about a goal: the figures that miss it, by name and as they are printed; empty if none does."""
    return f", missed: {', '.join(f'{name} {figure}' for name, figure in figures.items())}" if figures else ""


def on_device(features: Mapping[str, Any]) -> dict[str, Any]:
    """The features with their tensors on :data:`DEVICE`."""
    return {name: value.to(DEVICE) if hasattr(value, "to") else value for name, value in features.items()}


def _finish() -> None:
    """Wait for a GPU, which computes while Python goes on."""
    if DEVICE == "cuda":
        import torch

        torch.cuda.synchronize()


def peak_memory(prepare: Callable[..., Callable[[], object]], *arguments: Any) -> float:
    """How far the resident memory of a fresh process rises while ``prepare(*arguments)()`` runs, in MB (10^6 bytes).

    On a GPU it is the rise of the memory that PyTorch has allocated there, in this process.

    Args:
        prepare: A function at the top level of a module; it loads what the measured callable needs and returns it.
            What it holds on to before the call does not count.
        *arguments: Passed on; they have to pickle.

    Raises:
        BrokenProcessPool: If the fresh process dies, of too little memory for instance.
    """
    if DEVICE == "cuda":
        return _rise_on_gpu(prepare(*arguments))
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_rise, prepare, arguments).result()


def _rise(prepare: Callable[..., Callable[[], object]], arguments: tuple[Any, ...]) -> float:
    run = prepare(*arguments)
    gc.collect()
    before = resident("VmRSS")
    run()
    return (resident("VmHWM") - before) / 1e6


def _rise_on_gpu(run: Callable[[], object]) -> float:
    import torch

    run()  # workspaces of libraries, which stay
    gc.collect()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    run()
    torch.cuda.synchronize()
    return (torch.cuda.max_memory_allocated() - before) / 1e6


def resident(key: str) -> int:
    """Resident bytes now (``VmRSS``) or at most so far (``VmHWM``).

    Linux keeps both per program image; the maximum of ``getrusage``, used elsewhere, starts at the parent's.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith(key)) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


@dataclass
class Table:
    """One table of results.

    Attributes:
        title: Heading.
        header: Column names.
        rows: Cells; they are printed with ``str``.
        notes: Paragraphs above the table: what was measured, and how.
        peers: Distributions whose versions belong to the result, besides torch.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[object]]
    notes: Sequence[str] = ()
    peers: Sequence[str] = field(default_factory=list)

    def markdown(self) -> str:
        def line(cells: Sequence[object]) -> str:
            return "| " + " | ".join(str(cell) for cell in cells) + " |"

        table = [line(self.header), line(["---"] * len(self.header)), *map(line, self.rows)]
        paragraphs = [f"# {self.title}", *self.notes, "\n".join(table), f"Machine: {machine(self.peers)}."]
        return "\n\n".join(paragraphs) + "\n"


def machine(peers: Sequence[str] = ()) -> str:
    """Processor, cores, memory, load and versions on one line; never the name of the host."""
    import torch

    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        names = [line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    parts = [model, f"{os.cpu_count()} cores ({torch.get_num_threads()} threads used)", f"{memory:.0f} GiB"]
    if torch.cuda.is_available():
        parts.append(torch.cuda.get_device_name())
    if LOAD is not None:
        parts.append(f"load average before the start {LOAD:.1f}")
    parts += [f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in ("torch", *peers))]
    return ", ".join(parts)
