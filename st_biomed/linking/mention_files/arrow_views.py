"""Types without string views, such as Polars writes: Arrow cannot take rows of them."""

from __future__ import annotations

import pyarrow as pa


def schema_without_views(schema: pa.Schema) -> pa.Schema:
    """The schema with large strings and large binaries in place of views, also within lists, structs and dictionaries."""
    return pa.schema([_field(field) for field in schema], schema.metadata)


def _field(field: pa.Field) -> pa.Field:
    return field.with_type(_type(field.type))


def _type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary_view(kind):
        return pa.large_binary()
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _type(kind.value_type), kind.ordered)
    if pa.types.is_list(kind):
        return pa.list_(_field(kind.value_field))
    if pa.types.is_large_list(kind):
        return pa.large_list(_field(kind.value_field))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_field(kind.value_field), kind.list_size)
    if pa.types.is_struct(kind):
        return pa.struct([_field(kind.field(at)) for at in range(kind.num_fields)])
    return kind
