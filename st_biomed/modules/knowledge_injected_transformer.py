"""An encoder that looks up mentions among the vectors of a knowledge graph, between two of its layers.

Amore Bondarenko, Ferrod and Di Caro 2022, arXiv 2211.05035 ("KGE-injected", section 3.2). A saved model contains this
file and the neighboring files that it imports, and loads anywhere with ``trust_remote_code=True``. They therefore
import only torch, transformers and sentence-transformers.
"""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from sentence_transformers.base.modules import Transformer
from torch import Tensor, nn
from transformers.dynamic_module_utils import get_relative_import_files

from .knowledge_injection_layer import KnowledgeInjection
from .mention_pooling import MARKERS, marker_ids, mention_numbers, special_ids, term_tokens

LAYERS_OF = {
    "bert": "encoder",
    "roberta": "encoder",
    "xlm-roberta": "encoder",
    "camembert": "encoder",
    "distilbert": "transformer",
}
"""Type of an encoder to the attribute whose ``layer`` holds its layers."""

MENTIONS = ("whole", "marked", "none")

_FOLDER = "knowledge_injection"

_one_at_a_time = threading.RLock()
"""A forward inserts the injection into the encoder's layers, which another thread must not see. The lock is of the
module: instances are copied and pickled, and may share an encoder."""


