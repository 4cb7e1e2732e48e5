"""``st-biomed export`` on the command line."""

from __future__ import annotations

from pathlib import Path

from tests.cli.verbs import command
from tests.exports import exporter, runtime  # noqa: F401


def test_it_says_how_well_the_graph_agrees(runtime, exporter: Path, tiny_bert_folder: Path, tmp_path: Path):  # noqa: F811
    ended = command("export", tiny_bert_folder, "-o", tmp_path / "out", "--python", exporter)
    assert ended.code == 0
    assert ended.stdout.endswith(
        f"saved to {tmp_path / 'out'}: float32 for onnx, cosine to the encoder on 16 terms 1.0000 on average, 1.0000 at least\n"
    )
    ended = command("export", tiny_bert_folder, "-o", tmp_path / "out", "--python", exporter)
    assert ended.code == 2 and "already contains an exported encoder" in ended.line


def test_an_exported_encoder_cannot_be_trained_averaged_or_published(
    runtime,  # noqa: F811
    exporter: Path,  # noqa: F811
    tiny_bert_folder: Path,
    tmp_path: Path,
):
    """Catches a traceback of an optimizer without parameters."""
    out = tmp_path / "out"
    assert command("export", tiny_bert_folder, "-o", out, "--python", exporter).code == 0
    for words in (
        ("average", out, tiny_bert_folder, "-o", tmp_path / "mean"),
        (
            "train",
            "sapbert",
            "--base_model",
            out,
            "--terminology",
            "toy",
            "--output_dir",
            tmp_path / "run",
            "--held_out_names",
            0,
        ),
        ("export", out, "-o", tmp_path / "again", "--python", exporter),
    ):
        ended = command(*words)
        assert ended.code == 2 and "is an exported encoder" in ended.line, ended
    assert "run.json" in command("release", out, "org/x").line
