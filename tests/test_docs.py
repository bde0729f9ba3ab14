"""The documentation: its code runs, its output is true, its links lead somewhere, and nothing public is missing."""

from __future__ import annotations

import io
import re
import shlex
from collections.abc import Iterator
from contextlib import redirect_stdout
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer
from servers import redis_server
from typer.testing import CliRunner

import tiered_memory
from tiered_memory import errors
from tiered_memory.cli.app import app
from tiered_memory.engine.keys import KINDS

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]

_FENCE = re.compile(
    r"^(?P<fence>```+)(?P<language>\w*)\n(?P<body>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)
_SKIPPED = re.compile(r"<!-- not run: .+ -->\n\Z")
_SOURCE_FILE = re.compile(r"`(\w+/[\w/]+\.(?:py|lua))`")
_LINK = re.compile(r"\]\((?!https?://|#)(?P<file>[^)#\s]+)")


class Block(NamedTuple):
    """A fenced block of Python, the line it begins at, and what the text block right below it says it prints."""

    line: int
    code: str
    printed: str | None


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text("utf-8")
    fences = list(_FENCE.finditer(text))
    for fence, following in zip(fences, [*fences, None][1:], strict=True):
        if fence["language"] != "python" or _SKIPPED.search(text[: fence.start()]):
            continue
        is_output = following and following["language"] == "text" and not text[fence.end() : following.start()].strip()
        yield Block(text.count("\n", 0, fence.start("body")), fence["body"], following["body"] if is_output else None)


def relative(page: Path) -> str:
    return str(page.relative_to(ROOT))


def everything_written() -> str:
    return "\n".join(page.read_text("utf-8") for page in PAGES)


def commands(group: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Every command below a group, by the words that call it."""
    for word, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{name} {word}")
        else:
            yield f"{name} {word}", command


@pytest.fixture
def new_redis(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """An empty Redis where `memory()` finds it, and an empty working folder."""
    monkeypatch.chdir(tmp_path)
    with redis_server() as url:
        monkeypatch.setenv("REDIS_URL", url)
        yield


class TestCode:
    @pytest.mark.usefixtures("new_redis")
    @pytest.mark.parametrize("page", [page for page in PAGES if any(blocks(page))], ids=relative)
    def test_runs_and_prints_what_the_page_says(self, page: Path) -> None:
        """A page's Python blocks run one after the other, and print what the text blocks below them say."""
        names: dict[str, Any] = {"__name__": "__main__"}
        for block in blocks(page):
            printed = io.StringIO()
            with redirect_stdout(printed):
                # the line breaks make a traceback point into the page
                exec(compile("\n" * block.line + block.code, str(page), "exec", dont_inherit=True), names)
            if block.printed is not None:
                assert printed.getvalue() == block.printed

    @pytest.mark.usefixtures("new_redis")
    def test_command_lines(self) -> None:
        """The commands on the page about the command line work, one after the other."""
        text = (DOCS / "cli.md").read_text("utf-8")
        shown = "".join(fence["body"] for fence in _FENCE.finditer(text) if fence["language"] == "sh")
        for line in shown.splitlines():
            program, *arguments = shlex.split(line)
            result = CliRunner().invoke(app, arguments)
            assert (program, result.exit_code) == ("tiered-memory", 0), f"{line}: {result.output}"


class TestCompleteness:
    @pytest.mark.parametrize("name", tiered_memory.__all__)
    def test_public_names(self, name: str) -> None:
        """Every public name is written about."""
        assert re.search(rf"\b{name}\b", everything_written())

    @pytest.mark.parametrize(("name", "command"), list(commands(typer.main.get_command(app), "tiered-memory")))
    def test_commands(self, name: str, command: Any) -> None:
        """The page on the command line has every command, and every option of each."""
        page = (DOCS / "cli.md").read_text("utf-8")
        assert f"`{name}" in page
        options = [option for parameter in command.params for option in parameter.opts if option.startswith("--")]
        assert [option for option in options if f"`{option}" not in page] == []

    def test_errors(self) -> None:
        """The page on errors has every exception with its code."""
        page = (DOCS / "api" / "errors.md").read_text("utf-8")
        for error in vars(errors).values():
            if isinstance(error, type) and issubclass(error, errors.TieredMemoryError):
                assert f"| `{error.__name__}` | `{error.code}` |" in page

    def test_keys(self) -> None:
        """The page on the source has every kind of key that a scope may have."""
        page = (DOCS / "source.md").read_text("utf-8")
        assert [kind for kind in KINDS if f":{kind}:TOKEN`" not in page] == []


class TestPages:
    @pytest.mark.parametrize("page", PAGES, ids=relative)
    def test_links(self, page: Path) -> None:
        """Every link to a file of the repository finds it."""
        for link in _LINK.finditer(page.read_text("utf-8")):
            assert (page.parent / link["file"]).exists(), link["file"]

    @pytest.mark.parametrize("page", PAGES, ids=relative)
    def test_names_no_machine(self, page: Path) -> None:
        """No page has a path of somebody's machine."""
        assert not re.search(r"/(home|root|tmp|Users|work|opt)/|[A-Z]:\\|file://", page.read_text("utf-8"))

    @pytest.mark.parametrize("page", PAGES, ids=relative)
    def test_files(self, page: Path) -> None:
        """Every source file that is named exists."""
        for name in _SOURCE_FILE.findall(page.read_text("utf-8")):
            assert (ROOT / name).exists(), name

    def test_plot(self) -> None:
        """The plot of the formulas is what its script draws with the functions of the package."""
        spec = spec_from_file_location("plot_ranking", ROOT / "scripts" / "plot_ranking.py")
        assert spec
        assert spec.loader
        script = module_from_spec(spec)
        spec.loader.exec_module(script)
        assert (DOCS / "images" / "ranking.svg").read_text("utf-8") == script.plot()
