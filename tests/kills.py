"""Kill a process at one step of what it does to the disk, and then the next one, and the next."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator

from tests.forks import one_thread

STEPS = ("mkdir", "rename", "replace", "unlink", "rmdir", "fsync", "truncate", "link", "symlink")
"""What changes names or makes content last; a kill between two of them sees what a kill of the machine would."""


def killed_at(step: int, action: Callable[[], object]) -> bool:
    """Run an action in a child that is killed with SIGKILL just before one of its steps.

    Args:
        step: The step, from 0.
        action: What the child does.

    Returns:
        Whether the child was killed; otherwise it ended, and had fewer steps.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        try:
            one_thread()
            _count_down(step)
            action()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL, f"the action died of signal {os.WTERMSIG(status)}"
        return True
    assert os.WEXITSTATUS(status) == 0, "the action failed before it was killed"
    return False


def every_kill(action: Callable[[], object], prepare: Callable[[], object], *, stride: int = 1) -> Iterator[int]:
    """Prepare and kill at step 0, 1, 2, ... until the action ends alive; the test looks at what is left after each.

    Args:
        action: What is killed.
        prepare: Makes the state before it, anew each time.
        stride: Steps between two kills.

    Yields:
        The step of the kill.
    """
    step = 0
    prepare()
    while killed_at(step, action):
        yield step
        step += stride
        prepare()


def _count_down(step: int) -> None:
    left = step

    def counted(kind: str) -> Callable[..., object]:
        original = getattr(os, kind)

        def run(*args: object, **options: object) -> object:
            nonlocal left
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1
            return original(*args, **options)

        return run

    for kind in STEPS:
        setattr(os, kind, counted(kind))
