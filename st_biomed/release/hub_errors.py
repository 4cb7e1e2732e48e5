"""Errors of the Hub and the connection, in one line with a remedy."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager

from huggingface_hub.errors import (
    DisabledRepoError,
    GatedRepoError,
    HfHubHTTPError,
    HTTPError,
    LocalTokenNotFoundError,
    OfflineModeIsEnabled,
)

from st_biomed.errors import InputError

_QUOTA = re.compile(r"\b(storage|quota|limit reached|upgrade|billing|payment)\b", re.IGNORECASE)
_PERMISSION = re.compile(
    r"\b(rights?|permissions?|tokens?|scopes?|roles?|write access|authori[sz]\w+|not allowed)\b|create_pr",
    re.IGNORECASE,
)
"""Reasons of a 403: the Hub describes them in words, without codes."""
_FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def as_input_errors(repo_id: str) -> Iterator[None]:
    """Turn exceptions of the Hub's client into :class:`~st_biomed.errors.InputError`; bugs are not changed."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        reason = _reason(error, repo_id.split("/")[0])
        if reason is None:
            raise
        raise InputError(f"{repo_id}: {reason}") from error


def _reason(error: BaseException, owner: str) -> str | None:
    """The remedy for an error, or for the one that it wraps; nothing for errors not of the Hub, connection or disk."""
    while True:
        if isinstance(error, HfHubHTTPError):
            return _refused(error, owner)
        if isinstance(error, LocalTokenNotFoundError):
            return "no token found: store one with hf auth login, or set HF_TOKEN"
        if isinstance(error, OfflineModeIsEnabled):
            return "HF_HUB_OFFLINE is set: unset it to reach the Hub"
        if isinstance(error, OSError) and error.errno in _FULL:
            return f"the disk is full ({error.filename or error.strerror}): free some space and repeat the command"
        if isinstance(error, (HTTPError, ConnectionError, TimeoutError)):
            message = _first_line(error) or "no reason given"
            return f"the connection to the Hub broke ({type(error).__name__}: {message}): repeat the command"
        inner = error.__cause__ or error.__context__
        if inner is None:
            return None
        error = inner


def _refused(error: HfHubHTTPError, owner: str) -> str:
    code = error.response.status_code
    message = " ".join((error.server_message or _first_line(error)).split())
    if isinstance(error, GatedRepoError):
        return f"is gated ({code}: {message}): ask for access on its page, as the user whose token this is"
    if code == 401:
        return f"the Hub does not know the token (401: {message}): store another with hf auth login, or set HF_TOKEN"
    if isinstance(error, DisabledRepoError):
        return f"is disabled on the Hub ({code}: {message}): its owner or the Hub's staff must enable it"
    if code == 402 or (code == 403 and _QUOTA.search(message)):
        return f"{owner} has no room left on the Hub ({code}: {message}): free some there, or ask for more"
    if code == 403 and _PERMISSION.search(message):
        instead = ", or --pr, which opens a pull request" if "create_pr" in message else ""
        return f"the token may not do this (403: {message}): use one that may write to {owner}{instead}"
    if code == 403:
        return f"the Hub forbids this (403: {message})"
    if code == 404:
        return f"not found, or the token may not see it (404: {message})"
    if code == 409:
        return f"already exists, or was changed at the same time (409: {message}): look at it, then repeat the command"
    if code == 412:
        return f"was changed since it was read (412: {message}): repeat the command"
    if code >= 500:
        return f"the Hub failed ({code}: {message}), also after retries: repeat the command later"
    return f"the Hub refused ({code}: {message})"


def _first_line(error: BaseException) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), "")
