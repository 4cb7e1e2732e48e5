"""Digests of what is read in two interpreters whose sets have different orders; each starts once and reads for every test."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from functools import cache
from typing import Any

SEEDS = ("1", "2")

_SERVER = """
import json, sys

from st_biomed.linking_data import open_linking
from st_biomed.terminology import Terminology


def terminology(name, path, options):
    return Terminology.read(name, path, **options).digest


def linking(name, path, dictionary, options):
    dataset = open_linking(name, path, dictionary=dictionary, **options)
    mentions = [(s, m.text, m.parts, [sorted(g) for g in m.gold], m.document, m.start) for s in dataset.mentions for m in dataset.split(s)]
    return [mentions, dataset.dictionary.digest, dataset.documents, [str(t) for t in dataset.tallies.values()]]


for line in sys.stdin:
    kind, arguments = json.loads(line)
    print(json.dumps({"terminology": terminology, "linking": linking}[kind](*arguments)), flush=True)
"""


def read_under_two_hash_seeds(kind: str, *arguments: Any) -> tuple[str, str]:
    """What ``kind`` ("terminology", "linking") makes of the arguments, in an interpreter of each seed, as JSON: its order counts.

    Raises:
        RuntimeError: An interpreter ended; its traceback is on the standard error.
    """
    first, second = (_answer(seed, json.dumps([kind, arguments], default=str)) for seed in SEEDS)
    return first, second


def _answer(seed: str, question: str) -> str:
    reader = _interpreter(seed)
    assert reader.stdin
    assert reader.stdout
    reader.stdin.write(question + "\n")
    reader.stdin.flush()
    if not (line := reader.stdout.readline()):
        _interpreter.cache_clear()
        raise RuntimeError(f"the interpreter with PYTHONHASHSEED={seed} ended with {reader.wait()}")
    return line


@cache
def _interpreter(seed: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVER],
        env={**os.environ, "PYTHONHASHSEED": seed},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(process.kill)
    return process
