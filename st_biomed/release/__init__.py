"""From a trained model and the record of its run to a folder that may be published."""

from __future__ import annotations
