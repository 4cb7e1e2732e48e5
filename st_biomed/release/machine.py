"""The machine and the packages of a run."""

from __future__ import annotations

import os
import platform
import re
from importlib.metadata import version
from pathlib import Path

import torch

from st_biomed import __version__
from st_biomed.release.run_data import MachineData


def versions() -> dict[str, str]:
    """The versions of the packages."""
    packages = ("torch", "sentence-transformers", "transformers", "datasets")
    return {
        "python": platform.python_version(),
        **{package: version(package) for package in packages},
        "st-biomed": __version__,
    }


def machine() -> MachineData:
    """The machine's processor, cores and accelerators."""
    return MachineData(
        cpu=_cpu_model(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        gpus=[torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())],
    )


def _cpu_model() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        model = re.search(r"^model name\s*:\s*(.+)$", cpuinfo.read_text("utf-8", "replace"), re.MULTILINE)
        if model:
            return model[1]
    return platform.processor() or platform.machine()
