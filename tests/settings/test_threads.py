"""How OpenMP's threads wait, as the command line and the recipes say before torch is there."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize("entrance", ["st_biomed.cli", "st_biomed.settings.first_import"])
@pytest.mark.parametrize(
    ("given", "policy"),
    [({}, "PASSIVE"), ({"OMP_WAIT_POLICY": "ACTIVE"}, "ACTIVE"), ({"GOMP_SPINCOUNT": "9"}, "None")],
)
def test_threads_wait_asleep_unless_the_environment_says_how(entrance, given, policy):
    """Catches a policy that comes after torch, where it has no effect, or that replaces a person's own."""
    code = f"import os, sys, {entrance}; print(os.environ.get('OMP_WAIT_POLICY'), 'torch' in sys.modules)"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_WAIT", "GOMP_"))}
    found = subprocess.run(
        [sys.executable, "-c", code], env={**kept, **given}, capture_output=True, text=True, check=True
    )
    assert found.stdout.split() == [policy, "False"]
