"""Splits composite mentions: "breast or ovarian cancer" is looked up as "breast cancer" and as "ovarian cancer"."""

from __future__ import annotations

import re
from dataclasses import replace

from st_biomed.linking_data.preparation.record import StepTally, record_step
from st_biomed.linking_data.records import LinkingDataset, Mention

_COORDINATION = re.compile(r"\s*,?\s+(?:and/or|and|or|&|as well as)\s+(?:the\s+)?|\s*,\s+(?:the\s+)?|\s*/\s*")
_LEAD = re.compile(r"^(.*\b(?:of|in|to|from|with|by)\s+(?:both\s+)?(?:the\s+)?)\S")


def split_composites(dataset: LinkingDataset) -> LinkingDataset:
    """Split every mention that is annotated with several groups of ids and has not been split yet.

    The rule is :func:`parts_of`. If it does not find one part for each group, the mention stays whole. The tally
    counts the mentions that were split and those that were not.
    """
    tally = StepTally()
    mentions = {
        split: tuple(_split(mention, tally) for mention in split_mentions)
        for split, split_mentions in dataset.mentions.items()
    }
    return record_step(dataset, "split_composites", tally, mentions=mentions)


def parts_of(text: str, n_parts: int) -> tuple[str, ...]:
    """The parts of a coordination, each a complete name.

    1. The text is split at ``and``, ``or``, ``and/or``, ``&``, ``as well as``, commas and slashes. Unless this gives
       ``n_parts`` items, nothing is split.
    2. If the first item has a preposition and no later item has, the words up to it are added before every item:
       "cancer of the breast and ovaries" gives "cancer of the breast", "cancer of the ovaries".
    3. Otherwise, if the last item has several words, those after its first word are added to every item that does not
       end in the same word (except for a plural's ``s``): "breast, gastric and ovarian cancer", "breast cancer and
       ovarian cancers".
    4. Otherwise the words of the first item except its last are added before every item of one word: "cleft
       lip/palate", "pancreatic cysts and tumors".

    Args:
        text: A mention.
        n_parts: The required number of parts, at least 2.

    Returns:
        The parts, or only the text.
    """
    items = [item.strip() for item in _COORDINATION.split(text)]
    if any(item.count("(") != item.count(")") for item in items):
        items = [re.sub(r"[()]", "", item).strip() for item in items]
    if len(items) != n_parts or not all(items):
        return (text,)
    first, *others = items
    lead = _LEAD.match(first)
    if lead and not any(_LEAD.match(item) for item in others):
        return (first, *(lead[1] + item for item in others))
    tail = items[-1].split()[1:]
    if tail:
        return (*(item if _same_head(item, tail[-1]) else " ".join([item, *tail]) for item in items[:-1]), items[-1])
    words = first.split()[:-1]
    return (first, *(item if " " in item else " ".join([*words, item]) for item in others))


def _same_head(item: str, head: str) -> bool:
    return item.split()[-1].lower().removesuffix("s") == head.lower().removesuffix("s")


def _split(mention: Mention, tally: StepTally) -> Mention:
    tally.read_kept()
    if len(mention.gold) < 2 or len(mention.parts) > 1:
        return mention
    parts = parts_of(mention.parts[0], len(mention.gold))
    tally.change("split" if len(parts) > 1 else "with several ids, but not as many parts", 1)
    return replace(mention, parts=parts)
