"""Raw text as a part of a training: the base model's knowledge of any text is preserved, not only that of names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sentence_transformers import SentenceTransformer
from torch import nn

from st_biomed.corpus.raw_text import Document, documents, files_of
from st_biomed.errors import InputError
from st_biomed.release.run_data import CorpusData
from st_biomed.samplers import ShuffledBatches
from st_biomed.settings.checks import PATH, about, check_unused
from st_biomed.settings.origins import carry_origins, later
from st_biomed.terminology import Terminology
from st_biomed.training.part_distillation import PartDistillationArguments
from st_biomed.training.parts import MixedPartArguments, Part
from st_biomed.training.teacher import TeacherVectors
from st_biomed.training_data.passage_arguments import PassageArguments
from st_biomed.training_data.raw_passages import passages_dataset

TEXTS = "texts"
"""The part of raw text."""


@dataclass
class TextPartArguments(PassageArguments, PartDistillationArguments, MixedPartArguments):
    """The raw text of the part ``texts``; its form, and the words of a passage, are those of the corpus."""

    distilled_texts: list[str] = field(
        default_factory=list,
        metadata=about("files and folders of raw text of any kind, for the part texts; none for none", PATH),
    )
    distilled_texts_license: str = field(default="", metadata={"help": "license of distilled_texts, for the card"})

    def without_unused_text(self, parts: list[str]) -> None:
        """Make the raw text of a configuration empty if the parts were set in a later place and do not use it.

        Args:
            parts: Names of the parts.
        """
        for name, part in (("corpus", "definitions"), ("distilled_texts", TEXTS)):
            if getattr(self, name) and part not in parts and later(self, name, ("parts",)):
                carry_origins(self, self, {name})
                setattr(self, name, [])

    def check_texts(self, parts: list[str]) -> None:
        """Raise InputError if the raw text does not fit the parts, before anything is read.

        Args:
            parts: Names of the parts.

        Raises:
            InputError: The part has no text, the text has no part, the weight of self-distillation is 0, an option of
                raw text is given without any, or no such file or folder.
        """
        self._check_options_of_text()
        if not self.distilled_texts and TEXTS not in parts:
            return
        if not self.distilled_texts:
            raise InputError(f"parts: {TEXTS} needs raw text: give --distilled_texts, or omit the part")
        if TEXTS not in parts:
            raise InputError(f"distilled_texts: belong to the part {TEXTS}, found {' '.join(parts)}")
        if not self.weight_of(TEXTS):
            raise InputError(
                f"distillation: the part {TEXTS} is only distilled, and its weight is 0: give --distillation"
            )
        files_of(self.distilled_texts, self.text_form)

    def _check_options_of_text(self) -> None:
        if not self.corpus:
            names = ("corpus_license", "language", "processes", "passages_per_concept")
            check_unused(self, names, "an empty --corpus", by=("corpus",))
        if not self.distilled_texts:
            check_unused(self, ("distilled_texts_license",), "empty --distilled_texts", by=("distilled_texts",))
            if not self.corpus:
                shared = ("text_form", "text_field", "passage_words")
                both = ("corpus", "distilled_texts")
                check_unused(self, shared, "empty --corpus and --distilled_texts", by=both)

    def part(self, name: str, model: SentenceTransformer, train: Terminology, folder: Path, seed: int) -> Part:
        """As :meth:`MixedPartArguments.part`, with the additional part ``texts``, whose loss :meth:`distill_parts` makes.

        Raises:
            InputError: The raw text is empty.
        """
        if name != TEXTS:
            return super().part(name, model, train, folder, seed)
        rows = passages_dataset(self._documents(), self.passage_words)
        return Part(rows, nn.Identity(), ShuffledBatches.of(rows))

    def distill_parts(
        self,
        parts: Mapping[str, Part],
        model: SentenceTransformer,
        train: Terminology,
        *,
        max_length: int | None = None,
        bf16: bool = False,
        teachers: dict[str, TeacherVectors] | None = None,
    ) -> dict[str, nn.Module]:
        """As :meth:`PartDistillationArguments.distill_parts`; the part ``texts`` has a table of its own."""
        teachers = {} if teachers is None else teachers
        others = {name: part for name, part in parts.items() if name != TEXTS}
        losses = super().distill_parts(others, model, train, max_length=max_length, bf16=bf16, teachers=teachers)
        if TEXTS in parts:
            if TEXTS not in teachers:
                teachers[TEXTS] = self._teacher(model, parts[TEXTS].rows["text"], max_length, bf16)
            weight = self.weight_of(TEXTS)
            losses[TEXTS] = self.only_distilled(model, teachers[TEXTS], weight=weight, **self.embedding())
        return losses

    def texts_data(self) -> list[CorpusData]:
        """The record of the raw text, if there is any: names of files and folders without their location, and counts."""
        if not self.distilled_texts:
            return []
        words = [len(document.text.split()) for document in self._documents()]
        files = [Path(file).name for file in self.distilled_texts]
        return [CorpusData(files=files, documents=len(words), words=sum(words), license=self.distilled_texts_license)]

    def _documents(self) -> Iterator[Document]:
        return documents(self.distilled_texts, form=self.text_form, field=self.text_field)
