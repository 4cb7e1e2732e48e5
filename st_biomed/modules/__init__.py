"""Parts of an encoder beyond those that the host library has: adapters, mentions in context, injected knowledge."""

from __future__ import annotations
