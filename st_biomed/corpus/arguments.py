"""The arguments of every recipe that reads raw text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from st_biomed.corpus.raw_text import FORMS, Document, documents, files_of
from st_biomed.errors import InputError
from st_biomed.settings.checks import PATH, PROCESSES, about, one_of


@dataclass
class CorpusArguments:
    """The location of the text, and the options of the search for mentions in it."""

    corpus: list[str] = field(default_factory=list, metadata=about("files and folders of raw text", PATH))
    corpus_license: str = field(default="", metadata={"help": "license of the raw text, for the card"})
    text_form: str = field(
        default="auto",
        metadata=about("unit of a document: auto, lines, paragraphs, files, jsonl or xmi", one_of(*FORMS)),
    )
    text_field: str = field(default="text", metadata={"help": "key of the text, for JSON lines"})
    language: str = field(default="", metadata={"help": "language of the terms, e.g. it; all languages by default"})
    processes: int = field(default=1, metadata=about("processes that search for mentions", PROCESSES))

    def check_corpus(self) -> None:
        """Reject a corpus that does not exist before any other work.

        Raises:
            InputError: No such file or folder, no document with text, or an unknown form.
        """
        files_of(self.corpus, self.text_form)
        if next(self.documents(), None) is None:
            raise InputError(f"corpus: no document with text in {', '.join(map(str, self.corpus))}")

    def documents(self) -> Iterator[Document]:
        """The corpus, from its beginning."""
        return documents(self.corpus, form=self.text_form, field=self.text_field)
