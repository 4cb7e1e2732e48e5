"""Graph encoders by name, and one loaded from its folder."""

from __future__ import annotations

import json
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file

from st_biomed.errors import InputError, check_name
from st_biomed.modules.graph_convolutions import RGCN, GATv2, GraphSAGE
from st_biomed.modules.graph_encoder import SETTINGS, WEIGHTS, GraphEncoder
from st_biomed.modules.published_graph_encoder import PublishedGATv2, PublishedGraphSAGE, PublishedRGCN

GRAPH_ENCODERS: dict[str, type[GraphEncoder]] = {
    encoder.kind: encoder for encoder in (GraphSAGE, RGCN, GATv2, PublishedGraphSAGE, PublishedRGCN, PublishedGATv2)
}
"""The encoders by name."""


def load_graph_encoder(folder: str | Path) -> GraphEncoder:
    """Load an encoder written by :meth:`GraphEncoder.save`, on the CPU and in evaluation mode.

    Raises:
        InputError: A file is missing, or does not contain a graph encoder.
    """
    file = Path(folder) / SETTINGS
    try:
        settings = json.loads(file.read_text("utf-8"))
        kind = settings.pop("kind")
        check_name(f"{file}: kind", kind, GRAPH_ENCODERS)
        encoder = GRAPH_ENCODERS[kind](**settings)
        file = file.with_name(WEIGHTS)
        encoder.load_state_dict(load_file(file))
    except FileNotFoundError as error:
        raise InputError(f"{file}: missing") from error
    except InputError as error:
        raise error if str(error).startswith(str(file)) else InputError(f"{file}: {error}") from error
    except (SafetensorError, RuntimeError, LookupError, AttributeError, TypeError, ValueError, OSError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InputError(f"{file}: holds no graph encoder: {reason}") from error
    return encoder.eval()
