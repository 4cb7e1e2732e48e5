"""Files of mentions, and the files that have the concepts of each mention beside it. Both are read and written in parts."""

from __future__ import annotations

from st_biomed.linking.mention_files.blocks import link_rows
from st_biomed.linking.mention_files.formats import Format, format_of, output_format, table_format
from st_biomed.linking.mention_files.found_mentions import write_found_mentions
from st_biomed.linking.mention_files.mention_rows import BadRow, MentionRow, MentionTable, added_columns
from st_biomed.linking.mention_files.reading import read_mentions
from st_biomed.linking.mention_files.rejects import Rejects, rejecting, stopping
from st_biomed.linking.mention_files.sinks import byte_sink, rejects_sink
from st_biomed.linking.mention_files.writing import row_writer

__all__ = [
    "BadRow",
    "Format",
    "MentionRow",
    "MentionTable",
    "Rejects",
    "added_columns",
    "byte_sink",
    "format_of",
    "link_rows",
    "output_format",
    "read_mentions",
    "rejecting",
    "rejects_sink",
    "row_writer",
    "stopping",
    "table_format",
    "write_found_mentions",
]
