"""What reading a damaged or forged ``.npz`` file raises: NumPy hands on the errors of zip files and of their contents."""

from __future__ import annotations

import zlib
from zipfile import BadZipFile

UNREADABLE = (OSError, ValueError, EOFError, MemoryError, RuntimeError, NotImplementedError, BadZipFile, zlib.error)
"""Errors of :func:`numpy.load` and of the arrays that it gives; a missing array is a ``KeyError``."""
