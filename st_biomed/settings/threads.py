"""OpenMP's threads sleep while they wait, so that other work on the machine does not slow down each step."""

from __future__ import annotations

import os


def wait_asleep() -> None:
    """Make OpenMP's threads sleep while they wait, unless the environment sets their behavior.

    This has an effect only before torch is imported. ``benchmarks/results/busy_machine.md`` has its costs and gains.
    """
    if not {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & os.environ.keys():
        os.environ["OMP_WAIT_POLICY"] = "PASSIVE"


wait_asleep()