class KnowledgeInjectedTransformer(Transformer):
    """A ``Transformer`` of sentence-transformers with :class:`KnowledgeInjection` after one of its layers.

    ``mention`` defines the mentions. With ``"whole"``, all tokens of the text are one mention, for bare terms; the
    paper does not state how these are embedded. With ``"marked"``, mentions are between markers, and a text without
    markers is one mention, as in :class:`MentionPooling`. With ``"none"``, only given mentions count. Features may
    contain them as ``mention_spans``, half-open ``[start, end)`` in token positions, integers ``[B, M, 2]`` padded
    with -1, or as ``[B, 1, M, 2]``, whose second dimension a loss that removes padding cannot mistake for that of the
    tokens. Markers, ``[CLS]``, ``[SEP]`` and padding never belong to a mention.

    The module adds ``mention_queries`` ``[B, M, E]`` and ``mention_present`` ``[B, M]`` (whether a mention has a
    token) to the features. With the attribute ``inject = False`` it is the plain encoder.

    Args:
        transformer: Its encoder and tokenizer are used, not copied.
        entities: ``[N, E]``, see :class:`KnowledgeInjection`.
        layer: Number of layers before the injection: "KGEs are then injected at the 8th BERT layer".
        mention: ``"whole"``, ``"marked"`` or ``"none"``.
        markers: Start and end of a mention.
        inject: Whether to inject.
        **linking: ``candidates`` and ``temperature`` of :class:`KnowledgeInjection`.

    Raises:
        ValueError: An encoder of another kind, or an argument out of range.
    """

    __module__ = "knowledge_injected_transformer"  # what modules.json names: the file that save puts beside it

    def __init__(
        self,
        transformer: Transformer,
        entities: Tensor,
        *,
        layer: int = 8,
        mention: str = "whole",
        markers: tuple[str, str] = MARKERS,
        inject: bool = True,
        **linking: Any,
    ) -> None:
        nn.Module.__init__(self)
        self.__dict__.update({**vars(transformer), "_modules": dict(transformer._modules)})
        encoder: Any = self.model
        if encoder.config.model_type not in LAYERS_OF:
            raise ValueError(
                f"knowledge is injected into {', '.join(LAYERS_OF)}, found an encoder of type {encoder.config.model_type!r}"
            )
        layers = self._stack.layer
        if isinstance(layer, bool) or not isinstance(layer, int) or not 1 <= layer <= len(layers):
            raise ValueError(f"layer must be one of 1 to {len(layers)}, the layers of the encoder, found {layer!r}")
        if mention not in MENTIONS:
            raise ValueError(f"mention must be one of {', '.join(MENTIONS)}, found {mention!r}")
        if mention == "marked":
            marker_ids(self.tokenizer, markers)
        self.layer, self.mention, self.markers, self.inject = layer, mention, list(markers), inject
        self.unpad_inputs = False  # mentions are of rows
        self.injection = KnowledgeInjection(encoder.config.hidden_size, entities, **linking).to(encoder.device)
        for part in (self.injection.project, self.injection.restore, self.injection.norm):
            part.to(encoder.dtype)
        _start_as_outputs_of(layers[layer - 1], self.injection.norm)

    @property
    def _stack(self) -> Any:
        """The part of the encoder that runs its layers one after the other."""
        return getattr(self.model, LAYERS_OF[self.model.config.model_type])

    def forward(self, features: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        """As in ``Transformer``, with the injection; threads take turns."""
        spans = features.pop("mention_spans", None)  # nothing that the encoder knows
        try:
            if not self.inject or (spans is None and self.mention == "none"):
                with _one_at_a_time:
                    return super().forward(features, **kwargs)
            between = _Between(self.injection, self._mentions(features, spans))
            with _one_at_a_time:
                stack, layers = self._stack, self._stack.layer
                stack.layer = nn.ModuleList([*layers[: self.layer], between, *layers[self.layer :]])
                try:
                    features = super().forward(features, **kwargs)
                finally:
                    stack.layer = layers
            features["mention_queries"], features["mention_present"] = between.queries, between.mentions.any(dim=2)
        finally:
            if spans is not None:
                features["mention_spans"] = spans
        return features

    def _mentions(self, features: dict[str, Any], spans: Tensor | None) -> Tensor:
        """Which tokens are of which mention, bool ``[B, M, L]``."""
        input_ids = features["input_ids"]
        special = torch.tensor(special_ids(self.tokenizer, self.markers), device=input_ids.device)
        term = term_tokens(input_ids, features.get("attention_mask"), special)
        positions = torch.arange(input_ids.shape[1], device=input_ids.device)
        if spans is not None:
            start, end = spans.reshape(len(input_ids), -1, 2, 1).unbind(dim=2)
            return (positions >= start) & (positions < end) & (start >= 0) & term[:, None, :]
        if self.mention == "whole":
            return term[:, None, :]
        numbers = mention_numbers(input_ids, *marker_ids(self.tokenizer, self.markers)) * term
        numbers = torch.where(numbers.any(dim=1, keepdim=True), numbers, term.long())
        return numbers[:, None, :] == torch.arange(1, max(1, int(numbers.max())) + 1, device=input_ids.device)[:, None]

    def export_plain(self) -> Transformer:
        """The plain encoder, as a built-in module.

        Raises:
            ValueError: Injection is on, and the plain encoder would return other vectors.
        """
        if self.inject:
            raise ValueError("injection is on, and a plain encoder would give other vectors: set inject = False first")
        return self._plain()

    def _plain(self) -> Transformer:
        plain = Transformer.__new__(Transformer)
        own = {"injection", "layer", "mention", "markers", "inject"}
        plain.__dict__.update({name: value for name, value in vars(self).items() if name not in own})
        plain._modules = {name: module for name, module in self._modules.items() if name not in own}
        return plain

    def _settings(self) -> dict[str, Any]:
        linking = {"candidates": self.injection.candidates, "temperature": self.injection.temperature}
        own = {"layer": self.layer, "mention": self.mention, "markers": self.markers, "inject": self.inject}
        return {**own, **linking}

    def get_config_dict(self) -> dict[str, Any]:
        """The settings, with those of the injection separately."""
        return {**super().get_config_dict(), "knowledge_injection": self._settings()}

    def save(self, output_path: str, *args: Any, **kwargs: Any) -> None:
        """Write the encoder as in ``Transformer``, with ``knowledge_injection/`` and the code."""
        self._plain().save(output_path, **kwargs)
        folder = Path(output_path, _FOLDER)
        folder.mkdir(exist_ok=True)
        (folder / "config.json").write_text(json.dumps(self._settings(), indent=2) + "\n", "utf-8")
        weights = {name: tensor.detach().cpu().contiguous() for name, tensor in self.injection.state_dict().items()}
        save_file(weights, folder / "model.safetensors")
        for file in (__file__, *get_relative_import_files(__file__)):
            shutil.copyfile(file, Path(output_path, Path(file).name))

    @classmethod
    def load(  # type: ignore[override]  # by name, as sentence-transformers calls it
        cls, model_name_or_path: str, subfolder: str = "", **kwargs: Any
    ) -> KnowledgeInjectedTransformer:
        """Load a module written by :meth:`save`; the arguments are those of ``Transformer.load``."""
        hub = {name: kwargs.get(name) for name in ("token", "cache_folder", "revision")}
        own: dict[str, Any] = {**hub, "local_files_only": kwargs.get("local_files_only", False)}
        own["subfolder"] = "/".join(filter(None, (subfolder, _FOLDER)))
        settings = super(Transformer, cls).load_config(model_name_or_path, config_filename="config.json", **own)
        weights = cls.load_torch_weights(model_name_or_path, **own)
        plain = Transformer.load(model_name_or_path, subfolder=subfolder, **kwargs)
        loaded = cls(plain, weights["entities"], **settings)
        loaded.injection.load_state_dict(weights)
        return loaded

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (vars(self),)  # a process that unpickles it finds the function where it is, unlike the class


def _restored(state: dict[str, Any]) -> KnowledgeInjectedTransformer:
    module = KnowledgeInjectedTransformer.__new__(KnowledgeInjectedTransformer)
    module.__setstate__(state)
    return module


class _Between(nn.Module):
    """Stands between two layers for one forward, and keeps the queries."""

    queries: Tensor

    def __init__(self, injection: KnowledgeInjection, mentions: Tensor) -> None:
        super().__init__()
        self.injection, self.mentions = injection, mentions

    def forward(self, hidden: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """Called as a layer is."""
        hidden, self.queries = self.injection(hidden, self.mentions)
        return hidden


def _start_as_outputs_of(layer: nn.Module, norm: nn.LayerNorm) -> None:
    """Initialize a normalization with the mean and spread of a layer's outputs, so that it changes them little at first."""
    last: Any = [module for module in layer.modules() if isinstance(module, nn.LayerNorm)][-1]
    with torch.no_grad():
        norm.weight.fill_((last.weight.square().mean() + last.bias.var(correction=0)).sqrt())
        norm.bias.fill_(last.bias.mean())
