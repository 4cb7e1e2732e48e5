"""Linking benchmarks from files: what is measured when, and that a mistake in a file is one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from sentence_transformers import SentenceTransformer

from st_biomed.errors import InputError
from st_biomed.evaluators.entity_linking.settings import LinkingSettings
from st_biomed.evaluators.entity_linking.suite import LinkingSuite
from st_biomed.linking_data import open_linking
from st_biomed.linking_data.held_out_names import hold_out_names
from st_biomed.terminology import Terminology

FIXTURE = Path(__file__).parents[1] / "fixtures" / "linking" / "ncbi_disease"


@pytest.fixture
def protocol(monkeypatch: pytest.MonkeyPatch) -> LinkingSettings:
    monkeypatch.setenv("ST_BIOMED_DATA", str(FIXTURE.parent))
    return LinkingSettings(
        name="zorb",
        format="ncbi_disease",
        path="ncbi_disease",
        dictionary="ncbi_disease/medic.txt",
        steps={"lower_case": {}, "merge_names": {}},
        seen=["train"],
    )


def test_a_benchmark_is_reported_raw_and_prepared(protocol: LinkingSettings, tiny_bert: SentenceTransformer):
    """Catches a figure whose steps nobody can tell, and test mentions measured during training."""
    suite = LinkingSuite([protocol], n_bootstrap=0)
    assert [evaluator.name for evaluator in suite.tests] == ["zorb_raw", "zorb"]
    assert [evaluator.dataset.steps for evaluator in suite.tests] == [(), ("lower_case", "merge_names")]
    assert {evaluator.split for evaluator in suite.tests} == {"test"}
    measured = suite.measure(tiny_bert)
    assert set(measured) == {"zorb_raw", "zorb"}
    assert "zorb_refined_acc@1" in measured["zorb"]
    assert suite.dev is not None
    during = suite.dev(tiny_bert)
    assert {name for name in during if "acc@1" in name and "zorb_dev" not in name} == set()
    assert during["sequential_score"] == during["zorb_dev_acc@1"]
    lines = suite.table(before=measured, after=measured).splitlines()
    assert lines[0] == "zorb_raw (test, 5 mentions)" and lines[1].split() == ["before", "after", "change"]


def test_shared_names_are_embedded_once(protocol: LinkingSettings, tiny_bert: SentenceTransformer, monkeypatch):
    """Catches a dictionary of a hundred thousand names encoded for every figure again."""
    asked: list[str] = []
    encode = tiny_bert.encode

    def counted(texts, **options):
        asked.extend(texts)
        return encode(texts, **options)

    monkeypatch.setattr(tiny_bert, "encode", counted)
    LinkingSuite([protocol], n_bootstrap=0).measure(tiny_bert)
    assert len(asked) == len(set(asked)) > 0


def test_without_a_dev_split_or_steps_less_is_measured(protocol: LinkingSettings):
    bare = LinkingSettings(**{**vars(protocol), "steps": {}, "dev": ""})
    suite = LinkingSuite([bare])
    assert [evaluator.name for evaluator in suite.tests] == ["zorb"]
    assert suite.dev is None
    prepared = LinkingSuite([LinkingSettings(**{**vars(protocol), "raw": False})])
    assert [evaluator.name for evaluator in prepared.tests] == ["zorb"]
    assert str(LinkingSuite()) == "none" and LinkingSuite().measure(None) == {}


def test_the_distant_set_is_measured_where_a_distance_is_given(protocol: LinkingSettings):
    """Catches a setting that nobody reads."""
    for distance, names in ((0.0, {"refined"}), (0.2, {"refined", "distant"})):
        (*_, evaluator) = LinkingSettings(**{**vars(protocol), "distance": distance}).evaluators()
        assert set(evaluator.queries.subsets) >= names and ("distant" in evaluator.queries.subsets) == bool(distance)


def test_the_published_scoring_is_that_of_raw_and_prepared(protocol: LinkingSettings):
    """Catches figures called published that are of cosines."""
    assert [one.scoring.similarity for one in protocol.evaluators(as_published=True)] == ["dot", "dot"]
    assert [one.scoring.similarity for one in protocol.evaluators()] == ["cosine", "cosine"]


def test_relatedness_is_measured_beside(protocol: LinkingSettings, tiny_bert: SentenceTransformer, tmp_path: Path):
    (tmp_path / "srs.csv").write_text("term1,term2,score\na,b,1\nc,d,2\ne,a,3\n")
    suite = LinkingSuite([protocol], relatedness=[tmp_path / "srs.csv"], n_bootstrap=0)
    measured = suite.measure(tiny_bert)
    assert "srs_spearman" in measured["srs"] and {"srs_spearman", "zorb_acc@1"} <= set(suite.headline)
    assert "srs (3 pairs)" in suite.table(before=measured)
    with pytest.raises(InputError, match="two benchmarks have the name 'srs'"):
        LinkingSuite(relatedness=[tmp_path / "srs.csv"] * 2)


def test_held_out_names_are_a_benchmark_too(tiny_bert: SentenceTransformer):
    suite = LinkingSuite(n_bootstrap=0)
    suite.add_dataset(hold_out_names(Terminology.read("toy"), n_dev=3, n_test=4).dataset, "held-out")
    assert suite.measure(tiny_bert)["held-out"]["held-out_n_mentions"] == 4
    with pytest.raises(InputError, match="two benchmarks have the name 'held-out'"):
        suite.add_dataset(hold_out_names(Terminology.read("toy"), n_dev=3, n_test=4).dataset, "held-out")


def test_a_dictionary_may_name_its_form(protocol: LinkingSettings):
    """Catches a form that is read as part of a path."""
    medic = LinkingSettings(**{**vars(protocol), "dictionary": "medic:ncbi_disease/medic.txt"})
    assert len(medic.open().dictionary) > 3


def test_a_terminology_is_a_dictionary_without_saying_so(protocol: LinkingSettings, tmp_path: Path, monkeypatch):
    """Catches a reader's path that is looked for in the working folder alone, and ids that no mention has unnoticed."""
    (tmp_path / "wards").mkdir()
    (tmp_path / "wards" / "test.tsv").write_text("flumpas\tZORB:1\nzorbs\tZORB:9\n")
    (tmp_path / "zorb.obo").write_text("format-version: 1.2\n\n[Term]\nid: ZORB:1\nname: flumpa\n")
    monkeypatch.setenv("ST_BIOMED_DATA", str(tmp_path))
    for dictionary in ("obo:zorb.obo", "terminology:obo:zorb.obo"):
        wards = LinkingSettings("wards", "tsv", "wards", dictionary, dev="")
        assert wards.open().dictionary.entry(0) == ("flumpa", frozenset({"ZORB:1"}))
    Terminology.open(f"obo:{tmp_path / 'zorb.obo'}").save(tmp_path / "saved")
    assert LinkingSettings("wards", "tsv", "wards", "saved", dev="").open().dictionary.names == ["flumpa"]
    with pytest.raises(InputError, match="wards: the dictionary has none of the ids of the mentions: 'ZORB:1' for"):
        LinkingSettings("wards", "tsv", "wards", "toy", dev="").open()


