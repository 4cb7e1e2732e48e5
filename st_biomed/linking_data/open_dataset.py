"""Opens a data set for linking by the name of its format: mentions, dictionary, and their coverage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from st_biomed.errors import InputError, shown
from st_biomed.linking_data.annotated import Corpus
from st_biomed.linking_data.dictionaries import open_dictionary
from st_biomed.linking_data.formats import check_options, linking_format
from st_biomed.linking_data.gold_ids import with_prefix
from st_biomed.linking_data.records import LinkingDataset, LinkingDictionary, Mention
from st_biomed.records import Tally
from st_biomed.settings.keyword_options import check_types
from st_biomed.terminology import Terminology


def open_linking(
    name: str,
    path: str | Path,
    *,
    dictionary: LinkingDictionary | Terminology | str | Path | None = None,
    prefix: str | None = None,
    **options: Any,
) -> LinkingDataset:
    """Read an annotated data set for linking, without any step of preparation.

    Args:
        name: Its format, a name of :func:`~st_biomed.linking_data.formats.linking_names`.
        path: Its file or folder.
        dictionary: The dictionary or terminology to which the mentions are linked, or its path, see
            :func:`~st_biomed.linking_data.dictionaries.open_dictionary`. The form is the format's usual one if the
            path has none. By default, the names in the files themselves, if there are any.
        prefix: CURIE prefix of bare ids, in the mentions and in the dictionary; the format's own by
            default, empty to leave them bare.
        **options: The format's own options.

    Returns:
        Mentions by split. ``tallies`` has one for the ``mentions``, one for the ``dictionary`` and, for each split,
        ``gold ids of <split>``: distinct ids, dropped if the dictionary lacks them (named by ``missing``).

    Raises:
        InputError: Unknown format or option, an option of another type, no dictionary, no mention, or an error in a file.

    Example:
        ::

            dataset = open_linking("ncbi_disease", "ncbi_disease", dictionary="medic_06Jul2012.txt.gz")
            dataset.split("test")[0]
    """
    form = linking_format(name)
    check_linking_options(name, {**options, "prefix": prefix})
    tallies = {"mentions": Tally(), "dictionary": Tally()}
    corpus = form.read(Path(path), tally=tallies["mentions"], **options)
    if prefix is None:
        prefix = form.PREFIX if corpus.prefix is None else corpus.prefix
    if not any(corpus.mentions.values()):
        raise InputError(f"{path}: no mention was read ({tallies['mentions']})")
    dataset = LinkingDataset(
        name="-".join(filter(None, (name.replace("_", "-"), corpus.variant))),
        mentions={
            split: tuple(_prefixed(mention, prefix) for mention in mentions)
            for split, mentions in corpus.mentions.items()
        },
        dictionary=_dictionary(dictionary, corpus, form.DICTIONARY, prefix, tallies["dictionary"]),
        source=form.SOURCE,
        documents=corpus.documents,
        tallies=tallies,
    )
    for split in dataset.mentions:
        tallies[f"gold ids of {split}"] = _coverage(dataset, split)
    return dataset


def check_linking_options(name: str, options: Mapping[str, Any]) -> None:
    """Reject options that :func:`open_linking` would not take: those of the format, and ``prefix``.

    Raises:
        InputError: Unknown format or option, or an option of another type.
    """
    own = {option: value for option, value in options.items() if option != "prefix"}
    check_options(name, own)
    check_types(f"linking format {name!r}", linking_format(name).read, own)
    if not isinstance(prefix := options.get("prefix"), str | None):
        raise InputError(f"linking format {name!r}: prefix must be text, found {shown(prefix)}")


def _prefixed(mention: Mention, prefix: str) -> Mention:
    gold = tuple(frozenset(with_prefix(id_, prefix) for id_ in group) for group in mention.gold)
    return replace(mention, gold=gold)


def _dictionary(
    dictionary: LinkingDictionary | Terminology | str | Path | None,
    corpus: Corpus,
    form: str,
    prefix: str,
    tally: Tally,
) -> LinkingDictionary:
    if isinstance(dictionary, str | Path):
        return open_dictionary(dictionary, form=form, prefix=prefix, tally=tally)
    if isinstance(dictionary, Terminology):
        dictionary = LinkingDictionary.from_terminology(dictionary)
    if dictionary is None:
        if not corpus.names:
            raise InputError(
                "dictionary: the files of this format have no names of concepts; pass the names with dictionary="
            )
        dictionary = LinkingDictionary.from_entries((name, (with_prefix(id_, prefix),)) for name, id_ in corpus.names)
    tally.read_kept(len(dictionary))
    return dictionary


def _coverage(dataset: LinkingDataset, split: str) -> Tally:
    tally, missing = Tally(), dataset.missing(split)
    n_gold = len({id_ for mention in dataset.split(split) for id_ in mention.ids})
    tally.read(n_gold)
    tally.keep(n_gold - len(missing))
    tally.drop("absent from the dictionary", len(missing))
    return tally
