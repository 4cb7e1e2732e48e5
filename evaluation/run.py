"""Models by benchmarks: the same as ``st-biomed evaluate``, for a checkout.

python evaluation/run.py MiniLM out/sapbert --data DATA --output out/evaluation
"""

from __future__ import annotations

import sys

from st_biomed.cli import app

if __name__ == "__main__":
    app(["evaluate", *sys.argv[1:]])
