"""Settings from YAML and arguments: one parser for both, every mistake one line."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from transformers import TrainingArguments

from st_biomed.errors import InputError
from st_biomed.settings.extended_yaml import extended_yaml
from st_biomed.settings.fill_dataclass import fill_dataclass
from st_biomed.settings.recipe import read_settings, run_recipe


@dataclass
class Example:
    alpha: float = 1.0
    base: list[float] = field(default_factory=lambda: [0.5])
    smoke: bool = False
    name: str | None = None


def read(*argv: str) -> Example:
    return read_settings((Example,), argv)[0]


def test_arguments_win_over_the_file_and_the_file_over_defaults(tmp_path: Path):
    path = tmp_path / "a.yaml"
    path.write_text("alpha: 2e-1\nbase: [1, 2]\nsmoke: true\nname: null\n")
    assert read(str(path), "--alpha", "3") == Example(3.0, [1.0, 2.0], True)
    assert read(str(path)).alpha == 0.2
    assert read() == Example()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("alphas: 1", r"a\.yaml: unknown setting 'alphas': allowed are .*; did you mean 'alpha'"),
        ("alpha: null", r"a\.yaml: alpha is empty, expected a value like 1.0"),
        ("alpha: x", "argument --alpha: invalid float value: 'x'"),
        ("- alpha", r"a\.yaml: contains a list, expected"),
        ("a: 1\nb: [", r"a\.yaml:\d: not YAML"),
    ],
)
def test_a_mistake_in_the_file_is_one_line(tmp_path: Path, content: str, message: str):
    path = tmp_path / "a.yaml"
    path.write_text(content)
    with pytest.raises(InputError, match=message) as error:
        read(str(path))
    assert "\n" not in str(error.value)


def test_a_file_extends_another_and_its_own_settings_win(tmp_path: Path):
    """Catches a base model's configuration that drifts from the one it differs from in a line."""
    (tmp_path / "base.yaml").write_text("alpha: 2\nsmoke: true\nname: base\n")
    (tmp_path / "middle.yaml").write_text("extends: base.yaml\nalpha: 3\n")
    (tmp_path / "own.yaml").write_text("extends: middle.yaml\nname: own\n")
    assert read(str(tmp_path / "own.yaml")) == Example(3.0, [0.5], True, "own")
    (tmp_path / "base.yaml").write_text("extends: own.yaml\n")
    with pytest.raises(InputError, match=r"own\.yaml: extends itself through own\.yaml"):
        read(str(tmp_path / "own.yaml"))
    (tmp_path / "own.yaml").write_text("extends: nowhere.yaml\n")
    with pytest.raises(
        InputError, match=r"own\.yaml: extends 'nowhere\.yaml', which is neither in its folder nor among"
    ):
        read(str(tmp_path / "own.yaml"))


def test_a_file_of_ones_own_extends_a_packaged_one_unless_one_lies_beside_it(tmp_path: Path):
    (tmp_path / "own.yaml").write_text("extends: sapbert_paper.yaml\nalpha: 3\n")
    packaged = extended_yaml(tmp_path / "own.yaml")
    assert packaged["alpha"] == 3 and packaged["base_model"].startswith("microsoft/")
    (tmp_path / "sapbert_paper.yaml").write_text("name: mine\n")
    assert extended_yaml(tmp_path / "own.yaml") == {"name": "mine", "alpha": 3}


@dataclass
class LaterHost(TrainingArguments):
    """Training arguments of a host with a name of :class:`Example`."""

    alpha: str = "auto"
    smoke: bool = True


def test_a_name_of_the_host_is_that_of_the_recipe(tmp_path: Path):
    """Catches a minor version of sentence-transformers that ends every recipe in a conflict of its arguments."""
    (tmp_path / "a.yaml").write_text("alpha: 2\n")
    for argv in ([str(tmp_path / "a.yaml")], ["--alpha", "2"]):
        own, host = read_settings((Example, LaterHost), [*argv, "--output_dir", str(tmp_path), "--use_cpu", "true"])
        assert (own.alpha, own.smoke, host.alpha, host.smoke) == (2.0, False, "auto", True)
        assert host.output_dir == str(tmp_path)


@dataclass
class Written:
    name: str
    n: int = 1
    share: float = 0.5
    lists: list[str] = field(default_factory=list)
    theta: float | None = None


def test_a_dataclass_is_filled_from_what_is_written():
    found = fill_dataclass(Written, {"share": 1, "lists": ["a"], "theta": None}, "x.yaml", name="own")
    assert found == Written("own", 1, 1, ["a"], None)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"n": True}, "x.yaml: n must be a whole number, found True"),
        ({"n": 1.5}, "x.yaml: n must be a whole number, found 1.5"),
        ({"share": "half"}, "x.yaml: share must be a number, found 'half'"),
        ({"share": False}, "x.yaml: share must be a number, found False"),
        ({"lists": ["a", 1]}, r"x.yaml: lists must be a list of texts, found \['a', 1\]"),
        ({"theta": "high"}, "x.yaml: theta must be .*, found 'high'"),
        ({"lost": 1}, "x.yaml: unknown key 'lost'"),
        ({"name": "twice"}, "x.yaml: unknown key 'name'"),
        (["a"], r"x.yaml: contains \['a'\], expected"),
    ],
)
def test_what_is_written_is_checked_by_the_types_of_the_fields(values, message: str):
    """Would catch a truth value taken for a number, and a list that is looked at from outside alone."""
    with pytest.raises(InputError, match=message):
        fill_dataclass(Written, values, "x.yaml", name="own")


def test_a_missing_file_a_folder_and_an_unknown_argument_are_named(tmp_path: Path):
    with pytest.raises(InputError, match=r"none\.yaml: no such file"):
        read(str(tmp_path / "none.yaml"))
    with pytest.raises(InputError, match="is a folder"):
        read(str(tmp_path))
    with pytest.raises(InputError, match="--alphas"):
        read("--alphas", "1")


def test_a_recipe_ends_in_its_one_line_and_exit_code_2(capsys: pytest.CaptureFixture[str]):
    def main() -> None:
        raise InputError("alpha must be positive, found -1")

    with pytest.raises(SystemExit) as end:
        run_recipe(main)
    assert end.value.code == 2
    assert capsys.readouterr().err == "error: alpha must be positive, found -1\n"


def test_a_value_that_does_not_fit_names_the_file_it_stands_in(tmp_path: Path):
    """Catches a person who looks for a mistake among the words of the command line where it is in a file."""
    (tmp_path / "base.yaml").write_text("alpha: .nan\n")
    (tmp_path / "a.yaml").write_text("extends: base.yaml\nsmoke: true\n")
    with pytest.raises(InputError, match=r"a\.yaml: alpha must be a finite number, found nan"):
        read(str(tmp_path / "a.yaml"))
    assert read(str(tmp_path / "a.yaml"), "--alpha=2").alpha == 2
    with pytest.raises(InputError, match=r"^alpha must be a finite number, found inf"):
        read(str(tmp_path / "a.yaml"), "--alpha", "inf")


def test_a_list_and_a_text_that_begins_with_a_dash_are_taken_from_a_file(tmp_path: Path):
    (tmp_path / "a.yaml").write_text("base: [-1, 2e-1]\nname: -dash\n")
    assert read(str(tmp_path / "a.yaml")) == Example(base=[-1.0, 0.2], name="-dash")
