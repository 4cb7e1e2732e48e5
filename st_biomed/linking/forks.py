"""Computing in a forked process, as those of spaCy's ``n_process`` and of the ``num_proc`` of datasets are on Linux."""

from __future__ import annotations

import os
import sys

_PROCESS = os.getpid()  # a process that was forked after this import has another number, one that was spawned has not


def use_one_thread_in_a_fork() -> None:
    """Compute with one thread if this process was forked.

    OpenMP's threads do not survive a fork: a computation on several would wait for them for ever.
    """
    if os.getpid() == _PROCESS:
        return
    import torch

    torch.set_num_threads(1)
    if faiss := sys.modules.get("faiss"):
        faiss.omp_set_num_threads(1)
