"""Extraction of mentions from raw text: megabytes a second against a named automaton, and with two processes."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.harness import Table, interleaved
from st_biomed.corpus.blocks import blocks
from st_biomed.corpus.matching import TermMatcher
from st_biomed.corpus.matching_rules import MatchPolicy
from st_biomed.corpus.mentions import mention_contexts
from st_biomed.corpus.raw_text import Document, documents
from st_biomed.records import Record, SourceInfo, Term
from st_biomed.terminology import Terminology

SOURCE = SourceInfo("INVENTED", "Invented terms", license="CC0-1.0", redistributable=True)
SYLLABLES = [
    "".join(pair) for pair in np.array(np.meshgrid(list("bcdflmnprstvz"), list("aeiou"))).T.reshape(-1, 2).tolist()
]
N_WORDS = 60_000
WORDS_OF_A_DOCUMENT = 1_000
COPIES = 10


def vocabulary(rng: np.random.Generator) -> list[str]:
    """Invented words, the frequent ones short."""
    lengths = np.minimum(1 + np.arange(2 * N_WORDS) // 60, rng.integers(2, 6, size=2 * N_WORDS))
    words = ("".join(rng.choice(SYLLABLES, size=n).tolist()) for n in lengths.tolist())
    return list(dict.fromkeys(words))[:N_WORDS]


def frequencies(n: int) -> np.ndarray:
    """Zipf's law."""
    weights = 1 / (np.arange(n) + 3.0)
    return weights / weights.sum()


def terms(n: int, words: list[str], rng: np.random.Generator) -> list[str]:
    """Terms of one to five words, rarer ones than running text has."""
    lengths = rng.choice([1, 2, 3, 4, 5], size=2 * n, p=[0.1, 0.3, 0.3, 0.2, 0.1])
    chosen = rng.integers(N_WORDS // 6, N_WORDS, size=(2 * n, 5))
    chosen[:, 1:] = rng.choice(N_WORDS, size=(2 * n, 4), p=frequencies(N_WORDS))
    names = (" ".join(words[w] for w in row[:length]) for row, length in zip(chosen.tolist(), lengths.tolist()))
    return list(dict.fromkeys(names))[:n]


def running_text(n_bytes: int, words: list[str], names: list[str], rng: np.random.Generator) -> str:
    """Documents, one a line, in which one word in forty begins a term and one in twelve ends a clause."""
    lines, size = [], 0
    while size < n_bytes:
        drawn = rng.choice(N_WORDS, size=WORDS_OF_A_DOCUMENT, p=frequencies(N_WORDS)).tolist()
        kinds = rng.random(WORDS_OF_A_DOCUMENT)
        pieces = [
            names[rng.integers(len(names))] if kind < 0.025 else words[w] + ("," if kind > 0.92 else "")
            for w, kind in zip(drawn, kinds.tolist())
        ]
        lines.append(" ".join(pieces))
        size += len(lines[-1]) + 1
    return "\n".join(lines) + "\n"


def automaton(names: list[str], texts: list[str]) -> tuple[Callable[[], int], float] | None:
    """Every overlapping match of ahocorasick-rs, those at word boundaries kept, the longest of each place; and its build."""
    try:
        from ahocorasick_rs import AhoCorasick
    except ImportError:
        return None
    start = time.perf_counter()
    built = AhoCorasick([name.lower() for name in names])
    seconds = time.perf_counter() - start

    def find() -> int:
        n_found = 0
        for text in texts:
            text = text.lower()
            inside = [
                (start, end)
                for _, start, end in built.find_matches_as_indexes(text, overlapping=True)
                if not (start and text[start - 1].isalnum()) and not (end < len(text) and text[end].isalnum())
            ]
            reached = 0
            for start, end in sorted(inside, key=lambda span: (span[0], -span[1])):
                if start >= reached:
                    reached, n_found = end, n_found + 1
        return n_found

    return find, seconds


def contexts(matcher: TermMatcher, path: Path) -> dict[str, Callable[[], object]]:
    """From a file to a dataset, in one process and in two."""
    return {
        "file to contexts": lambda: mention_contexts(matcher, documents(path)),
        "file to contexts, 2 processes": lambda: mention_contexts(matcher, documents(path), processes=2),
    }


def main(*, quick: bool = False) -> Table:
    sizes, n_bytes, repeats = ((2_000,), 200_000, 1) if quick else ((100_000, 1_000_000), 20_000_000, 3)
    rows = []
    for n_terms in sizes:
        rng = np.random.default_rng(0)
        words = vocabulary(rng)
        names = terms(n_terms, words, rng)
        text = running_text(n_bytes, words, names, rng)
        records: Iterator[Record] = (Term(f"INVENTED:{i}", name) for i, name in enumerate(names))
        terminology = Terminology.from_records(records, SOURCE)
        start = time.perf_counter()
        matcher = TermMatcher(terminology, "en", MatchPolicy(minimum_length=1, acronym_length=0))
        built = time.perf_counter() - start
        with tempfile.TemporaryDirectory() as folder:
            path, many = Path(folder, "text.txt"), Path(folder, "many.txt")
            path.write_text(text, encoding="utf-8")
            many.write_text(text * COPIES, encoding="utf-8")
            read = list(documents(path))
            ways: dict[str, Callable[[], object]] = {
                "matches": partial(count, matcher, read),
                **contexts(matcher, path),
            }
            peer = automaton(names, [document.text for document in read])
            if peer is not None:
                ways["matches by ahocorasick-rs and filters"] = peer[0]
                if (theirs := peer[0]()) != (own := count(matcher, read)):
                    raise AssertionError(f"{theirs} matches by the automaton, {own} by ours")
            times = interleaved(ways, repeats, warmup=0 if quick else 1)
            long = interleaved(contexts(matcher, many), 1, warmup=0)
        megabytes = len(text.encode()) / 1e6
        for size, timings in ((megabytes, times), (megabytes * COPIES, long)):
            for way, timing in timings.items():
                build = peer[1] if peer is not None and "ahocorasick" in way else built
                rows.append(
                    [f"{n_terms:,}", way, f"{size:.0f} MB", f"{size / timing.median:.1f} MB/s", f"{build:.1f} s"]
                )
        rows[-len(times) - len(long)].append(f"{matcher.nbytes / 1e6:.0f} MB")
    return Table(
        "Mentions in raw text",
        ["terms", "way", "text", "speed", "dictionary built in", "dictionary"],
        [row + [""] * (6 - len(row)) for row in rows],
        notes=[
            "Invented text whose words follow Zipf's law, one word in forty the beginning of a term of one to five words; the "
            f"long one is the short one {COPIES} times. Matches: the longest at each place, at word boundaries, any case; the "
            "automaton finds the same number with every overlapping match filtered afterwards. File to contexts: reading, "
            "matching, 32-word windows and the dataset. Two processes: their start included, which takes about as long as the "
            "short text. Goals for one core: 10 MB/s with 100,000 terms, 4 MB/s with a million."
        ],
        peers=["ahocorasick-rs"] if peer is not None else [],
    )


def count(matcher: TermMatcher, read: list[Document]) -> int:
    """How many mentions there are."""
    return sum(len(matcher.find(block.text).starts) for block in blocks(read))
