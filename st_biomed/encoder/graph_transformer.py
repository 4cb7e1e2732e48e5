"""An encoder whose layers are a graph that ONNX Runtime or OpenVINO computes on the CPU."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers.base.modules import Transformer
from torch import Tensor, nn

from st_biomed.encoder.exported import RUNTIMES, Export
from st_biomed.encoder.json_files import AGAIN
from st_biomed.errors import InputError

Arrays = dict[str, np.ndarray]

_OUTPUTS = ("last_hidden_state", "token_embeddings")
"""The vectors of the tokens, as the exporter names them."""


class GraphTransformer(Transformer):
    """A ``Transformer`` of sentence-transformers with a graph in place of its layers: the same texts, tokens and features.

    Attributes:
        export: The record of the export.
        graph_sha256: Digest of the graph's files.
    """

    export: Export
    graph_sha256: str

    @classmethod
    def of(cls, export: Export, folder: Path, **options: Any) -> GraphTransformer:
        """The encoder of an exported folder.

        Args:
            export: The record of the folder.
            folder: The folder.
            **options: Those of ``Transformer.load``.

        Raises:
            InputError: The runtime is not installed, or does not read the graph.
        """
        check_runtime(export.backend)
        return cls.load(str(folder), backend=export.backend, model_kwargs={"export": export}, **options)

    def _load_model(  # type: ignore[override] # in place of reading weights
        self, folder: str, task: str, config: Any, *others: Any, export: Export, **kwargs: Any
    ) -> Any:
        self.export, self.graph_sha256 = export, _digest(Path(folder), export)
        return _opened(Path(folder, export.graph_file), export.backend, config)

    def save(self, output_path: str, *args: Any, **kwargs: Any) -> None:
        """Refuse: the folder of an exported encoder is copied.

        Raises:
            InputError: Always.
        """
        raise InputError("an exported encoder cannot be saved again; copy its folder")


class Graph(nn.Module):
    """A graph with the call of a transformers model; it has no parameters and cannot be trained.

    Args:
        config: Configuration of the encoder.
        inputs: Names of the graph's inputs.
        compute: Integer arrays ``[B, T]`` by input name to the vectors of the tokens, float32 ``[B, T, D]``.
    """

    def __init__(self, config: Any, inputs: Sequence[str], compute: Callable[[Arrays], np.ndarray]) -> None:
        super().__init__()
        self.config, self.inputs, self._compute = config, list(inputs), compute
        self.device, self.dtype = torch.device("cpu"), torch.float32

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        *,
        return_dict: bool = True,
    ) -> dict[str, Tensor]:
        """The vectors of the tokens, ``[B, T, D]``, as ``last_hidden_state``."""
        given = {
            "input_ids": input_ids,
            "attention_mask": torch.ones_like(input_ids) if attention_mask is None else attention_mask,
            "token_type_ids": torch.zeros_like(input_ids) if token_type_ids is None else token_type_ids,
            "position_ids": torch.arange(input_ids.shape[1]).expand_as(input_ids)
            if position_ids is None
            else position_ids,
        }
        arrays = {name: np.ascontiguousarray(given[name].to(torch.int64).numpy()) for name in self.inputs}
        return {"last_hidden_state": torch.from_numpy(self._compute(arrays))}


def check_runtime(backend: str) -> None:
    """Check that the package for the graphs of a backend is installed.

    Raises:
        InputError: It is not.
    """
    try:
        importlib.import_module(RUNTIMES[backend])
    except ImportError as error:
        raise InputError(
            f"an encoder exported for {backend} needs {RUNTIMES[backend]}: pip install 'st-biomed[{backend}]'"
        ) from error


def _opened(path: Path, backend: str, config: Any) -> Graph:
    try:
        return {"onnx": _onnx, "openvino": _openvino}[backend](path, config)
    except InputError:
        raise
    except Exception as error:  # the runtimes raise many classes
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InputError(f"{path}: {RUNTIMES[backend]} cannot read it ({reason:.200}): {AGAIN}") from error


def _onnx(path: Path, config: Any) -> Graph:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = torch.get_num_threads(), 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    inputs = [node.name for node in session.get_inputs()]
    output = _checked(path, inputs, [node.name for node in session.get_outputs()])
    return Graph(config, inputs, lambda arrays: session.run([output], arrays)[0])


def _openvino(path: Path, config: Any) -> Graph:
    import openvino

    # By default OpenVINO computes in bfloat16 where the processor can, which is another encoder.
    settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": torch.get_num_threads()}
    compiled = openvino.Core().compile_model(str(path), "CPU", settings)
    inputs = [node.get_any_name() for node in compiled.inputs]
    output = _checked(path, inputs, [name for node in compiled.outputs for name in node.names])
    request = compiled.create_infer_request()

    def compute(arrays: Arrays) -> np.ndarray:
        request.infer(arrays)
        return np.array(request.get_tensor(output).data)  # a copy: the next call overwrites the tensor

    return Graph(config, inputs, compute)


def _checked(path: Path, inputs: Sequence[str], outputs: Sequence[str]) -> str:
    """The output with the vectors of the tokens.

    Raises:
        InputError: There is none, or an input that an encoder of texts does not have.
    """
    known = ("input_ids", "attention_mask", "token_type_ids", "position_ids")
    if unknown := [name for name in inputs if name not in known]:
        raise InputError(f"{path}: has the input {unknown[0]!r}; the inputs of an encoder are {', '.join(known)}")
    if output := next((name for name in _OUTPUTS if name in outputs), ""):
        return output
    raise InputError(f"{path}: has the outputs {', '.join(outputs)}; expected {' or '.join(_OUTPUTS)}")


def _digest(folder: Path, export: Export) -> str:
    digest = hashlib.sha256(export.backend.encode())
    for name in sorted(name for name in export.files if name.startswith(f"{export.backend}/")):
        digest.update(name.encode() + hashlib.sha256((folder / name).read_bytes()).digest())
    return digest.hexdigest()
