"""Processes that know nothing of the test's: forks of a server that has imported sentence-transformers, and not this package.

They start in a tenth of a second, where a new interpreter needs seven to import the same.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

multiprocessing.set_forkserver_preload(["sentence_transformers", "sentence_transformers.sentence_transformer.trainer"])
START = "forkserver"
"""For ``torch.multiprocessing.start_processes``."""


def run_fresh(
    code: str, *words: object, environment: Mapping[str, str] | None = None, cwd: Path | str | None = None
) -> subprocess.CompletedProcess[str]:
    """As ``subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)``.

    Args:
        code: What runs as ``__main__``.
        words: ``sys.argv[1:]``.
        environment: All of its variables; by default those of this process.
        cwd: Where it runs.
    """
    given = [str(word) for word in words]
    with tempfile.TemporaryDirectory() as scratch:
        printed = [Path(scratch, name) for name in ("out", "err")]
        process = multiprocessing.get_context(START).Process(
            target=_run,
            args=(code, given, dict(environment or os.environ), str(cwd or Path.cwd()), *map(str, printed)),
        )
        with patch.dict(
            sys.modules, {"__main__": ModuleType("__main__")}
        ):  # a recipe that is run would be imported there
            process.start()
        process.join()
        out, err = (path.read_text("utf-8") if path.exists() else "" for path in printed)
    return subprocess.CompletedProcess([sys.executable, "-c", *given], process.exitcode or 0, out, err)


def _run(code: str, words: list[str], environment: dict[str, str], cwd: str, out: str, err: str) -> None:
    for descriptor, path in ((1, out), (2, err)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), descriptor)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    _modules_cache(environment.get("HF_MODULES_CACHE"))
    assert not any(name.partition(".")[0] == "st_biomed" for name in sys.modules), "the server knows this package"
    sys.argv = ["-c", *words]
    exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})


def _modules_cache(folder: str | None) -> None:
    """The one variable that sentence-transformers has read already when it was imported; the path is that of the test's process."""
    if folder:
        import transformers.dynamic_module_utils as dynamic

        sys.path[:] = [path for path in sys.path if path != dynamic.HF_MODULES_CACHE]
        dynamic.HF_MODULES_CACHE = folder
