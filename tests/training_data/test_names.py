"""The dataset of names, and what a dataset tells about itself."""

from __future__ import annotations

import numpy as np
import pytest
from datasets import Dataset, concatenate_datasets

from st_biomed.errors import InputError
from st_biomed.hierarchy import Hierarchy
from st_biomed.terminology import Terminology
from st_biomed.training_data import NAMES, RELATIONS, names_dataset, terminology_digest
from st_biomed.training_data.columns import check_terminology, labels_of

TOY = Terminology.read("toy")


def test_the_label_of_a_name_is_its_text_id():
    """Would catch labels that are rows of something else, such as concepts."""
    dataset = names_dataset(TOY)
    assert dataset.column_names == ["text", "label"]
    assert dataset["text"][:] == TOY.strings
    assert dataset["label"][:] == list(range(TOY.n_texts))
    assert str(dataset.features["label"].dtype) == "int64"


def test_the_dataset_says_where_its_labels_come_from(tmp_path):
    """Would catch a mark that a selection or the disk loses."""
    dataset = names_dataset(TOY)
    assert dataset.info.description == f"terminology:{TOY.digest}"
    part = dataset.select(range(5)).shuffle(seed=0)
    part.save_to_disk(str(tmp_path / "part"))
    for again in (part, Dataset.load_from_disk(str(tmp_path / "part"))):
        assert terminology_digest(again) == TOY.digest
    assert terminology_digest(Dataset.from_dict({"text": ["a"]})) is None


def test_two_datasets_of_names_are_two_objects_over_the_same_strings():
    """Would catch a cached dataset: sentence-transformers writes the name of a training set into the object."""
    first, second = names_dataset(TOY), names_dataset(TOY)
    assert first is not second
    first.set_transform(lambda batch: {**batch, "dataset_name": ["x"] * len(batch["text"])})
    assert "dataset_name" not in second[0]
    address = [d.data.table["text"].chunk(0).buffers()[2].address for d in (first, second)]
    assert address[0] == address[1]


def test_labels_are_read_past_formats_transforms_and_selections():
    """Would catch reading through sentence-transformers' transform, or around a selection."""
    dataset = names_dataset(TOY).select([7, 3, 5])
    assert labels_of(dataset).tolist() == [7, 3, 5]
    dataset.set_transform(lambda batch: {"text": ["?"] * len(batch["text"])})
    assert labels_of(dataset).tolist() == [7, 3, 5]
    assert np.array_equal(labels_of(names_dataset(TOY)), np.arange(TOY.n_texts))


def test_another_terminology_is_refused():
    with pytest.raises(InputError, match=f"terminology {TOY.digest[:12]}, expected 0123"):
        check_terminology(names_dataset(TOY), "0123")
    check_terminology(Dataset.from_dict({"text": ["a"]}), "0123")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"text": ["a"]}, r"expected the columns \['text', 'label'\], found \['text'\]"),
        ({"text": ["a"], "label": [0], "code": ["X"]}, r"found \['code', 'label', 'text'\]"),
        (
            {"text": ["a"], "label": [0.5]},
            "label must be the text id of the name of type Value\\('int64'\\), found Value.*float64",
        ),
        ({"text": ["a"], "label": [[1, 2]]}, "found List"),
    ],
)
def test_a_dataset_of_another_kind_is_refused(columns, message):
    with pytest.raises(InputError, match=message):
        NAMES.check(Dataset.from_dict(columns))


def test_rows_of_several_terminologies_are_refused():
    """Catches labels that mean names of two terminologies."""
    one, other = names_dataset(TOY), names_dataset(Terminology.read("toy", trees=2))
    assert terminology_digest(concatenate_datasets([one, one])) == TOY.digest
    with pytest.raises(InputError, match="^the dataset joins rows of several terminologies"):
        terminology_digest(concatenate_datasets([one, other]))


@pytest.mark.parametrize(
    ("mask", "found"),
    [
        (np.ones(3, dtype=bool), r"bool \[3\]"),
        (np.arange(TOY.n_texts), rf"int64 \[{TOY.n_texts}\]"),
        ([True], r"bool \[1\]"),
    ],
)
def test_a_mask_of_another_shape_or_type_is_refused(mask, found: str):
    """Catches numbers of rows that are taken for a mask."""
    with pytest.raises(InputError, match=rf"^texts must be a boolean array \[{TOY.n_texts}\], found {found}"):
        names_dataset(TOY, mask)


def test_what_is_no_terminology_has_no_names():
    with pytest.raises(InputError, match="^terminology must be a Terminology, found Hierarchy$"):
        names_dataset(Hierarchy(TOY))  # type: ignore[arg-type]


def test_no_text_column_is_the_beginning_of_another():
    """Would catch ``name`` beside ``name_b``: sentence-transformers gives the features of the one to the other too."""
    for kind in (NAMES, RELATIONS):
        for a in kind.texts:
            assert not [b for b in kind.texts if b != a and b.startswith(f"{a}_")]
