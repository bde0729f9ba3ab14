"""Exact scopes: what a scope may be, and the digests by which scopes and ids are told apart."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from tiered_memory.errors import InvalidScope

MAX_SCOPE_BYTES = 16 * 1024
"""The longest scope, in bytes of UTF-8."""


def check_scope(scope: object) -> str | None:
    """`scope` itself: None (the unscoped pool) or a text of 1 to `MAX_SCOPE_BYTES` bytes, compared byte for byte.

    Raises `InvalidScope`. The empty text is refused: a missing session id must fail, not share a pool.
    """
    if scope is None:
        return None
    if not isinstance(scope, str):
        raise InvalidScope(f"scope must be a str or None, not {type(scope).__name__}")
    if not scope:
        raise InvalidScope("scope is empty; name a scope, or leave it out for the unscoped pool")
    size = len(utf8(scope, InvalidScope, "scope"))
    if size > MAX_SCOPE_BYTES:
        raise InvalidScope(f"scope is {size} bytes long; at most {MAX_SCOPE_BYTES} are allowed")
    return scope


def check_scopes(scopes: object) -> list[str | None]:
    """The exact scopes that are named: one, None for the unscoped pool, or several, each once."""
    if scopes is None or isinstance(scopes, str):
        return [check_scope(scopes)]
    if isinstance(scopes, bytes) or not isinstance(scopes, Iterable):
        raise InvalidScope(f"scope must be a str, None or several of these, not {type(scopes).__name__}")
    return list(dict.fromkeys([check_scope(scope) for scope in scopes]))


def utf8(text: str, error: type[ValueError], name: str) -> bytes:
    """`text` as UTF-8; a lone surrogate, which has no encoding, raises `error`."""
    try:
        return text.encode()
    except UnicodeEncodeError as bad:
        raise error(f"{name} has a lone surrogate at character {bad.start}; pass valid Unicode") from None


def digest(*parts: str | None) -> str:
    """32 hexadecimal digits (BLAKE2b, 128 bits) of `parts`; absent and empty, joined and separate never meet."""
    hasher = blake2b(digest_size=16)
    for part in parts:
        if part is None:
            hasher.update(b"\0")
        else:
            data = part.encode()
            hasher.update(b"\1%d:%b" % (len(data), data))
    return hasher.hexdigest()
