"""What a skill is made of: texts by their paths, as documents below the skill's URI."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tiered_memory.errors import BadPath, InvalidInput, InvalidSkill, InvalidURI
from tiered_memory.store.commits import JOBS
from tiered_memory.store.items import Document, JobRequest
from tiered_memory.store.nodes import check_documents
from tiered_memory.store.uri import ROOT, Uri, build, parse

ENTRY = "SKILL.md"
"""The file that makes a folder a skill."""


def skill_uri(owner: str, name: str) -> Uri:
    """Where the skill of an owner stands; raises `BadPath`."""
    return build(["user", check_name(owner), "skills", check_name(name)])


def check_name(name: object) -> str:
    """`name` itself, if it can be one segment of a URI; raises `BadPath`."""
    if not isinstance(name, str):
        raise BadPath(f"a name must be a str, not {type(name).__name__}")
    check_path(name)
    if "/" in name:
        raise BadPath(f"name={name!r} must not have a slash")
    return name


def check_path(path: object) -> str:
    """`path` itself, if it leads somewhere below a folder, and means one thing only; raises `BadPath`."""
    if not isinstance(path, str):
        raise BadPath(f"a path must be a str, not {type(path).__name__}")
    try:
        parse(f"{ROOT}skills/{path}")
    except InvalidURI:
        raise BadPath(
            f"path={path!r} isn't a safe relative path: no empty part, no '.' or '..', no backslash, no control "
            "character, and at most 255 bytes a part"
        ) from None
    return path


def check_clashes(paths: Iterable[str], folders: Iterable[str] = ()) -> None:
    """Refuses a file where a folder is needed; raises `InvalidSkill`."""
    files = set(paths)
    needed = {*folders, *(above for path in files for above in _above(path))}
    for path in sorted(files & needed):
        raise InvalidSkill(f"{path!r} is a file and a folder at once")


def skill_documents(uri: Uri, files: object) -> list[Document]:
    """The documents that a skill's files become at a URI, each with the usual jobs.

    Raises `InvalidSkill`, `BadPath`, or what a `Document` can't have.
    """
    if not isinstance(files, Mapping):
        raise InvalidInput(f"files must map paths to texts, not be a {type(files).__name__}")
    if not files:
        raise InvalidSkill("a skill without files would only be removed; use `documents.remove` for that")
    paths = [check_path(path) for path in files]
    check_clashes(paths)
    jobs: list[JobRequest] = [(kind, {}) for kind in JOBS]
    documents = [Document(f"{uri}/{path}", files[path], jobs=jobs) for path in paths]
    check_documents(documents)
    return documents


def _above(path: str) -> list[str]:
    """The folders that a path leads through."""
    parts = path.split("/")
    return ["/".join(parts[:length]) for length in range(1, len(parts))]
