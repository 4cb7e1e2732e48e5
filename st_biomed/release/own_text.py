"""Ordinary text: text that is allowed in any release, even if it contains names of a terminology.

It is the text of the package that writes releases: the recipes, their settings and help, the benchmarks and
their published figures, the hand-written parts of model cards, the template of the card, the code that names metrics,
losses and modules, and sentence-transformers' description of a trainer's arguments. The user's training and evaluation data are
not part of it.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from pathlib import Path

from sentence_transformers import SentenceTransformerTrainingArguments

from st_biomed.release.run_data import RunData
from st_biomed.release.term_search import TermSearch
from st_biomed.settings.bundled import bundled_folder
from st_biomed.terminology import Terminology

_FOLDERS = ("recipes", "recipes/configs", "evaluation", "evaluation/benchmarks", "model_cards")
"""Folders without their subfolders, which have results and cards of runs."""
_CODE = ("evaluators", "few_shot", "kge", "losses", "metrics", "modules", "release")
_TEXT = (".md", ".py", ".yaml")


@cache
def package() -> TermSearch:
    """The texts, ready to be searched for names."""
    return TermSearch({"": _texts()})


def said_of_sources(run: RunData) -> str:
    """A record's information on the redistributable sources of every stage, whose names need not be available."""
    terminologies = chain(run["terminologies"], *(stage["terminologies"] for stage in run["earlier"]))
    sources = (
        source for terminology in terminologies for source in terminology["sources"] if source["redistributable"]
    )
    return "\n\n".join(source[part] for source in sources for part in ("name", "title", "version", "license", "url"))


def labels_of(terminologies: Sequence[Terminology]) -> Iterator[str]:
    """Sources of terminologies, and names of types and relations, which are headings in tables of results."""
    for terminology in terminologies:
        for source in terminology.sources.values():
            yield from (source.name, source.title, source.version, source.license, source.url)
        for table, column in ((terminology.types, "type"), (terminology.relations, "relation")):
            yield from table[column].unique().to_pylist()


def _texts() -> Iterator[str]:
    written = [folder for folder in map(bundled_folder, _FOLDERS) if folder is not None]
    for folder in [*written, *(Path(__file__).parents[1] / name for name in _CODE)]:
        yield from (path.read_text("utf-8") for path in sorted(folder.iterdir()) if path.suffix in _TEXT)
    for host in inspect.getmro(SentenceTransformerTrainingArguments)[:-1]:
        yield host.__doc__ or ""
        yield "\n\n".join(vars(host).get("__annotations__", {}))
