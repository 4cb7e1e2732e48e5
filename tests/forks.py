"""Run something in a child process that has all imports already, and get what became of it."""

from __future__ import annotations

import os
import pickle
import sys
import traceback
from collections.abc import Callable
from typing import Any


class Forked:
    """A child that runs an action; several may run at once.

    Args:
        action: What it does; what it returns has to pickle.
        before: What the child does first, such as limiting itself.
    """

    def __init__(self, action: Callable[[], Any], before: Callable[[], object] = lambda: None) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        self._read, write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                one_thread()
                before()
                outcome = pickle.dumps(action())
                with os.fdopen(write, "wb") as file:
                    file.write(outcome)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        os.close(write)

    def result(self) -> Any:
        """What the action returned, once it has ended."""
        with os.fdopen(self._read, "rb") as file:
            outcome = file.read()
        _, status = os.waitpid(self.pid, 0)
        assert status == 0, f"the child ended with status {status}"
        return pickle.loads(outcome)


def one_thread() -> None:
    """A child of a process that has threads cannot start its own."""
    import faiss
    import torch

    torch.set_num_threads(1)
    faiss.omp_set_num_threads(1)
