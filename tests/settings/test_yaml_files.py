"""YAML as people mean it, and nothing that breaks the library; tests/bad_options has the files that are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from st_biomed.errors import InputError
from st_biomed.settings.yaml_files import read_yaml

ROOT = Path(__file__).parents[2]


def read(tmp_path: Path, text: str) -> dict:
    (tmp_path / "a.yaml").write_text(text, "utf-8")
    return read_yaml(tmp_path / "a.yaml")


def test_plain_values_are_those_of_yaml_1_2(tmp_path: Path):
    """Catches the language of Norway read as false, a rate as text, a time of day as a number, and 010 as eight."""
    text = "[no, off, yes, true, 1e-4, 2E5, 010, 1:30, 2024-01-01, ~, null, .inf, -3, 1.5, 0x10, '']"
    assert read(tmp_path, f"a: {text}\n")["a"] == [
        *("no", "off", "yes", True, 1e-4, 2e5, 10, "1:30", "2024-01-01", None, None, float("inf"), -3, 1.5, "0x10", "")
    ]


def test_aliases_and_merges_stay(tmp_path: Path):
    text = "base: &base {a: 1, b: [x]}\nown:\n  <<: *base\n  a: 2\nagain: {<<: *base}\n"
    assert read(tmp_path, text) == {
        "base": {"a": 1, "b": ["x"]},
        "own": {"a": 2, "b": ["x"]},
        "again": {"a": 1, "b": ["x"]},
    }


def test_a_byte_order_mark_is_no_character(tmp_path: Path):
    assert read(tmp_path, "\ufeffa: 1\n") == {"a": 1}


def test_what_this_package_comes_with_reads_as_it_always_did():
    """All that differs from PyYAML is that ``1e-4`` is a number."""
    files = [*ROOT.glob("recipes/configs/*.yaml"), *ROOT.glob("evaluation/benchmarks/*.yaml")]
    assert len(files) > 50
    for file in files:
        usual = yaml.safe_load(file.read_text("utf-8"))
        for name, value in read_yaml(file).items():
            numbers, texts = (part if isinstance(part, list) else [part] for part in (value, usual[name]))
            assert len(numbers) == len(texts), (file, name)
            for number, text in zip(numbers, texts):
                assert number == text or (isinstance(number, float) and number == float(text)), (file, name)


@pytest.mark.parametrize(("depth", "held"), [(38, True), (41, False)])
def test_depth_has_a_limit_far_above_what_settings_need(depth: int, held: bool, tmp_path: Path):
    text = f"a: {'[' * depth}{']' * depth}\n"
    if held:
        read(tmp_path, text)
    else:
        with pytest.raises(InputError, match=r"a\.yaml:1: values are nested more than 40 deep"):
            read(tmp_path, text)


@pytest.mark.parametrize(
    "value", ["!!int abc", "!!float abc", "!!float ''", "!!bool maybe", "!!timestamp x", "!!timestamp 2001-99-99"]
)
def test_a_value_that_is_not_of_its_tag_is_one_line(value: str, tmp_path: Path):
    """Catches what the conversion raises: PyYAML passes it on."""
    kind = value.split()[0]
    with pytest.raises(InputError, match=rf"a.yaml:2: '.*' is not of the type {kind}$"):
        read(tmp_path, f"a: 1\nb: {value}\n")
