"""The card's clause on gradients: whether they were clipped, and how many logged norms were larger."""

from __future__ import annotations

from statistics import median

from st_biomed.release.run_data import RunData


def clipping(run: RunData) -> str:
    """A clause with the norm at which gradients were clipped, or that they were not; empty if nothing was trained.

    The trainer logs the norm of the encoder's gradients before clipping, once every ``logging_steps``. A limit of 0
    means no clipping. Parameters of a loss are a separate group, whose norm is not logged.

    Args:
        run: The record, whose ``training_arguments`` have the limit and whose ``metrics`` have the norms, of a run of several
            phases as ``phase/grad_norm``.
    """
    limit = run["training_arguments"].get("max_grad_norm")
    if limit is None:
        return ""
    values = [entry["value"] for entry in run["metrics"] if entry["name"].rpartition("/")[2] == "grad_norm"]
    norms = [value for value in values if value is not None]
    clause = f"clipped to a norm of {limit:g}" if limit > 0 else "not clipped"
    if not norms:
        return f"{clause}; no norm was logged"
    if len(norms) == len(values) and not any(norms):
        return f"{clause}; no logged step had a gradient, so that nothing was learned there"
    spread = f"median {median(norms):.4f}, largest {max(norms):.4f}"
    if lost := len(values) - len(norms):
        spread += f", {lost} not finite"
    if limit > 0:
        above = sum(norm > limit for norm in norms) + lost
        return f"{clause}, which {above} of the {len(values)} logged norms exceed ({spread})"
    return f"{clause}; norms of the {len(values)} logged steps: {spread}"
