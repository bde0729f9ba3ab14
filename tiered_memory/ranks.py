"""The rank files that tiktoken needs: what they are, whether one is on the disk, an explicit download."""

from __future__ import annotations

import os
import tempfile
from hashlib import sha1, sha256
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from time import monotonic
from typing import NamedTuple
from urllib.error import HTTPError
from urllib.request import urlopen

from tiered_memory.errors import ConfigError, TieredMemoryError


class Ranks(NamedTuple):
    """Where the ranks of an encoding are published, and what they must hash to."""

    url: str
    sha256: str


RANKS = {
    "cl100k_base": Ranks(
        "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
    "o200k_base": Ranks(
        "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
}
"""The known encodings: `cl100k_base` of text-embedding-3 and GPT-4, `o200k_base` of GPT-4o and later."""

MAX_BYTES = 16 * 1024 * 1024
"""The longest download that `fetch` accepts."""


def ranks_of(encoding: str) -> Ranks:
    """The entry of `encoding` in `RANKS`; raises `ConfigError` when there is none."""
    if encoding not in RANKS:
        raise ConfigError(f"encoding={encoding!r} is not known; use one of {', '.join(RANKS)}")
    return RANKS[encoding]


def cache_file(encoding: str) -> Path | None:
    """Where tiktoken keeps the ranks of `encoding`; None when an empty variable switches its cache off."""
    default = os.environ.get("DATA_GYM_CACHE_DIR", os.path.join(tempfile.gettempdir(), "data-gym-cache"))
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", default)
    name = sha1(ranks_of(encoding).url.encode(), usedforsecurity=False).hexdigest()
    return Path(folder, name) if folder else None


def on_disk(encoding: str) -> bool:
    """Whether tiktoken would find the true ranks of `encoding` in its cache, and so download nothing."""
    file = cache_file(encoding)
    try:
        return file is not None and _hash(file.read_bytes()) == ranks_of(encoding).sha256
    except OSError:
        return False


def fetch(encoding: str, timeout: float = 30.0) -> Path:
    """Downloads the ranks of `encoding` to where tiktoken looks for them, and returns the file.

    That is `TIKTOKEN_CACHE_DIR` or `DATA_GYM_CACHE_DIR` if set, else a folder among the temporary files.
    Gives up after about `timeout` seconds. Raises `TieredMemoryError` when the download fails or isn't the
    published file, `ConfigError` for an unknown encoding, or when tiktoken's cache is switched off.
    """
    ranks, file = ranks_of(encoding), cache_file(encoding)
    if file is None:
        raise ConfigError("tiktoken's cache is switched off; set TIKTOKEN_CACHE_DIR to a folder")
    try:
        _replace(file, _download(ranks, timeout))
    except (OSError, HTTPException) as error:
        raise TieredMemoryError(f"{ranks.url} could not be fetched to {file}: {error!r}") from error
    return file


def _download(ranks: Ranks, timeout: float) -> bytes:
    deadline = monotonic() + timeout
    with _open(ranks.url, timeout) as response:
        content = _read(response, deadline)
    if _hash(content) != ranks.sha256:
        raise OSError("the content has another sha256 than the published file")
    return content


def _open(url: str, timeout: float) -> HTTPResponse:
    try:
        response: HTTPResponse = urlopen(url, timeout=timeout)
    except HTTPError as refusal:
        # the error is the response as well, and holds the connection open
        refusal.close()
        raise
    return response


def _read(response: HTTPResponse, deadline: float) -> bytes:
    content = bytearray()
    # read1 returns after each packet, so that a server which drips can't outlast the deadline
    while chunk := response.read1(1 << 16):
        content += chunk
        if len(content) > MAX_BYTES:
            raise OSError(f"the content is longer than {MAX_BYTES} bytes")
        if monotonic() > deadline:
            raise TimeoutError("the download took too long")
    return bytes(content)


def _replace(file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as part:
        part.write(content)
    os.replace(part.name, file)


def _hash(content: bytes) -> str:
    return sha256(content).hexdigest()