def test_what_is_not_there_says_where_it_was_looked_for(protocol: LinkingSettings):
    with pytest.raises(InputError, match="zorb: nowhere is neither here nor in the data folder of ST_BIOMED_DATA"):
        LinkingSettings(**{**vars(protocol), "path": "nowhere"}).open()
    with pytest.raises(
        InputError, match="zorb: no split 'valid' to measure in training; available are 'train', .*for none"
    ):
        LinkingSuite([LinkingSettings(**{**vars(protocol), "dev": "valid"})])


def test_a_format_or_step_that_there_is_not_is_refused_before_anything_is_read():
    with pytest.raises(InputError, match="zorb: unknown format 'tsvv'.*did you mean 'tsv'"):
        LinkingSettings("zorb", "tsvv")
    with pytest.raises(InputError, match="zorb: unknown step 'lowercase'.*did you mean 'lower_case'"):
        LinkingSettings("zorb", "tsv", steps={"lowercase": {}})


@pytest.mark.parametrize(
    ("step", "options", "message"),
    [
        ("add_mentions", ["train"], r"step add_mentions must have options by name, or none, found \['train'\]"),
        ("lower_case", "x", "step lower_case must have options by name, or none, found 'x'"),
        ("add_mentions", {"splits": 5}, "step add_mentions: splits must be texts, found 5"),
        ("add_mentions", {"splits": ["train", 3]}, "step add_mentions: splits must be texts, found"),
        ("correct_spelling", {"path": 5}, "step correct_spelling: path must be text or a path, found 5"),
        ("refine", {"seen": 3}, "step refine: seen must be texts, found 3$"),
        (
            "merge_names",
            {"ignore_case": "maybe"},
            "step merge_names: ignore_case must be true or false, found 'maybe'$",
        ),
    ],
)
def test_options_of_a_step_of_another_form_are_refused(step: str, options: object, message: str):
    """Catches a traceback from a file of settings."""
    with pytest.raises(InputError, match=f"^zorb: {message}"):
        LinkingSettings("zorb", "tsv", steps={step: options}, dev="")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dictionary": "x"}, "linking format 'tsv' takes no options, found 'dictionary'$"),
        ({"path": "x"}, "linking format 'tsv' takes no options, found 'path'$"),
        ({"name": "x"}, "linking format 'tsv' takes no options, found 'name'$"),
        ({"tally": 1}, "linking format 'tsv' takes no options, found 'tally'$"),
        ({"prefix": 3}, "linking format 'tsv': prefix must be text, found 3$"),
        ({"format": "folds", "fold": "one"}, "linking format 'folds': fold must be a whole number, found 'one'$"),
        ({"format": "folds", "fold": True}, "linking format 'folds': fold must be a whole number, found True$"),
        ({"format": "folds", "columns": 3}, "linking format 'folds': columns must be texts, found 3$"),
        (
            {"format": "folds", "columns": ["id", 1]},
            r"linking format 'folds': columns must be texts, found \['id', 1\]$",
        ),
        ({"format": "folds", "quoted": "yes"}, "linking format 'folds': quoted must be true or false, found 'yes'$"),
        ({"format": "mantra", "language": False}, "linking format 'mantra': language must be text, found False$"),
    ],
)
def test_options_of_a_format_of_another_form_are_refused(options: dict[str, object], message: str):
    """Catches a traceback from a file of settings, and a prefix that is nobody's."""
    name = str(options.pop("format", "tsv"))
    with pytest.raises(InputError, match=f"^zorb: {message}"):
        LinkingSettings("zorb", name, options=options)
    if not {"dictionary", "path", "name"} & set(options):
        with pytest.raises(InputError, match=f"^{message}"):
            open_linking(name, "nowhere", **options)


def test_options_of_a_step_may_be_paths_and_tuples():
    """Catches values that the steps declare, refused in Python."""
    steps = {"add_mentions": {"splits": ("train",)}, "correct_spelling": {"path": Path("x")}}
    assert LinkingSettings("zorb", "tsv", steps=steps, dev="").steps == steps


def test_a_measured_split_is_not_added_to_the_dictionary(protocol: LinkingSettings):
    """Catches dev figures on a dictionary with the answers of dev."""
    with pytest.raises(InputError, match="zorb: add_mentions puts the answers of the measured split 'dev' into"):
        LinkingSettings(**{**vars(protocol), "steps": {"add_mentions": {}}})
    with pytest.raises(InputError, match="of the measured split 'test'"):
        LinkingSettings(**{**vars(protocol), "steps": {"add_mentions": {"splits": "train,test"}}, "dev": ""})
    for steps, dev in (({"add_mentions": None}, ""), ({"add_mentions": {"splits": ["train"]}}, "dev")):
        allowed = LinkingSettings(**{**vars(protocol), "steps": steps, "dev": dev})
        assert len(allowed.prepared(allowed.open()).steps) == 1
