"""What goes wrong between here and the Hub, in one line that says what to do."""

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
"""What a 403 is for: the Hub has words for these, and no code."""
_FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def one_line(repo_id: str) -> Iterator[None]:
    """Turn what the Hub's client raises inside into an :class:`~st_biomed.errors.InputError`; a bug stays what it is.

    Args:
        repo_id: The repository that is asked for or written to.
    """
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
    """What to do about an error, or about the one that it wraps; nothing where neither is of the Hub, wire or disk."""
    while True:
        if isinstance(error, HfHubHTTPError):
            return _refused(error, owner)
        if isinstance(error, LocalTokenNotFoundError):
            return "no token is at hand: hf auth login stores one, HF_TOKEN names one"
        if isinstance(error, OfflineModeIsEnabled):
            return "HF_HUB_OFFLINE is set: unset it to reach the Hub"
        if isinstance(error, OSError) and error.errno in _FULL:
            return f"the disk is full ({error.filename or error.strerror}): free some space and repeat the command"
        if isinstance(error, (HTTPError, ConnectionError, TimeoutError)):
            said = _first_line(error) or "no reason given"
            return f"the connection to the Hub broke ({type(error).__name__}: {said}): repeat the command"
        inner = error.__cause__ or error.__context__
        if inner is None:
            return None
        error = inner


def _refused(error: HfHubHTTPError, owner: str) -> str:
    code = error.response.status_code
    said = " ".join((error.server_message or _first_line(error)).split())
    if isinstance(error, GatedRepoError):
        return f"is gated ({code}: {said}): ask for access on its page, as the user whose token this is"
    if code == 401:
        return f"the Hub does not know the token (401: {said}): hf auth login stores another, HF_TOKEN names one"
    if isinstance(error, DisabledRepoError):
        return f"is disabled on the Hub ({code}: {said}): its owner or the Hub's staff have to enable it"
    if code == 402 or (code == 403 and _QUOTA.search(said)):
        return f"{owner} has no room left on the Hub ({code}: {said}): free some there, or ask for more"
    if code == 403 and _PERMISSION.search(said):
        instead = ", or --pr, which opens a pull request" if "create_pr" in said else ""
        return f"the token may not do this (403: {said}): one that may write to {owner} is needed{instead}"
    if code == 403:
        return f"the Hub forbids this (403: {said})"
    if code == 404:
        return f"not found, or the token may not see it (404: {said})"
    if code == 409:
        return f"is there already, or was changed at the same time (409: {said}): look at it, then repeat the command"
    if code == 412:
        return f"was changed since it was looked at (412: {said}): repeat the command"
    if code >= 500:
        return f"the Hub failed ({code}: {said}), also when its client tried again where it may: repeat it later"
    return f"the Hub refused ({code}: {said})"


def _first_line(error: BaseException) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), "")
