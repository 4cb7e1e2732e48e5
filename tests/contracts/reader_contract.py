"""What every reader must do. A reader's test file subclasses :class:`ReaderContract` and names its fixture."""

from __future__ import annotations

import inspect
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from st_biomed.errors import InputError
from st_biomed.readers import reader, reader_options
from st_biomed.records import (
    Definition,
    Grouping,
    Parent,
    Record,
    Relation,
    Rows,
    SourceInfo,
    Tally,
    Term,
    Type,
    Xref,
    single_spaced,
)
from st_biomed.terminology import Terminology
from tests.hash_seeds import read_under_two_hash_seeds
from tests.readers.mutations import check_contract, check_survives, mutated

FIXTURES = Path(__file__).parents[1] / "fixtures" / "readers"


class ReaderContract:
    """Inherit, and set ``reader`` and what to read."""

    reader: str
    path: Path | None = None
    options: dict[str, Any] = {}
    separator = b","
    """What stands between two cells of the file, so that whole columns can be lost."""
    damaged_options: dict[str, Any] = {}
    """Options for damaged files, besides ``options``: those that let more of a file through."""
    of_sources = False
    """Whether a concept has a name once for each of its sources."""

    @pytest.fixture
    def tally(self) -> Tally:
        return Tally()

    @pytest.fixture
    def records(self, tally: Tally) -> list[Record]:
        """Columns of records taken apart."""
        found: list[Record] = []
        for record in reader(self.reader).records(self.path, tally=tally, **self.options):
            found.extend(record.one_by_one() if isinstance(record, Rows) else [record])
        return found

    def test_every_row_is_kept_or_dropped_for_a_reason(self, records: list[Record], tally: Tally) -> None:
        """Catches a ``continue`` that loses a row in silence."""
        assert tally.n_read > 0
        assert tally.adds_up(), str(tally)

    def test_digest_is_the_same_under_two_hash_seeds(self) -> None:
        """Catches an order taken from a set."""
        path = None if self.path is None else str(self.path)
        first, second = read_under_two_hash_seeds("terminology", self.reader, path, self.options)
        assert first == second

    def test_every_code_is_a_curie_of_a_declared_source(self, records: list[Record]) -> None:
        """Catches bare codes, which collide when terminologies are merged."""
        prefixes = {r.name for r in records if isinstance(r, SourceInfo)} | {reader(self.reader).SOURCE.name}
        for code in _codes(records):
            prefix, colon, rest = code.partition(":")
            assert colon, code
            assert rest, code
            assert prefix in prefixes

    def test_every_end_of_a_parent_relation_or_type_has_a_name(self, records: list[Record]) -> None:
        """Catches edges that the terminology would have to drop; of a grouping node only parents may have no name."""
        named = {r.code for r in records if isinstance(r, Term)}
        nameless = {r.code for r in records if isinstance(r, Grouping)}
        assert not named & nameless
        assert set(_codes(records)) == named | nameless
        assert set(_codes([r for r in records if not isinstance(r, Grouping | Parent)])) == named

    def test_no_text_is_empty_or_padded(self, records: list[Record]) -> None:
        """Catches cells passed on unstripped: "flu" and "flu " would be two texts."""
        for term in _terms(records):
            assert term.text
            assert term.text == term.text.strip()

    def test_no_definition_is_empty_or_has_lines(self, records: list[Record]) -> None:
        """Catches line breaks of the source, which are no part of what it says."""
        for record in records:
            if isinstance(record, Definition):
                assert record.text
                assert record.text == single_spaced(record.text)

    def test_a_concept_has_one_preferred_name_and_no_name_twice(self, records: list[Record]) -> None:
        """Catches a synonym equal to the title, which would count as a positive pair of one text."""
        preferred = Counter(term.code for term in _terms(records) if term.kind == "preferred")
        assert set(preferred) == {term.code for term in _terms(records)}
        assert set(preferred.values()) == {1}
        assert {term.kind for term in _terms(records)} <= {"preferred", "synonym"}
        names = ((term.code, term.text, term.language, self.of_sources and term.source) for term in _terms(records))
        assert max(Counter(names).values()) == 1

    def test_no_concept_is_its_own_parent(self, records: list[Record]) -> None:
        """Catches a block and a category under one code."""
        assert not [r for r in records if isinstance(r, Parent) and r.child == r.parent]

    def test_the_tables_hold_all_that_was_read(self, records: list[Record]) -> None:
        """Catches records that repeat each other: the builder would drop them."""
        tally = Terminology.from_records(iter(records), reader(self.reader).SOURCE).tallies["records"]
        assert tally.n_dropped == 0, str(tally)

    def test_source_says_what_it_is_and_what_may_be_done_with_it(self) -> None:
        source = reader(self.reader).SOURCE
        assert source.name == source.name.upper()
        assert source.title
        assert source.license
        assert source.url

    def test_options_are_keywords_with_defaults_and_a_line_in_the_docstring(self) -> None:
        """Catches an option that the command line could not offer or that nobody can look up."""
        module = reader(self.reader)
        function = module.records
        path, *rest = inspect.signature(function).parameters.values()
        assert (path.name, path.default) == ("path", inspect.Parameter.empty if hasattr(module, "PATH") else None)
        assert {p.kind for p in rest} == {inspect.Parameter.KEYWORD_ONLY}
        for name, option in reader_options(self.reader).items():
            assert name not in inspect.signature(Terminology.read).parameters, f"{name} would not reach the reader"
            assert option.default is not inspect.Parameter.empty, name
            assert f"\n        {name}: " in (function.__doc__ or ""), name

    def test_a_missing_file_and_an_unknown_option_are_one_line_errors(self, tmp_path: Path) -> None:
        """Catches a bare traceback."""
        with pytest.raises(InputError) as missing:
            Terminology.read(self.reader, tmp_path / "nowhere.csv")
        with pytest.raises(InputError, match=r"unknown option|takes no options") as unknown:
            Terminology.read(self.reader, self.path, no_such_option=1)
        assert "\n" not in str(missing.value) + str(unknown.value)

    @settings(
        max_examples=settings.default.max_examples * 3 // 2,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.differing_executors],
    )
    @given(data=st.data())
    def test_a_damaged_file_is_one_line_or_read_by_the_contract(
        self, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        """Catches a traceback, a row lost in silence, and records that the tables have to drop."""
        if self.path is None or self.path.is_dir():
            pytest.skip("reads no single file: what its files can suffer stands in its own tests")
        path = tmp_path_factory.getbasetemp() / f"damaged_{type(self).__name__}" / self.path.name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data.draw(mutated(self.path.read_bytes(), self.separator)))
        check_contract(self.reader, check_survives(self.reader, path, **{**self.options, **self.damaged_options}))


def _terms(records: list[Record]) -> list[Term]:
    return [r for r in records if isinstance(r, Term)]


def _codes(records: list[Record]) -> list[str]:
    ends = {
        Term: ("code",),
        Type: ("code",),
        Xref: ("code",),
        Definition: ("code",),
        Grouping: ("code",),
        Parent: ("child", "parent"),
        Relation: ("head", "tail"),
        SourceInfo: (),
    }
    return [getattr(record, end) for record in records for end in ends[type(record)]]
