"""The arguments for the frozen encoder of a few-shot encoder."""

from __future__ import annotations

from dataclasses import dataclass, field

from st_biomed.encoder import POOLINGS
from st_biomed.encoder.foreign_code import FLAG_HELP
from st_biomed.few_shot.frozen_encoder import InputForm
from st_biomed.settings.checks import COUNT, PATH, about, at_least, check_unused, one_of


@dataclass
class InputArguments:
    """The arguments of :class:`~st_biomed.few_shot.frozen_encoder.InputForm`."""

    base_model: str = field(
        default="sentence-transformers/all-MiniLM-L6-v2",
        metadata=about(
            "encoder folder or Hub id, fastText's .bin or .vec, word2vec's .txt, or a matrix in .npy (3.1)", PATH
        ),
    )
    trust_remote_code: bool = field(default=False, metadata={"help": FLAG_HELP})
    pooling: str = field(
        default="",
        metadata=about("pooling: cls, mean, max or lasttoken; the base model's own by default", one_of("", *POOLINGS)),
    )
    max_length: int | None = field(
        default=None, metadata=about("maximum number of tokens per name; the base model's own by default", at_least(3))
    )
    vocabulary: str = field(default="", metadata={"help": "vocabulary of a matrix: a file with one entry per line"})
    unit: str = field(
        default="word",
        metadata=about("unit of the entries of a matrix: word, or name for a whole name", one_of("word", "name")),
    )
    width: int | None = field(
        default=None, metadata=about("dimension to which a random projection maps the vectors (2.2)", COUNT)
    )

    def input_form(self) -> InputForm:
        """The source of the vectors of names.

        Raises:
            InputError: An option of encoders for a table of word vectors.
        """
        form = InputForm(
            self.base_model,
            self.pooling,
            self.max_length,
            self.vocabulary,
            self.unit,
            self.width,
            self.trust_remote_code,
        )
        if form.is_table:
            check_unused(self, ("pooling", "max_length"), "a table of word vectors", by=("base_model",))
        return form
