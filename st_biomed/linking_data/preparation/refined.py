"""The refined test set: every mention once, and only mentions that do not occur in training."""

from __future__ import annotations

from collections.abc import Iterable

from st_biomed.errors import InputError
from st_biomed.linking_data.preparation.record import StepTally, record_step
from st_biomed.linking_data.records import LinkingDataset, Mention
from st_biomed.settings.keyword_options import listed


def refine(dataset: LinkingDataset, *, split: str = "test", seen: str | Iterable[str] = "train,dev") -> LinkingDataset:
    """Add a split ``test_refined``; ``test`` stays unchanged.

    Two mentions are equal if their parts, lower-cased, and their gold ids are equal (Tutubalina et al., COLING 2020).
    The first of equal mentions in ``split`` is kept, unless an equal one is in ``seen``. Equality depends on the steps
    before this one: the published sets are refined after BioSyn's preprocessing.

    Args:
        dataset: A data set with ``split`` and at least one of ``seen``.
        seen: The training splits; splits that the data set does not have are ignored.

    Raises:
        InputError: There is no such split, none of ``seen``, or ``split`` is among them.
    """
    known = [name for name in listed("seen", seen) if name in dataset.mentions]
    if not known or split in known:
        raise InputError(
            f"refine: seen= must name at least one split other than {split!r} of "
            f"{', '.join(map(repr, dataset.mentions))}"
        )
    tally = StepTally()
    trained = {_key(mention) for name in known for mention in dataset.split(name)}
    kept: dict[tuple[tuple[str, ...], frozenset[str]], Mention] = {}
    for mention in dataset.split(split):
        tally.read()
        key = _key(mention)
        if key in trained:
            tally.drop(f"seen in {' or '.join(known)}")
        elif key in kept:
            tally.drop("repeated")
        else:
            kept[key] = mention
            tally.keep()
    mentions = {**dataset.mentions, f"{split}_refined": tuple(kept.values())}
    return record_step(dataset, f"refine({split})", tally, mentions=mentions)


def _key(mention: Mention) -> tuple[tuple[str, ...], frozenset[str]]:
    return tuple(part.lower() for part in mention.parts), mention.ids
