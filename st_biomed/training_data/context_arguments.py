"""Recipe arguments for mentions in context."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow.compute as pc
from datasets import Dataset, concatenate_datasets

from st_biomed.corpus.arguments import CorpusArguments
from st_biomed.corpus.coverage import Coverage
from st_biomed.corpus.matching import TermMatcher
from st_biomed.corpus.mention_limits import Caps
from st_biomed.corpus.mentions import mention_contexts
from st_biomed.settings.checks import COUNT, about
from st_biomed.terminology import Terminology
from st_biomed.training_data.names import names_dataset


@dataclass
class ContextArguments(CorpusArguments):
    """The corpus, and the length and number of contexts per term (the Italian paper, sections 3.1 and 4)."""

    language: str = field(default="it", metadata={"help": "language of the terms; empty for all languages"})
    window: int = field(default=32, metadata=about("tokens of a context (3.1)", COUNT))
    contexts_per_term: int = field(default=4, metadata=about("maximum number of contexts per term (4)", COUNT))
    bare_names: bool = field(
        default=False,
        metadata={"help": "also train on the bare names, most of which may never be mentioned in a text"},
    )

    def rows(self, terminology: Terminology, tokenizer: Any) -> tuple[Dataset, Coverage | None]:
        """Mentions in context, and bare names on request; the label is the text id of the term.

        Args:
            terminology: The terminology of the terms; only those of ``language`` if it is set.
            tokenizer: Counts the tokens of a context.

        Returns:
            The rows, and the report of the corpus if there is one.
        """
        parts, coverage = [], None
        if self.corpus:
            contexts = mention_contexts(
                TermMatcher(terminology, self.language or None),
                self.documents(),
                window=self.window,
                tokenizer=tokenizer,
                caps=Caps(per_term=self.contexts_per_term),
                processes=self.processes,
            )
            coverage = contexts.coverage
            print(coverage)
            parts.append(contexts.dataset.select_columns(["text", "label"]))
        if self.bare_names:
            chosen = terminology.subset(languages=[self.language]) if self.language else terminology
            ids = pc.index_in(chosen.texts["text"], value_set=terminology.texts["text"].combine_chunks())
            names = names_dataset(terminology).select(ids.to_numpy())
            parts.append(names.cast(parts[0].features) if parts else names)  # those of many contexts are large strings
        return concatenate_datasets(parts) if len(parts) > 1 else parts[0], coverage
