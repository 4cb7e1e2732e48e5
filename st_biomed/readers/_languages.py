"""Languages of names, as files and options state them."""

from __future__ import annotations

import re

from st_biomed.errors import InputError

_TAG = re.compile(r"([A-Za-z]{2,3})([-_][A-Za-z0-9]+)*")


def language_of(where: str, tag: str) -> str:
    """The language of a tag of BCP 47, in lower case and without region and script: ``zh-Hans-CN`` is ``zh``.

    Args:
        where: ``file:line`` or the name of an option, for errors.

    Raises:
        InputError: It is not a tag.
    """
    match = _TAG.fullmatch(tag)
    if match is None:
        raise InputError(f"{where}: {tag[:40]!r} is not a language, such as 'it' or 'de-CH'")
    return match[1].lower()
