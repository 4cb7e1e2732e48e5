"""Models are loaded by ``st_biomed.encoder`` alone: whoever reads one in another way would read it without its checks."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
LOADER = ROOT / "st_biomed" / "encoder"
ALLOWED = {
    ("st_biomed/corpus/vocabulary.py", "AutoTokenizer.from_pretrained"),  # what it wrote itself, a line above
    (
        "st_biomed/release/export_script.py",
        "SentenceTransformer",
    ),  # in an environment without this package, what it wrote itself
    ("st_biomed/release/folder.py", "SentenceTransformer"),  # that others can load what was saved, a line above
    ("st_biomed/leaderboard/dense_and_sparse.py", "hf_hub_download"),  # a number beside a model, read as a tensor
}
FILES = [
    file
    for part in ("st_biomed", "recipes", "evaluation", "benchmarks")
    for file in sorted((ROOT / part).rglob("*.py"))
    if LOADER not in file.parents and "_bundled" not in file.parts
]


def loads(tree: ast.AST) -> list[str]:
    """Calls that read a model, a pickle or a repository."""
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        last = called.rpartition(".")[2]
        words = {word.arg: word.value for word in node.keywords}
        if (
            (last == "SentenceTransformer" and node.args)
            or (
                last == "from_pretrained"
                and called.split(".")[-2].startswith(("Auto", "Sentence", "PreTrained", "Bert"))
            )
            or last in ("snapshot_download", "hf_hub_download", "Unpickler", "get_class_from_dynamic_module")
            or called in ("pickle.load", "pickle.loads", "joblib.load", "Transformer")
            or (called == "torch.load" and ast.unparse(words.get("weights_only", ast.Constant(False))) != "True")
            or (called == "np.load" and "allow_pickle" in words and ast.unparse(words["allow_pickle"]) != "False")
        ):
            found.append(called)
    return found


def test_nothing_else_loads_a_model() -> None:
    """Also catches an exception that nobody needs any more."""
    found = {
        (file.relative_to(ROOT).as_posix(), called)
        for file in FILES
        for called in loads(ast.parse(file.read_text("utf-8")))
    }
    assert found == ALLOWED, "st_biomed.encoder loads models; see there"


def test_another_loader_is_seen() -> None:
    """Guards the guard."""
    for code in (
        "SentenceTransformer(path)",
        "transformers.AutoModel.from_pretrained(x)",
        "torch.load(path)",
        "torch.load(path, weights_only=False)",
        "pickle.load(file)",
        "np.load(path, allow_pickle=True)",
        "snapshot_download(name)",
    ):
        assert loads(ast.parse(code)), code
    for code in ("SentenceTransformer(modules=[x])", "torch.load(path, weights_only=True)", "load_encoder(name)"):
        assert not loads(ast.parse(code)), code
