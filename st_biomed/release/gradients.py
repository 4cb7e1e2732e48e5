"""What became of the gradients of a run, for its card: whether they were clipped, and how many of the logged ones."""

from __future__ import annotations

from statistics import median

from st_biomed.release.run_data import RunData


def clipping(run: RunData) -> str:
    """A clause that says at which norm gradients were clipped, or that they were not; empty where nothing was trained.

    The trainer logs the norm of the encoder's gradients before clipping, once every ``logging_steps``. A norm of 0 as
    limit clips nothing. Parameters of a loss are a group of their own, whose norm is not logged.

    Args:
        run: The record, whose ``training_arguments`` have the limit and whose ``metrics`` have the norms.
    """
    limit = run["training_arguments"].get("max_grad_norm")
    if limit is None:
        return ""
    values = [entry["value"] for entry in run["metrics"] if entry["name"] == "grad_norm"]
    norms = [value for value in values if value is not None]
    said = f"clipped to a norm of {limit:g}" if limit > 0 else "not clipped"
    if not norms:
        return f"{said}; no norm was logged"
    spread = f"median {median(norms):.4f}, largest {max(norms):.4f}"
    if lost := len(values) - len(norms):
        spread += f", {lost} not finite"
    if limit > 0:
        above = sum(norm > limit for norm in norms) + lost
        return f"{said}, which {above} of the {len(values)} logged norms exceed ({spread})"
    return f"{said}; norms of the {len(values)} logged steps: {spread}"
