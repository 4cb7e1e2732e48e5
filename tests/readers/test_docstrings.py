"""What ``st-biomed read SOURCE --describe`` prints: every option says what it is when nobody gives it."""

from __future__ import annotations

import re

import pytest

from st_biomed.readers import reader, reader_names, reader_options


def described(name: str) -> dict[str, str]:
    """Option to what the docstring of a reader says of it."""
    text = reader(name).records.__doc__ or ""
    entry = r"\n        {}: (.*?)(?=\n        \w+: |\n\n    |\Z)"
    found = {option: re.search(entry.format(option), text, re.S) for option in reader_options(name)}
    return {option: " ".join(match[1].split()) if match else "" for option, match in found.items()}


@pytest.mark.parametrize("name", reader_names())
def test_every_option_has_its_default_in_the_docstring(name: str) -> None:
    """Catches an option of which a person can look up neither what it does alone nor what else it takes."""
    for option, text in described(name).items():
        assert "default" in text, f"{name}: {option}"
        value = reader_options(name)[option].default
        members = value.split(",") if isinstance(value, str) else [str(value)] if type(value) is int else []
        for member in members:
            assert member in text, f"{name}: {option} does not name {member!r}"


def test_the_entries_of_options_are_taken_apart() -> None:
    """Catches a pattern that finds nothing, of which the test above would not notice half."""
    assert described("toy")["depth"] == "Levels of each tree; 3 by default."
    assert described("babelon")["scopes"].startswith("Scopes of the synonyms to read")
    assert described("atc").keys() == {"dialect", "encoding"}
