"""Folders and cached Hub repositories whose code writes a file where it runs; each case is built anew whenever it is tried."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from st_biomed import modules as own_modules

_CODE = """
from pathlib import Path

Path({marker!r}).write_text(__name__)  # {number}

import torch
from sentence_transformers.base.modules import Module, Transformer
from transformers import BertConfig, BertForMaskedLM, BertModel, BertTokenizer


class EvilConfig(BertConfig):
    model_type = "{kind}"


class EvilModel(BertModel):
    config_class = EvilConfig


class EvilForMaskedLM(BertForMaskedLM):
    config_class = EvilConfig


class EvilTokenizer(BertTokenizer):
    pass


class EvilTransformer(Transformer):
    pass


class EvilActivation(torch.nn.Tanh):
    pass


class EvilModule(Module):
    def forward(self, features, **kwargs):
        return features

    def save(self, output_path, *args, **kwargs):
        pass


def generate(model, **kwargs):
    pass
"""

_numbers = itertools.count()
HOST = "sentence_transformers"
TRANSFORMER, POOLING = (
    f"{HOST}.base.modules.transformer.Transformer",
    f"{HOST}.sentence_transformer.modules.Pooling",
)


class Pickled:
    """Writes the marker where it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.write_text, (self.marker, "unpickled")


@dataclass
class Workshop:
    """Where a case is built.

    Attributes:
        root: An empty folder.
        model: A saved model with mean pooling, which a case starts from.
        adapted: One with bottleneck adapters, which carries a file of this package's code.
        cache: The Hub's cache.
        marker: What must never appear.
        number: Of the build: no two have the same code, since Python runs a module once.
    """

    root: Path
    model: Path
    adapted: Path
    cache: Path
    number: int = field(default_factory=lambda: next(_numbers))

    @property
    def marker(self) -> Path:
        return self.root / "ran"

    @property
    def code(self) -> str:
        return _CODE.format(marker=str(self.marker), number=self.number, kind=f"evil{self.number}")

    @property
    def evil(self) -> str:
        """Name of the module of foreign code."""
        return f"evil{self.number}"

    def folder(self, model: Path | None = None) -> Path:
        """A copy of the model, or of another."""
        folder = self.root / f"model{self.number}"
        shutil.copytree(model or self.model, folder)
        return folder

    def with_code(self, folder: Path | None = None) -> Path:
        """A folder with the foreign code in it."""
        folder = folder or self.folder()
        (folder / f"{self.evil}.py").write_text(self.code)
        return folder

    def own_file(self, folder: Path, name: str = "bottleneck_adapter.py") -> Path:
        """The folder with a file of this package's own code, byte for byte, which was once enough to be trusted."""
        shutil.copyfile(Path(own_modules.__file__ or "").parent / name, folder / name)
        return folder

    def repository(self, folder: Path, owner: str = "attacker") -> str:
        """The id of a repository in the Hub's cache that holds a folder's files."""
        commit = f"{self.number:040x}"
        repository = self.cache / f"models--{owner}--{folder.name}"
        (repository / "refs").mkdir(parents=True)
        (repository / "refs" / "main").write_text(commit)
        shutil.copytree(folder, repository / "snapshots" / commit)
        return f"{owner}/{folder.name}"

    def code_repository(self) -> str:
        """The id of a cached repository that holds foreign code alone."""
        folder = self.root / f"code{self.number}"
        folder.mkdir()
        return self.repository(self.with_code(folder))


def edit(path: Path, **values: Any) -> None:
    """Set keys of a JSON file, which may be new; ``None`` removes one."""
    found = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    found = {key: value for key, value in {**found, **values}.items() if value is not None}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found), "utf-8")


def modules(folder: Path, *types: str | tuple[str, str]) -> None:
    """Have ``modules.json`` name these types, each with its path where one is given."""
    named = [kind if isinstance(kind, tuple) else (kind, f"{i}_" if i else "") for i, kind in enumerate(types)]
    listed = [{"idx": i, "name": str(i), "path": path, "type": kind} for i, (kind, path) in enumerate(named)]
    (folder / "modules.json").write_text(json.dumps(listed))


Build = Callable[[Workshop], Path]

CASES: dict[str, Callable[[Workshop], Path | str]] = {}
RUN_WITH_FLAG: set[str] = set()
"""Cases whose code sentence-transformers runs where it is told to: they could fail."""


def case(*, runs_with_flag: bool = False) -> Callable[[Build], Build]:
    """Enter a case by its function's name, and again as a repository of the Hub's cache."""

    def enter(build: Build) -> Build:
        CASES[build.__name__] = build
        CASES[f"{build.__name__}, of the Hub"] = lambda workshop: workshop.repository(build(workshop))
        if runs_with_flag:
            RUN_WITH_FLAG.update({build.__name__, f"{build.__name__}, of the Hub"})
        return build

    return enter


def auto_map(where: str) -> dict[str, Any]:
    """What a configuration has to name the classes of the foreign code, in a file or a repository."""
    return {
        "AutoConfig": f"{where}.EvilConfig",
        "AutoModel": f"{where}.EvilModel",
        "AutoModelForMaskedLM": f"{where}.EvilForMaskedLM",
    }
