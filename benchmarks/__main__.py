"""``python -m benchmarks [NAME ...] [--quick]``: run the benchmarks of this folder and write their tables."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

from benchmarks import harness

HERE = Path(__file__).parent
NAMES = sorted(
    file.stem
    for file in HERE.glob("*.py")
    if file.stem not in {"__init__", "__main__", "harness"} and not file.stem.startswith("synthetic_")
)


def run(argv: list[str] | None = None) -> None:
    """Run the named benchmarks, all of them by default; a quick run is printed and not written."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one or more of: {', '.join(NAMES)}")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs; writes nothing")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="cuda: those that have a GPU form")
    arguments = parser.parse_args(argv)
    harness.DEVICE = arguments.device
    results = HERE / "results" if arguments.device == "cpu" else HERE / "results" / arguments.device
    for name in arguments.names:
        if name not in NAMES:
            parser.error(f"unknown benchmark {name!r}: allowed are {', '.join(NAMES)}")
    for name in arguments.names or NAMES:
        try:
            benchmark = importlib.import_module(f"benchmarks.{name}")
            if arguments.device not in getattr(benchmark, "DEVICES", ("cpu",)):
                print(f"{name} is left out: it has no form for {arguments.device}", flush=True)
                if arguments.names:
                    raise SystemExit(2)
                continue
            text = benchmark.main(quick=arguments.quick).markdown()
        except ModuleNotFoundError as error:  # a peer that is no extra of this package
            print(f"{name} is left out: {error}", flush=True)
            if arguments.names:
                raise SystemExit(2) from None
            continue
        print(text, flush=True)
        if not arguments.quick:
            results.mkdir(exist_ok=True)
            (results / f"{name}.md").write_text(text, "utf-8")


if __name__ == "__main__":
    run()
