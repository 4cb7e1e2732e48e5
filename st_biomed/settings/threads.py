"""How OpenMP's threads wait: asleep, so that other work on the machine does not slow each step down."""

from __future__ import annotations

import os


def wait_asleep() -> None:
    """Make OpenMP's threads sleep while they wait, unless the environment says how they wait.

    It has an effect before torch is imported only. ``benchmarks/results/busy_machine.md`` has what it costs and gains.
    """
    if not {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & os.environ.keys():
        os.environ["OMP_WAIT_POLICY"] = "PASSIVE"


wait_asleep()
