"""What OpenMP's waiting threads cost beside other processes: threads that spin, that sleep at once, and that spin for a short while."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from benchmarks.harness import Table, interleaved

POLICIES: dict[str, dict[str, str]] = {
    "default": {},
    "OMP_WAIT_POLICY=PASSIVE": {"OMP_WAIT_POLICY": "PASSIVE"},
    "GOMP_SPINCOUNT=10000": {"GOMP_SPINCOUNT": "10000"},
}
WORK = ("embed 500 names", "2 training steps of 64 pairs")


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Other processes, each with a loop that never waits."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


class Worker:
    """A process with its own wait policy that does what it is told to, one piece of work at a time."""

    def __init__(self, policy: dict[str, str]) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "GOMP_"))}
        environment |= policy
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.busy_machine"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=Path(__file__).parents[1],
        )

    def do(self, work: str) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        print(work, file=self.process.stdin, flush=True)
        while (line := self.process.stdout.readline().strip()) != "done":
            if not line and self.process.poll() is not None:
                raise RuntimeError(f"the worker ended with code {self.process.returncode}")


def work() -> None:
    """Load the encoder, then do what each line of standard input says."""
    import torch

    from st_biomed.encoder import load_encoder
    from st_biomed.losses.multi_similarity import MultiSimilarityLoss
    from st_biomed.terminology import Terminology

    terminology = Terminology.read("icd10cm")
    names = terminology.strings[:: len(terminology.strings) // 500][:500]
    model = load_encoder("sentence-transformers/all-MiniLM-L6-v2", max_length=25)
    loss = MultiSimilarityLoss(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6)
    labels = torch.arange(64)

    def step(i: int) -> None:
        columns = [model.preprocess(names[64 * i : 64 * (i + 1)]) for _ in range(2)]
        with torch.autocast("cpu", torch.bfloat16):
            loss(columns, labels).backward()
        optimizer.step()
        optimizer.zero_grad()

    for line in sys.stdin:
        if line.strip() == WORK[0]:
            model.encode(names, batch_size=64)
        else:
            model.train()
            for i in range(2):
                step(i)
        print("done", flush=True)


def main(quick: bool = False) -> Table:
    rounds, loads = (1, (0, 1)) if quick else (5, (0, 1, 2))
    workers = {name: Worker(policy) for name, policy in POLICIES.items()}
    rows = []
    try:
        for what in WORK:
            for load in loads:
                with busy(load):
                    time.sleep(1)
                    contestants = {name: partial(worker.do, what) for name, worker in workers.items()}
                    times = interleaved(contestants, repeats=rounds)
                worst = {name: max(timing.seconds) for name, timing in times.items()}
                rows.append(
                    [
                        what,
                        load,
                        *(f"{times[name].median:.2f} s ({worst[name]:.2f})" for name in POLICIES),
                        *(f"{times[name].times_faster_than(times['default']):.2f}" for name in list(POLICIES)[1:]),
                    ]
                )
    finally:
        for worker in workers.values():
            worker.process.kill()
    return Table(
        "A busy machine",
        ["work", "other busy processes", *POLICIES, *(f"times faster, {name}" for name in list(POLICIES)[1:])],
        rows,
        notes=[
            "all-MiniLM-L6-v2 in processes that take turns, beside processes that run a loop without waiting; "
            f"medians of {rounds} rounds, the slowest round in parentheses. Names are of ICD-10-CM; training is in "
            "bfloat16 with the multi-similarity loss."
        ],
        peers=["sentence-transformers"],
    )


if __name__ == "__main__":
    work()
