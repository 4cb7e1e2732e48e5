"""Languages of names: one spelling of each in every reader, in the rows of a file and as an option."""

from __future__ import annotations

from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.readers._languages import language_of
from st_biomed.terminology import Terminology

OF_ROWS = {
    "parent_child": "code,name,language\n1,flumpa,{}\n",
    "ssslm": "text\tcurie\tname\tpredicate\tlanguage\nflumpa\tZ:1\tflumpa\trdfs:label\t{}\n",
    "babelon": "subject_id\tpredicate_id\ttranslation_language\ttranslation_value\nZ:1\trdfs:label\t{}\tflumpa\n",
}
OF_OPTIONS = {
    "fsh": 'CodeSystem: Zorb\n* #1 "flumpa"\n',
    "name_pairs": "1||flumpa\n",
    "obo": "ontology: zorb\n\n[Term]\nid: ZORB:1\nname: flumpa\n",
    "parent_child": "code,name\n1,flumpa\n",
    "ssslm": "text\tcurie\tname\tpredicate\nflumpa\tZ:1\tflumpa\trdfs:label\n",
}
TAGS = {
    "en-US": "en",
    "EN": "en",
    "es-419": "es",
    "yue": "yue",
    "zh-Hans-CN": "zh",
    "pt_BR": "pt",
    "ENG": "en",
    "deu": "de",
    "GER": "de",
}


def read(reader: str, folder: Path, text: str, **options: str) -> list[str]:
    path = folder / ("x.csv" if reader == "parent_child" else "x.tsv")
    path.write_text(text)
    return Terminology.read(reader, path, **options).languages


@pytest.mark.parametrize("tag", TAGS)
@pytest.mark.parametrize("reader", OF_ROWS)
def test_tags_of_rows_are_languages_without_region_and_script(reader: str, tag: str, tmp_path: Path) -> None:
    """Catches English names in 'en-US' or 'EN' that no subset in English has, and a read that ends at Cantonese."""
    assert read(reader, tmp_path, OF_ROWS[reader].format(tag)) == [TAGS[tag]]


@pytest.mark.parametrize("reader", OF_OPTIONS)
def test_an_option_takes_the_same_tags(reader: str, tmp_path: Path) -> None:
    assert read(reader, tmp_path, OF_OPTIONS[reader], language="zh-Hans-CN") == ["zh"]
    with pytest.raises(InputError, match=r"^language: 'English' is not a language, such as 'it' or 'de-CH'$"):
        read(reader, tmp_path, OF_OPTIONS[reader], language="English")


@pytest.mark.parametrize("reader", OF_ROWS)
def test_a_word_is_no_tag(reader: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"x\.[ct]sv:2: 'English' is not a language, such as 'it' or 'de-CH'"):
        read(reader, tmp_path, OF_ROWS[reader].format("English"))


@pytest.mark.parametrize("tag", ["", "e", "en-", "en US", "1en"])
def test_what_is_no_tag_is_refused(tag: str) -> None:
    with pytest.raises(InputError, match="where: .* is not a language"):
        language_of("where", tag)
