"""A mention in its context: long forms, the marked window, and the column of contexts in every format."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from st_biomed.errors import InputError
from st_biomed.linking.context_texts import expand_from_contexts, marked_contexts
from st_biomed.linking.mention_files import BadRow, read_mentions
from tests.linking.linked_files import FORMATS, save

DEFINED = "The gradtha disease (GD) is rare. Acute GD is mild; GD-free intervals."


def test_a_short_form_becomes_the_long_form_of_its_own_context() -> None:
    """Catches long forms of another row, and a mention without a context that is changed."""
    mentions = ["GD", "acute GD", "GD", "GD", "GDs"]
    contexts = [DEFINED, DEFINED, None, "The gland duct (GD) is long.", DEFINED]
    assert expand_from_contexts(mentions, contexts) == [
        "gradtha disease",
        "acute gradtha disease",
        "GD",
        "gland duct",
        "gradtha disease",
    ]


def test_markers_are_not_part_of_a_definition() -> None:
    """Catches brackets of a marker that hide those of a definition, and a marker that is taken for a short form."""
    marked = [
        *marked_contexts(["GD"], [DEFINED], window=20),
        "mimpic sarsta [Ms] Ms [Me] and",
        "mild sarsta [Ms]Ms[Me]",
    ]
    assert expand_from_contexts(["GD", "Ms", "Ms"], marked) == ["gradtha disease", "Ms", "Ms"]


@pytest.mark.parametrize(
    "mention, context, expected",
    [
        ("GD", DEFINED, "The gradtha disease ( [Ms] GD [Me] ) is rare. Acute GD"),
        ("flumpa  disease", "no\nFlumpa\tDisease here", "no [Ms] Flumpa Disease [Me] here"),
        ("flu", "Flumpa, FLU or flu", "Flumpa, FLU or [Ms] flu [Me]"),  # whole words; the same case first
        ("flu", "Flumpa FLU", "Flumpa [Ms] FLU [Me]"),
        ("c++ (x)", "a c++ (x), b", "a [Ms] c++ (x) [Me] , b"),
        ("flu", "influenza", None),
        ("flu", "", None),
        ("flu", None, None),
        ("gout", "acute [Ms]flu[Me] here", "acute [Ms]flu[Me] here"),
        ("flu", "[Me] flu [Ms]", "(Me) [Ms] flu [Me] (Ms)"),  # no mention is marked
    ],
)
def test_the_mention_is_marked_where_it_stands(mention: str, context: str | None, expected: str | None) -> None:
    (found,) = marked_contexts([mention], [context], window=8)
    assert found == expected


def test_windows_are_those_of_the_corpus() -> None:
    """As many tokens on both sides, more on one where the text ends; catches a window of the neighboring row."""
    words = " ".join(f"w{i}" for i in range(20))
    found = marked_contexts(["w9", "absent", "w0", "w19"], [words] * 4, window=5)
    assert found == ["w7 w8 [Ms] w9 [Me] w10 w11", None, "[Ms] w0 [Me] w1 w2 w3 w4", "w15 w16 w17 w18 [Ms] w19 [Me]"]


@pytest.mark.parametrize("form", FORMATS)
def test_the_column_of_contexts_is_read_in_every_format(form: str, tmp_path: Path) -> None:
    rows = [{"near": "a  b ", "mention": "b"}, {"near": "", "mention": "c"}]
    path = save(tmp_path / f"in.{form}", rows)
    table = read_mentions(path, form, "mention", context="near")
    assert [(row.text, row.context) for row in table.rows if not isinstance(row, BadRow)] == [
        ("b", "a  b "),
        ("c", ""),
    ]
    assert all(row.context == "" for row in read_mentions(path, form, "mention").rows if not isinstance(row, BadRow))
    if form == "jsonl":
        (first, _) = read_mentions(path, form, "mention", context="far").rows
        assert isinstance(first, BadRow) and first.reason == "no field 'far'; the object has ['near', 'mention']"
    else:
        with pytest.raises(
            InputError, match=r"no column 'far'; .*the columns are \['near', 'mention'\] \(--context\)"
        ):
            read_mentions(path, form, "mention", context="far")


def test_a_field_of_contexts_may_have_any_name(tmp_path: Path) -> None:
    """Catches fields that are taken in the order of their names: a name before that of the mention would be the mention."""
    (tmp_path / "in.jsonl").write_text('{"about": "a b c", "text": "b"}\n')
    (row,) = read_mentions(tmp_path / "in.jsonl", "jsonl", context="about").rows
    assert not isinstance(row, BadRow) and (row.text, row.context) == ("b", "a b c")


def test_a_context_that_is_no_string_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "a", "near": 3}\n{"text": "a", "near": null}\n')
    bad, good = read_mentions(tmp_path / "in.jsonl", "jsonl", context="near").rows
    assert isinstance(bad, BadRow) and bad.reason == "field 'near' must be a string, found 3"
    assert not isinstance(good, BadRow) and good.context == ""
    pq.write_table(pa.table({"text": ["a"], "near": [3]}), tmp_path / "in.parquet")
    with pytest.raises(InputError, match="column 'near' is of type int64, expected strings"):
        read_mentions(tmp_path / "in.parquet", "parquet", context="near")
