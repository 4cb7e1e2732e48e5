"""What every format of linking data must do. A format's test file subclasses :class:`LinkingContract` and names its fixture."""

from __future__ import annotations

import inspect
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from st_biomed.errors import InputError
from st_biomed.linking_data import LinkingDataset, open_linking
from st_biomed.linking_data.dictionaries import dictionary_forms
from st_biomed.linking_data.formats import format_options, linking_format
from st_biomed.linking_data.gold_ids import NIL
from tests.hash_seeds import read_under_two_hash_seeds
from tests.readers.mutations import mutated

FIXTURES = Path(__file__).parents[1] / "fixtures" / "linking"


class LinkingContract:
    """Inherit, and set ``format`` and what to read."""

    format: str
    path: Path
    """Its fixture: a file or a folder."""
    dictionary: str | None = None
    """File of the dictionary, inside the fixture's folder; ``None`` where the files name the concepts themselves."""
    options: dict[str, Any] = {}
    damaged: str
    """The file that accidents happen to, as seen from ``path``; empty where ``path`` is the file."""
    separator = b"\t"
    """What stands between two cells of that file."""

    def open(self, path: Path | None = None) -> LinkingDataset:
        path = self.path if path is None else path
        return open_linking(self.format, path, dictionary=self.dictionary_path(), **self.options)

    def dictionary_path(self) -> str | None:
        folder = self.path if self.path.is_dir() else self.path.parent
        return None if self.dictionary is None else str(folder / self.dictionary)

    @pytest.fixture
    def dataset(self) -> LinkingDataset:
        return self.open()

    def test_every_annotation_is_kept_or_dropped_for_a_reason(self, dataset: LinkingDataset) -> None:
        """Catches a ``continue`` that loses a row in silence."""
        tally = dataset.tallies["mentions"]
        assert tally.n_read > 0
        assert tally.adds_up(), str(tally)
        assert tally.n_kept == sum(map(len, dataset.mentions.values()))

    def test_gold_ids_are_clean_and_counted_against_the_dictionary(self, dataset: LinkingDataset) -> None:
        """Catches padded ids, ``-1`` taken for a concept, and a dictionary with other prefixes than the mentions."""
        for split in dataset.mentions:
            ids = {gold_id for mention in dataset.split(split) for gold_id in mention.ids}
            assert not {
                gold_id
                for gold_id in ids
                if gold_id.lower() in NIL or gold_id != gold_id.strip() or set(gold_id) & set("|+, ")
            }
            assert all(group for mention in dataset.split(split) for group in mention.gold)
            tally = dataset.tallies[f"gold ids of {split}"]
            assert (tally.n_read, tally.n_dropped) == (len(ids), len(dataset.missing(split)))
        gold = {gold_id for split in dataset.mentions for mention in dataset.split(split) for gold_id in mention.ids}
        assert gold & dataset.dictionary.id_index.keys(), "no gold id is in the dictionary"

    def test_no_mention_or_part_is_empty_or_padded(self, dataset: LinkingDataset) -> None:
        for mention in (mention for found in dataset.mentions.values() for mention in found):
            for text in (mention.text, *mention.parts):
                assert text
                assert text == text.strip()

    def test_offsets_point_at_the_mention_in_its_document(self, dataset: LinkingDataset) -> None:
        """Catches an off-by-one between title and abstract, and offsets of another text."""
        for mention in (mention for found in dataset.mentions.values() for mention in found):
            text = dataset.documents.get(mention.document, "").lower()
            if text and mention.start >= 0:
                words = mention.text.lower().split()
                assert text[mention.start :].startswith(words[0]), mention
                assert text[: mention.end].endswith(words[-1]), mention

    def test_nothing_is_prepared_that_was_not_asked_for(self, dataset: LinkingDataset) -> None:
        assert dataset.steps == ()
        assert not any(mention.expansion for found in dataset.mentions.values() for mention in found)
        assert set(dataset.mentions) <= {"train", "dev", "test", "all"}

    def test_the_same_under_two_hash_seeds(self) -> None:
        """Catches an order taken from a set."""
        first, second = read_under_two_hash_seeds(
            "linking", self.format, str(self.path), self.dictionary_path(), self.options
        )
        assert first == second

    def test_format_says_what_it_is(self) -> None:
        module = linking_format(self.format)
        assert module.SOURCE.title
        assert module.SOURCE.license
        assert module.SOURCE.url
        assert module.DICTIONARY in dictionary_forms()
        assert module.PREFIX.upper() == module.PREFIX

    def test_options_are_keywords_with_defaults_and_a_line_in_the_docstring(self) -> None:
        function = linking_format(self.format).read
        for name, option in format_options(self.format).items():
            assert name not in inspect.signature(open_linking).parameters, f"{name} would not reach the format"
            assert option.default is not inspect.Parameter.empty, name
            assert f"\n        {name}: " in (function.__doc__ or ""), name

    def test_a_missing_path_and_an_unknown_option_are_one_line_errors(self, tmp_path: Path) -> None:
        """Catches a bare traceback."""
        with pytest.raises(InputError) as missing:
            open_linking(self.format, tmp_path / "nowhere", dictionary=self.dictionary_path(), **self.options)
        with pytest.raises(InputError, match=r"unknown option|takes no options") as unknown:
            open_linking(self.format, self.path, no_such_option=1)
        assert "\n" not in str(missing.value) + str(unknown.value)

    def test_an_empty_folder_is_a_one_line_error(self, tmp_path: Path) -> None:
        with pytest.raises(InputError) as error:
            open_linking(self.format, tmp_path, dictionary=self.dictionary_path(), **self.options)
        assert "\n" not in str(error.value)

    @settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.differing_executors])
    @given(data=st.data())
    def test_a_damaged_file_is_one_line_or_read_by_the_contract(
        self, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        """Catches a traceback, and a row lost in silence."""
        base = tmp_path_factory.getbasetemp() / f"damaged_{type(self).__name__}"
        if self.path.is_dir():
            shutil.copytree(self.path, base, dirs_exist_ok=True)
            path, file, original = base, base / self.damaged, self.path / self.damaged
        else:
            base.mkdir(exist_ok=True)
            path = file = base / self.path.name
            original = self.path
        file.write_bytes(data.draw(mutated(original.read_bytes(), self.separator)))
        try:
            dataset = self.open(path)
        except InputError as error:
            assert str(error)
            assert "\n" not in str(error), repr(str(error))
            return
        assert dataset.tallies["mentions"].adds_up(), str(dataset.tallies["mentions"])
        self.test_no_mention_or_part_is_empty_or_padded(dataset)
