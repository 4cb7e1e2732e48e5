"""Correct answers for linked mentions: composite mentions, alternative ids, and gold that the dictionary lacks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from st_biomed.csr import CSR
from st_biomed.errors import InputError, check_name, check_several

GOLD_MATCHES = ("any", "exact", "first")
"""A candidate with one of the gold ids; with exactly the ids of a group (or of all groups); of only the first group."""

NIL = ("skip", "error")
MISSING_GOLD = ("count_as_miss", "skip")


class Gold(NamedTuple):
    """The correct answers of P looked-up strings that belong to N mentions.

    Attributes:
        mentions: Indices of the measured mentions in the input, ``[N]``.
        owner: The measured mention of each string, ``[P]``.
        part: Index of each string among the parts of its mention, ``[P]``.
        sets: String to the id sets; it must match one of them: P rows.
        ids: Id set to its ids, by index; ids that the dictionary lacks follow those it has.
        exact: Whether a candidate must have exactly the ids of a set.
        coverable: Whether the dictionary contains the gold of each mention with gold ids,
            ``[N + skipped for missing gold]``.
        n_nil: Mentions without any gold id, which are never measured.
        n_missing: Mentions left out because the dictionary lacks their gold.
    """

    mentions: np.ndarray
    owner: np.ndarray
    part: np.ndarray
    sets: CSR
    ids: CSR
    exact: bool
    coverable: np.ndarray
    n_nil: int
    n_missing: int

    @property
    def coverage(self) -> float:
        """Share of the mentions with gold ids whose parts all have an id in the dictionary."""
        return float(self.coverable.mean()) if len(self.coverable) else 0.0


def gold_of_mentions(
    groups: Sequence[Sequence[Collection[str]]],
    n_parts: Sequence[int],
    known: Mapping[str, int],
    *,
    align_parts: bool = True,
    gold_match: str = "any",
    nil: str = "skip",
    missing_gold: str = "count_as_miss",
) -> Gold:
    """The correct answers for each part of each mention.

    Every part may match any id of its mention, as in BioSyn's and SapBERT's scripts, so one concept can answer both
    parts of a composite mention. With ``align_parts``, part i must match group i if parts and groups are equally many.

    Args:
        groups: The gold ids of each mention: sets of alternative ids.
        n_parts: Number of strings to look up for each mention.
        known: Id to its index in the dictionary.
        align_parts: Whether part i must match group i.
        gold_match: See :data:`GOLD_MATCHES`. With ``"first"`` only the first part is looked up if parts and groups are
            equally many.
        nil: ``"skip"`` leaves out mentions without gold ids, ``"error"`` rejects them.
        missing_gold: ``"count_as_miss"`` keeps mentions whose gold the dictionary lacks, ``"skip"`` leaves them out.

    Raises:
        InputError: An unknown option, lists of different lengths, a mention without gold ids if that is an error, one
            without parts, a string in place of a set of ids, or no mention left.
    """
    if len(groups) != len(n_parts):
        raise InputError(
            f"gold: expected the number of parts of each of {len(groups):,} mentions, found {len(n_parts):,}"
        )
    for kind, value, allowed in (
        ("gold_match", gold_match, GOLD_MATCHES),
        ("nil", nil, NIL),
        ("missing_gold", missing_gold, MISSING_GOLD),
    ):
        check_name(kind, value, allowed)
    exact = gold_match == "exact"
    places = dict(known)
    set_numbers: dict[frozenset[str], int] = {}
    mentions: list[int] = []
    coverable: list[bool] = []
    strings: list[tuple[int, int]] = []  # owner and part of each string
    answers: list[tuple[int, int]] = []  # string and set
    n_nil = 0
    for i, (group, parts) in enumerate(zip(groups, n_parts, strict=True)):
        if not any(group):
            n_nil += 1
            continue
        if parts < 1:
            raise InputError(f"gold: mention {i + 1} has {parts} parts, expected 1 or more")
        for ids in group:
            check_several("gold", ids, "ids")
        wanted = _sets_of_parts(group, parts, align_parts, gold_match)
        found = all(any(_findable(id_set, known, exact) for id_set in sets) for sets in wanted)
        coverable.append(found)
        if missing_gold == "skip" and not found:
            continue
        for part, sets in enumerate(wanted):
            answers.extend((len(strings), set_numbers.setdefault(id_set, len(set_numbers))) for id_set in sets)
            strings.append((len(mentions), part))
        mentions.append(i)
    if n_nil and nil == "error":
        raise InputError(f"{n_nil:,} of {len(groups):,} mentions have no gold id; nil='skip' leaves them out")
    if not mentions:
        lacking = f"the dictionary lacks the gold of {len(coverable):,}"
        raise InputError(f"none of {len(groups):,} mentions can be measured: {n_nil:,} have no gold id, {lacking}")
    string, sets = np.array(answers).T
    members = [
        (row, places.setdefault(identifier, len(places)))
        for ids, row in set_numbers.items()
        for identifier in sorted(ids)
    ]
    set_rows, ids = np.array(members, dtype=np.int64).reshape(-1, 2).T
    owner, part = np.array(strings).T
    return Gold(
        mentions=np.array(mentions),
        owner=owner,
        part=part,
        sets=CSR.from_pairs(string, sets, len(strings)),
        ids=CSR.from_pairs(set_rows, ids, len(set_numbers)),
        exact=exact,
        coverable=np.array(coverable),
        n_nil=n_nil,
        n_missing=len(coverable) - len(mentions),
    )


def _sets_of_parts(
    groups: Sequence[Collection[str]], n_parts: int, align_parts: bool, gold_match: str
) -> list[list[frozenset[str]]]:
    """The id sets of each part that is looked up; a part is right if it matches any of its sets."""
    agree = len(groups) == n_parts
    if gold_match == "first":
        groups, n_parts = groups[:1], 1 if agree else n_parts
    if align_parts and agree:
        return [[frozenset(group)] for group in groups]
    union = frozenset().union(*groups)
    single = [frozenset(group) for group in groups if group] if gold_match == "exact" else []
    return [[*dict.fromkeys([*single, union])]] * n_parts


def _findable(ids: frozenset[str], known: Mapping[str, int], exact: bool) -> bool:
    """Whether the dictionary has an id of the set, or all of them where the match is exact."""
    return bool(ids) and (all if exact else any)(identifier in known for identifier in ids)
