"""Recipe arguments for passages of raw text as definitions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from st_biomed.corpus.arguments import CorpusArguments
from st_biomed.corpus.coverage import Coverage
from st_biomed.corpus.matching import TermMatcher
from st_biomed.corpus.mention_limits import Caps
from st_biomed.corpus.mentions import mention_contexts
from st_biomed.errors import InputError
from st_biomed.records import Tally
from st_biomed.settings.checks import COUNT, PATH, about
from st_biomed.terminology import Terminology
from st_biomed.training_data.passages import with_passages


@dataclass
class PassageArguments(CorpusArguments):
    """The corpus, and the length and number of passages; all concepts keep their own definitions."""

    corpus: list[str] = field(
        default_factory=list, metadata=about("files and folders of raw text, for passages; none for none", PATH)
    )
    language: str = field(
        default="en", metadata={"help": "language of the corpus and of the names that are looked for in it"}
    )
    passage_words: int = field(default=40, metadata=about("words of a passage around a name", COUNT))
    passages_per_concept: int = field(
        default=16, metadata=about("maximum number of passages of a concept, drawn at random", COUNT)
    )

    def with_corpus(self, train: Terminology, tokenizer: Any) -> tuple[Terminology, Coverage | None]:
        """The training terminology with passages of the corpus as definitions, if there is a corpus.

        Args:
            train: The training terminology; names of held-out concepts are not looked for.
            tokenizer: Its mask token replaces the name in a passage; three dots do, where it has none.

        Raises:
            InputError: No name is used in the corpus, or none with other words, or an error of reading it.
        """
        if not self.corpus:
            return train, None
        found = mention_contexts(
            TermMatcher(train, self.language or None),
            self.documents(),
            window=self.passage_words,
            caps=Caps(per_concept=self.passages_per_concept),
            processes=self.processes,
        )
        print(found.coverage)
        if not len(found.dataset):
            raise InputError(f"corpus: no name of the terminology is used in {', '.join(map(str, self.corpus))}")
        mask = getattr(tokenizer, "mask_token", None) or "..."
        tally = Tally()
        trained = with_passages(train, found.dataset, mask=mask, language=self.language or "en", tally=tally)
        if not tally.n_kept:
            raise InputError(f"corpus: no passage has a word beside the name, in {', '.join(map(str, self.corpus))}")
        if tally.dropped:
            print(f"passages: {tally}")
        return trained, found.coverage
