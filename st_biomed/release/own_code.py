"""Models that cannot be folded into built-in modules: their files of code, and the test that these suffice."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from sentence_transformers import SentenceTransformer
from torch import nn
from transformers.dynamic_module_utils import get_relative_import_files

from st_biomed.encoder import OWN_CODE
from st_biomed.encoder.foreign_code import code_of_others
from st_biomed.errors import InputError

_LOAD = """
import sys

class Nowhere:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "st_biomed":
            raise ImportError("st_biomed is not to be needed")

sys.meta_path.insert(0, Nowhere())
import numpy
from sentence_transformers import SentenceTransformer

folder, out, *probes = sys.argv[1:]
model = SentenceTransformer(folder, device="cpu", local_files_only=True, trust_remote_code=True)
numpy.save(out, model.encode(probes, show_progress_bar=False))
"""


def code_of(model: SentenceTransformer) -> list[str]:
    """The files of code of a saved model; none if built-in modules suffice."""
    names = {file_of(module) for module in model.modules()} & OWN_CODE.keys()
    beside = (file for name in names for file in get_relative_import_files(OWN_CODE[name]))
    return sorted(names | {Path(file).name for file in beside})


def file_of(module: nn.Module) -> str:
    """The name of the file with a module's class."""
    return f"{type(module).__module__.rpartition('.')[2]}.py"


def run_elsewhere(
    code: str, *words: str, environment: Mapping[str, str], cwd: str
) -> subprocess.CompletedProcess[str]:
    """Run code in a new interpreter."""
    return subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, env=environment, cwd=cwd
    )


def vectors_elsewhere(folder: Path, probes: list[str]) -> np.ndarray:
    """The vectors of a saved model in a fresh process without this package, loaded with ``trust_remote_code``.

    Args:
        folder: The saved model.
        probes: Texts to encode.

    Returns:
        ``[N, D]``.

    Raises:
        InputError: The model refers to foreign code, or does not load.
    """
    if named := code_of_others(folder):
        raise InputError(f"the saved model would run foreign code: {named[0].name}: {named[1]}")
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch, "vectors.npy")
        environment = {**os.environ, "HF_MODULES_CACHE": scratch, "CUDA_VISIBLE_DEVICES": ""}
        ended = run_elsewhere(_LOAD, str(folder.resolve()), str(out), *probes, environment=environment, cwd=scratch)
        if ended.returncode:
            reason = (ended.stderr.strip().splitlines() or ["no message"])[-1]
            raise InputError(f"the saved model does not load in a process without this package: {reason}")
        return np.load(out)
