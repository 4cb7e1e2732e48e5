"""Parts of an encoder beyond those that the host library has: adapters."""

from __future__ import annotations
