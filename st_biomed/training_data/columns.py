"""The columns of each kind of training data, and the meaning of its label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from datasets import List, Value

from st_biomed.errors import InputError

if TYPE_CHECKING:
    from datasets import Dataset

    from st_biomed.terminology import Terminology

LABEL = "label"
_MARK = "terminology:"


@dataclass(frozen=True, slots=True)
class SampleKind:
    """The contract of one kind of training data.

    sentence-transformers embeds every column that is not the label, so a dataset holds these columns and no other.

    Attributes:
        texts: The text columns, in order.
        label: Meaning of the ``label`` of a row.
        type: Type of the label: one int64, or one for each text.
    """

    name: str
    texts: tuple[str, ...]
    label: str
    type: Value | List

    def matches(self, dataset: Dataset) -> bool:
        """Whether a dataset has exactly these columns."""
        return sorted(dataset.column_names) == sorted((*self.texts, LABEL))

    def check(self, dataset: Dataset) -> None:
        """Reject a dataset of another kind.

        Raises:
            InputError: With the columns found and those expected, or the type of the label.
        """
        if not self.matches(dataset):
            raise InputError(
                f"{self.name}: expected the columns {[*self.texts, LABEL]}, found {sorted(dataset.column_names)}"
            )
        if (found := dataset.features[LABEL]) != self.type:
            raise InputError(f"{self.name}: label must be {self.label} of type {self.type}, found {found}")


NAMES = SampleKind("names", ("text",), "the text id of the name", Value("int64"))
DEFINITIONS = SampleKind(
    "names and definitions",
    ("text",),
    "the text id of the name, or the number of names plus the row of the definition",
    Value("int64"),
)
RELATIONS = SampleKind(
    "relations",
    ("name_a", "name_b"),
    "the concept and the other concept of each name, see RelationLookup",
    List(Value("int64"), length=2),
)

MENTION_PAIRS = SampleKind(
    "mention pairs", ("mention", "name"), "the text ids of the mention and of the name", List(Value("int64"), length=2)
)


def description(terminology: Terminology) -> str:
    """The dataset description that identifies the terminology of the labels."""
    return f"{_MARK}{terminology.digest}"


def terminology_digest(dataset: Dataset) -> str | None:
    """The digest of the terminology of a dataset's labels; ``None`` if the dataset does not record it.

    Raises:
        InputError: Datasets of several terminologies were joined, whose labels mean different texts.
    """
    text = dataset.info.description or ""
    if text.count(_MARK) > 1:  # concatenate_datasets joins descriptions
        raise InputError("the dataset joins rows of several terminologies: merge these, and make it of the result")
    return text.removeprefix(_MARK) if text.startswith(_MARK) else None


def check_terminology(dataset: Dataset, digest: str) -> None:
    """Reject a dataset whose labels are known to come from another terminology.

    Raises:
        InputError: With both digests.
    """
    found = terminology_digest(dataset)
    if found is not None and found != digest:
        raise InputError(f"the dataset's labels come from terminology {found[:12]}, expected {digest[:12]}")


def labels_of(dataset: Dataset) -> np.ndarray:
    """The label column, int64 ``[N]`` or ``[N, n]``, without any format or transform of the dataset."""
    column = dataset.select_columns(LABEL).with_format("arrow")[:][LABEL]
    if isinstance(column.type, pa.FixedSizeListType):
        return column.combine_chunks().flatten().to_numpy().reshape(len(column), column.type.list_size)
    return column.to_numpy()
