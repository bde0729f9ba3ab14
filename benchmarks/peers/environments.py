"""An environment for each contender, made when it is first needed and kept in the user's cache folder."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from packaging.specifiers import SpecifierSet
from platformdirs import user_cache_path

_METADATA = re.compile(r"^# /// script\n(?P<body>(?:^#.*\n)+?)^# ///$", re.MULTILINE)


class NotInstalled(Exception):
    """An environment couldn't be made; the message says why."""


def interpreter(script: Path, folder: Path | None = None) -> Path:
    """The Python that runs `script`: of an environment with what its inline metadata asks for, or this one.

    The metadata are those of PEP 723. `folder` is where environments are kept.

    Raises `NotInstalled` when there is no such Python, or a package can't be installed.
    """
    wanted = metadata(script.read_text("utf-8"))
    if not wanted:
        return Path(sys.executable)
    digest = hashlib.sha256(repr(wanted).encode()).hexdigest()[:12]
    home = (folder or user_cache_path("tiered-memory-benchmarks")) / f"{script.stem}-{digest}"
    ready = home / "ready"
    if not ready.exists():
        _make(home, _python(wanted.get("requires-python", "")), wanted["dependencies"])
        ready.touch()
    return home / "bin" / "python"


def metadata(text: str) -> dict[str, Any]:
    """The inline metadata of a script, empty when it has none."""
    block = _METADATA.search(text)
    return tomllib.loads(re.sub(r"^# ?", "", block["body"], flags=re.MULTILINE)) if block else {}


def _make(home: Path, python: str, packages: list[str]) -> None:
    for command in (
        [python, "-m", "venv", "--clear", str(home)],
        [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", *packages],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            errors = [line for line in done.stderr.splitlines() if "ERROR" in line] or [done.stderr.strip()]
            raise NotInstalled(f"not installed: {errors[-1]}")


def _python(specifier: str) -> str:
    for candidate in _candidates():
        shown = subprocess.run([candidate, "--version"], capture_output=True, text=True, check=False)
        if shown.returncode == 0 and SpecifierSet(specifier).contains(shown.stdout.split()[-1]):
            return candidate
    raise NotInstalled(f"no Python {specifier} was found")


def _candidates() -> Iterator[str]:
    """This Python, those on the path, and those that pyenv keeps."""
    yield sys.executable
    for minor in range(10, 15):
        if found := shutil.which(f"python3.{minor}"):
            yield found
    yield from map(str, sorted(Path.home().glob(".pyenv/versions/3.*/bin/python")))
