"""The contract of a file store, to run with pytest against one of your own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from tiered_memory import clock
from tiered_memory.errors import (
    BadPath,
    FileConflict,
    FileExists,
    FileNotFound,
    InvalidInput,
    NotUnique,
    TooLarge,
)
from tiered_memory.files.items import MAX_BYTES

if TYPE_CHECKING:
    from tiered_memory.files import FileSystem

CONTENTS = (b"", b" \n\t\n", b"a\r\nb\r\n", "🎉 café".encode(), b"\xff\x00\xfe", bytes(range(256)) * 40)
"""Contents that a file store must keep byte for byte."""

BAD_PATHS = (
    "", "a", "~/x", "/", "/a/", "/a//b", "/memories/../x", "/memories/./x", "/..", "/memories/%2e%2e/x", "/a%2F..%2Fx",
    "/a\0b", "/a%00b", "/a\\..\\b", "/\udc80", "/" + "é" * 512,
)  # fmt: skip
"""Paths that no operation takes."""


class FileStoreContract(ABC):
    """What the file system promises over any store, to run over your own callbacks.

    class TestMyFiles(FileStoreContract):
        def file_system(self) -> FileSystem:
            return FileSystem(memory(), MyCallbacks(), scope=new_user())
    """

    @abstractmethod
    def file_system(self) -> FileSystem:
        """A file system without files; each test calls this once."""

    def test_begins_empty(self) -> None:
        """Nothing is listed, and nothing can be read."""
        files = self.file_system()
        assert files.list().items == []
        with pytest.raises(FileNotFound):
            files.read("/a.md")

    @pytest.mark.parametrize("content", CONTENTS)
    def test_byte_for_byte(self, content: bytes) -> None:
        """What is read is what was written, with its size and SHA-256."""
        files = self.file_system()
        written = files.write("/a", content)
        read = files.read("/a")
        assert (read.content, read.size) == (content, len(content))
        assert read.sha256 == written.sha256 == sha256(content).hexdigest()

    def test_a_text(self) -> None:
        """A text is kept as UTF-8; a file has a media type and its times."""
        files = self.file_system()
        before = clock.now()
        files.write("/notes/a.md", "Café 🎉\r\n")
        file = files.read("/notes/a.md")
        assert (file.path, file.text, file.mime) == ("/notes/a.md", "Café 🎉\r\n", "text/markdown")
        assert before <= file.created_at <= file.modified_at <= clock.now()

    def test_too_large(self) -> None:
        """A file of 1 MiB is kept; one of a byte more is refused."""
        files = self.file_system()
        files.write("/a", b"x" * MAX_BYTES)
        with pytest.raises(TooLarge):
            files.write("/a", b"y" * (MAX_BYTES + 1))
        assert files.read("/a").content == b"x" * MAX_BYTES

    def test_overwriting(self) -> None:
        """A file is overwritten, keeping when it was created, unless it is asked that it be new."""
        files = self.file_system()
        first = files.write("/a", "one")
        second = files.write("/a", "two")
        assert second.created_at == first.created_at
        with pytest.raises(FileExists):
            files.write("/a", "three", if_exists="error")
        assert files.read("/a").text == "two"
        assert files.write("/b", "new", if_exists="error").text == "new"

    def test_the_first_of_two_editors_wins(self) -> None:
        """Of two that change what they both have read, the second is refused, and nothing of the first is lost."""
        files = self.file_system()
        seen = files.write("/a", "one two").sha256
        files.edit("/a", "one", "ONE", if_match=seen)
        for change in (
            lambda: files.edit("/a", "two", "TWO", if_match=seen),
            lambda: files.insert("/a", 0, "zero", if_match=seen),
            lambda: files.write("/a", "", if_match=seen),
            lambda: files.delete("/a", if_match=seen),
            lambda: files.move("/a", "/b", if_match=seen),
        ):
            with pytest.raises(FileConflict):
                change()
        assert files.read("/a").text == "ONE two"
        with pytest.raises(FileNotFound):
            files.write("/b", "", if_match=seen)

    def test_edit(self) -> None:
        """The one occurrence of a text is replaced, exactly; or all of them."""
        files = self.file_system()
        files.write("/a", "one\r\ntwo\r\n")
        assert files.edit("/a", "two", "drei").text == "one\r\ndrei\r\n"
        assert files.edit("/a", "\r\n", "\n", replace_all=True).text == "one\ndrei\n"
        assert files.read("/a").text == "one\ndrei\n"

    @pytest.mark.parametrize(("old", "lines"), [("zz", ()), ("a", (1, 3)), ("\n", (1, 2, 3)), ("cc", (2,))])
    def test_edit_of_what_is_not_unique(self, old: str, lines: tuple[int, ...]) -> None:
        """A text that occurs never, or more than once, is not replaced; the error names the lines, each once."""
        files = self.file_system()
        files.write("/a", "a a\nccc\na\n")
        with pytest.raises(NotUnique) as refused:
            files.edit("/a", old, "x")
        assert refused.value.lines == lines
        assert files.read("/a").text == "a a\nccc\na\n"

    def test_edit_with_nothing_to_replace(self) -> None:
        """An empty text can't be replaced."""
        files = self.file_system()
        files.write("/a", "text")
        with pytest.raises(InvalidInput):
            files.edit("/a", "", "x")

    @pytest.mark.parametrize(
        ("before", "line", "text", "after"),
        [
            ("a\nb\n", 0, "x", "x\na\nb\n"),
            ("a\nb\n", 1, "x\n\n", "a\nx\n\nb\n"),
            ("a\nb\n", 2, "x", "a\nb\nx"),
            ("a\nb", 2, "x\n", "a\nb\nx\n"),
            ("", 0, "x", "x"),
            ("a\r\nb", 1, "x\r\n", "a\r\nx\r\nb"),
        ],
    )
    def test_insert(self, before: str, line: int, text: str, after: str) -> None:
        """Lines are inserted after the one that is numbered, and run into no other."""
        files = self.file_system()
        files.write("/a", before)
        assert files.insert("/a", line, text).text == after
        assert files.read("/a").text == after

    def test_insert_where_no_line_is(self) -> None:
        """A line number beyond the file is refused."""
        files = self.file_system()
        files.write("/a", "a\nb\n")
        for line in (-1, 3):
            with pytest.raises(InvalidInput, match="0 to 2"):
                files.insert("/a", line, "x")

    def test_delete(self) -> None:
        """A file that is deleted is gone; one that isn't there can't be deleted, unless that is no matter."""
        files = self.file_system()
        files.write("/a", "")
        assert files.delete("/a") == 1
        assert files.list().items == []
        with pytest.raises(FileNotFound):
            files.delete("/a")
        assert files.delete("/a", missing_ok=True) == 0

    def test_delete_a_folder(self) -> None:
        """A folder is deleted with all that is below, when that is said; its namesakes stay."""
        files = self._with("/a/b", "/a/c/d", "/ab")
        with pytest.raises(FileExists):
            files.delete("/a")
        assert files.delete("/a", recursive=True) == 2
        assert self._paths(files) == ["/ab"]

    def test_move(self) -> None:
        """A file moves with its content, and nothing is left behind; onto itself is no move."""
        files = self.file_system()
        files.write("/a", "text")
        assert files.move("/a", "/a") == 0
        assert files.move("/a", "/x/b") == 1
        assert self._paths(files) == ["/x/b"]
        assert files.read("/x/b").text == "text"
        with pytest.raises(FileNotFound):
            files.move("/a", "/c")

    def test_move_a_folder(self) -> None:
        """A folder moves with all that is below; its namesakes stay."""
        files = self._with("/a/b", "/a/c/d", "/ab")
        assert files.move("/a", "/z") == 2
        assert self._paths(files) == ["/ab", "/z/b", "/z/c/d"]
        assert files.read("/z/c/d").text == "/a/c/d"

    def test_move_onto_something(self) -> None:
        """Nothing moves onto a file or a folder, or into itself."""
        files = self._with("/a", "/b", "/c/d")
        for path, new_path, error in (("/a", "/b", FileExists), ("/a", "/c", FileExists), ("/c", "/c/e", BadPath)):
            with pytest.raises(error):
                files.move(path, new_path)
        assert self._paths(files) == ["/a", "/b", "/c/d"]

    @pytest.mark.parametrize("path", BAD_PATHS)
    def test_bad_paths(self, path: str) -> None:
        """A path that could lead elsewhere, or be read in two ways, is refused by every operation."""
        files = self._with("/a")
        for work in (
            lambda: files.read(path),
            lambda: files.write(path, ""),
            lambda: files.edit(path, "a", "b"),
            lambda: files.insert(path, 0, "a"),
            lambda: files.delete(path),
            lambda: files.move(path, "/b"),
            lambda: files.move("/a", path),
        ):
            with pytest.raises(BadPath):
                work()
        assert self._paths(files) == ["/a"]

    def test_one_file_for_both_spellings(self) -> None:
        """A path is the same however its accents are composed; dots and percent signs in a name are kept."""
        files = self._with("/cafe\u0301.md", "/a..b/100%.md", "/.hidden", "/%41")
        assert self._paths(files) == ["/%41", "/.hidden", "/a..b/100%.md", "/café.md"]
        assert files.read("/café.md").text == "/cafe\u0301.md"

    def test_listing(self) -> None:
        """Files are listed in the order of their paths, from a folder down, page by page."""
        files = self._with("/b", "/a/z", "/a/b/c", "/a!", "/é", "/🎉")
        assert self._paths(files) == ["/a!", "/a/b/c", "/a/z", "/b", "/é", "/🎉"]
        assert self._paths(files, "/a") == ["/a/b/c", "/a/z"]
        first = files.list(limit=4)
        rest = files.list(limit=4, cursor=first.cursor)
        assert [len(first.items), len(rest.items), rest.cursor] == [4, 2, None]
        assert files.list(limit=6).cursor is None

    @pytest.mark.parametrize(
        ("pattern", "found"),
        [
            ("*.md", ["/a/b.md", "/a/n/c.md", "/d.md"]),
            ("/*.md", ["/d.md"]),
            ("a/*", ["/a/b.md", "/a/e.txt"]),
            ("a/**", ["/a/b.md", "/a/e.txt", "/a/n/c.md"]),
            ("**/n/*", ["/a/n/c.md"]),
            ("a/**/c.md", ["/a/n/c.md"]),
            ("?.[!m]*", ["/a/e.txt"]),
            (".*", ["/a/.f.md"]),
        ],
    )
    def test_glob(self, pattern: str, found: list[str]) -> None:
        """A glob picks files by name or by whole path; hidden names only when it asks for them."""
        files = self._with("/a/b.md", "/a/e.txt", "/a/n/c.md", "/a/.f.md", "/d.md")
        assert [info.path for info in files.list(pattern=pattern).items] == found

    def test_find(self) -> None:
        """Lines are found by a text that they have in them, by file and line, up to a limit."""
        files = self.file_system()
        files.write("/a.md", "one\r\nTwo\nthree one\n")
        files.write("/b/c.md", "none of (o.e)\n")
        files.write("/bytes", b"one\xff")
        found = files.find("one")
        assert [(each.path, each.number, each.text) for each in found.lines] == [
            ("/a.md", 1, "one"),
            ("/a.md", 3, "three one"),
            ("/b/c.md", 1, "none of (o.e)"),
        ]
        assert not found.truncated
        assert len(files.find("o.e").lines) == 1
        assert [each.number for each in files.find("TWO", ignore_case=True).lines] == [2]
        assert [each.path for each in files.find("one", "/b", pattern="*.md").lines] == ["/b/c.md"]
        cut = files.find("one", limit=2)
        assert (len(cut.lines), cut.truncated) == (2, True)

    def _with(self, *paths: str) -> FileSystem:
        """A file system with these files, whose content is their path."""
        files = self.file_system()
        for path in paths:
            files.write(path, path)
        return files

    def _paths(self, files: FileSystem, folder: str = "/") -> list[str]:
        return [info.path for info in files.list(folder).items]
