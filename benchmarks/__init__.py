"""Speed and memory against named peers: ``python -m benchmarks`` writes one table per module to ``benchmarks/results``.

A benchmark is a module of this folder with ``main(quick: bool = False) -> Table``.
"""

from __future__ import annotations
