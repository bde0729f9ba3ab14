"""What stands in for a layer that isn't stored, made from a document's text without a model: pure functions."""

from __future__ import annotations

MOST = 280
"""How many characters stand in for a layer."""

_HEADER_LINES = 20
"""In how many lines front matter must end."""


def abstract(text: str) -> str:
    """`name — description` of the front matter, else the first line of the body that isn't blank, else nothing."""
    header, body = _parts(text)
    said = " — ".join(header[key] for key in ("name", "description") if header.get(key))
    return (said or next((line.strip() for line in body.split("\n") if line.strip()), ""))[:MOST]


def overview(text: str) -> str:
    """The first characters of the body."""
    return _parts(text)[1][:MOST]


def _parts(text: str) -> tuple[dict[str, str], str]:
    """The front matter, which is `key: value` lines between two `---`, and the body behind it."""
    first, *lines = text.split("\n", _HEADER_LINES)
    ends = [place for place, line in enumerate(lines[: _HEADER_LINES - 1]) if line.strip() == "---"]
    if first.strip() != "---" or not ends:
        return {}, text
    pairs = (line.partition(":") for line in lines[: ends[0]])
    header = {key.strip(): value.strip().strip("'\"") for key, colon, value in pairs if colon and key.strip()}
    if not header:
        return {}, text
    return header, "\n".join(lines[ends[0] + 1 :]).lstrip("\n")
