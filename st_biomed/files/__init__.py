"""Folders and files of a command: found, read in any encoding, locked by one process, replaced as a whole."""

from __future__ import annotations

from st_biomed.files.drafts import copy_file, copy_folder, replace_text, replacing_file, write_text, writing
from st_biomed.files.folders import (
    begin_anew,
    begun_in,
    check_new_file,
    check_output,
    finish_replacement,
    read_one_version,
    remove,
    replacing,
    synchronize,
)
from st_biomed.files.locks import FolderInUse, check_writable, lock

__all__ = [
    "FolderInUse",
    "begin_anew",
    "begun_in",
    "check_new_file",
    "check_output",
    "check_writable",
    "copy_file",
    "copy_folder",
    "finish_replacement",
    "lock",
    "read_one_version",
    "remove",
    "replace_text",
    "replacing",
    "replacing_file",
    "synchronize",
    "write_text",
    "writing",
]
