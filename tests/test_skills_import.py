"""Skills imported from folders and archives, hostile ones among them; also from the command line."""

from __future__ import annotations

import gzip
import io
import os
import socket
import tarfile

import pytest
from command_line import CommandLine, of_its_own
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis import Redis
from stores import store_of, uris_of

from tiered_memory import memory
from tiered_memory.errors import (
    BadPath,
    InvalidSkill,
    TooLarge,
)
from tiered_memory.store import ImportedSkill, Store
from tiered_memory.store.skill_sources import MAX_BYTES, MAX_ENTRIES, read_skills

S = "viking://user/me/skills/tea"
FILES = {"SKILL.md": "# Tea", "scripts/steep.py": "print('80 °C')"}


def folder(path, files):
    """A folder with these files."""
    for name, content in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def archive(path, members, *, zipped=False, end=None):
    """A tar archive of pairs of a name and a content, or of ready-made headers."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for member, content in members:
            info = tarfile.TarInfo(member) if isinstance(member, str) else member
            own = content if isinstance(content, bytes) else content.encode()
            info.size = len(own)
            tar.addfile(info, io.BytesIO(own))
    packed = data.getvalue()[:end]
    path.write_bytes(gzip.compress(packed) if zipped else packed)
    return path


def special(name, kind, linkname=""):
    """The header of what isn't a plain file."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, linkname
    return info


TEA = {"SKILL.md": "# Tea", "scripts/steep.py": "steep()"}
SEVERAL = {f"{name}/{path}": text for name in ("tea", "coffee") for path, text in TEA.items()}


@pytest.fixture(params=["folder", "tar", "tar.gz"])
def pack(request, tmp_path):
    """Makes a source of files, of each kind."""

    def pack(files, name="tea"):
        if request.param == "folder":
            return folder(tmp_path / name, files)
        return archive(tmp_path / f"{name}.{request.param}", files.items(), zipped=request.param == "tar.gz")

    return pack


class TestImport:
    def test_one(self, store, pack):
        """A skill at the top is named after its source."""
        done = store.skills.import_from(pack(TEA), owner="me")
        assert done == [ImportedSkill("tea", S, "created", 2)]
        assert store.documents.get(f"{S}/scripts/steep.py").content == "steep()"
        assert store.jobs.stats()["pending"] == 6

    def test_again(self, store, pack):
        """Imported again, it takes the place of what was there."""
        source = str(pack(TEA))
        store.skills.import_from(source)
        store.documents.put("viking://user/default/skills/tea/stale.md", "x")
        assert [skill.outcome for skill in store.skills.import_from(source)] == ["replaced"]
        assert uris_of(store) == [f"viking://user/default/skills/tea/{path}" for path in sorted(TEA)]

    def test_several(self, store, pack):
        """Several skills are named after their folders, and each has an outcome of its own."""
        store.skills.replace(S, {"old": "x"})
        done = store.skills.import_from(pack(SEVERAL, "all"), owner="me")
        assert [(skill.name, skill.outcome, skill.files) for skill in done] == [
            ("coffee", "created", 2),
            ("tea", "replaced", 2),
        ]
        assert len(uris_of(store)) == 4

    def test_wrapped(self, store, pack):
        """One folder may wrap a skill, or several."""
        assert [
            skill.name for skill in store.skills.import_from(pack({f"one/{p}": t for p, t in TEA.items()}, "x"))
        ] == ["one"]
        done = store.skills.import_from(pack({f"main/{path}": text for path, text in SEVERAL.items()}, "y"))
        assert [skill.name for skill in done] == ["coffee", "tea"]

    @pytest.mark.parametrize(
        "files",
        [
            {"README.md": "x"},
            {"tea/README.md": "x"},
            {"a/b/tea/SKILL.md": "x"},
            {"tea/SKILL.md": "x", "coffee/README.md": "x"},
            {"tea/SKILL.md": "x", "README.md": "x"},
            {"main/tea/SKILL.md": "x", "main/README.md": "x"},
            {"skill.md": "x"},
        ],
    )
    def test_incomplete(self, store, pack, files):
        """Each skill must have its SKILL.md, and no file may lie beside them."""
        with pytest.raises(InvalidSkill, match=r"SKILL\.md"):
            store.skills.import_from(pack(files, "x"))
        assert uris_of(store) == []

    def test_not_text(self, store, pack):
        """A file that isn't UTF-8 is refused, before anything is written."""
        with pytest.raises(InvalidSkill, match=r"coffee/logo\.png.*byte 1"):
            store.skills.import_from(pack(SEVERAL | {"coffee/logo.png": b"\n\xff"}, "x"))
        assert uris_of(store) == []

    def test_any_text(self, store, pack):
        """Any text is kept as it is."""
        text = "\ufeffa\0b\r\n\u2028é"
        store.skills.import_from(pack(TEA | {"naïve.md": text, "empty": ""}), owner="me")
        assert [node.content for node in store.documents.get_many([f"{S}/naïve.md", f"{S}/empty"])] == [text, ""]

    def test_bytes(self, store, pack):
        """So many bytes may be imported at once, unpacked, and no more."""
        files = {"SKILL.md": "x", "half": "x" * (MAX_BYTES // 2), "rest": "x" * (MAX_BYTES // 2 - 1)}
        assert store.skills.import_from(pack(files, "fits"))[0].files == 3
        with pytest.raises(TooLarge, match="bytes"):
            store.skills.import_from(pack(files | {"more": "x"}, "exceeds"))
        assert len(uris_of(store)) == 3

    def test_entries(self, store, pack):
        """So many files and folders may be imported at once, and no more."""
        files = {"SKILL.md": "x"} | {f"{number}": "x" for number in range(MAX_ENTRIES - 1)}
        assert store.skills.import_from(pack(files, "fits"))[0].files == MAX_ENTRIES
        with pytest.raises(TooLarge, match="files and folders"):
            store.skills.import_from(pack(files | {"more": "x"}, "exceeds"))

    def test_in_a_scope(self, mem, pack):
        """Skills belong to one scope."""
        store_of(mem.scoped("user:42")).skills.import_from(pack(TEA))
        assert store_of(mem).skills.list().total == 0
        assert store_of(mem.scoped("user:42")).skills.list().total == 1

    @pytest.mark.parametrize("owner", ["", "a/b", "..", "a\nb", None])
    def test_owner(self, store, pack, owner):
        """An owner's name is one segment of a URI."""
        with pytest.raises(BadPath):
            store.skills.import_from(pack(TEA), owner=owner)

    def test_failing(self, store, client, namespace, pack):
        """When a skill can't be written, it is as it was, and its outcome says so."""
        store.skills.replace(S, {"old": "x"})
        client.set(f"{{{namespace}:0}}:job_later:embed", "junk")
        done = store.skills.import_from(pack(SEVERAL, "x"), owner="me")
        assert [(skill.outcome, skill.error) for skill in done] == [("failed", "corrupt_record")] * 2
        assert uris_of(store) == [f"{S}/old"]


class TestHostile:
    @pytest.fixture
    def refuse(self, mem, tmp_path):
        """Imports an archive that must be refused; answers the error's message."""

        def refuse(error, members, **how):
            store = store_of(mem)
            for zipped in (False, True):
                source = archive(tmp_path / "x.tar", [("SKILL.md", "x"), *members], zipped=zipped, **how)
                with pytest.raises(error) as caught:
                    store.skills.import_from(source)
            assert uris_of(store) == []
            return str(caught.value)

        return refuse

    @pytest.mark.parametrize(
        "name", ["/etc/passwd", "../up", "a/../../up", "a/./b", "a\\..\\b", "a//b", "..", "a\x07b", "././a", "/"]
    )
    def test_paths(self, refuse, name):
        """No path may lead elsewhere, or be written in two ways."""
        refuse(BadPath, [(name, "x")])

    def test_not_utf8(self, refuse):
        """A name that isn't UTF-8 is refused."""
        refuse(BadPath, [("\udcff", "x")])

    @pytest.mark.parametrize(
        "kind",
        [
            tarfile.SYMTYPE,
            tarfile.LNKTYPE,
            tarfile.FIFOTYPE,
            tarfile.CHRTYPE,
            tarfile.BLKTYPE,
            tarfile.GNUTYPE_SPARSE,
        ],
    )
    def test_links(self, refuse, kind):
        """Nothing but plain files and folders may be in it."""
        assert "link" in refuse(InvalidSkill, [(special("link", kind, "SKILL.md"), "")])

    @pytest.mark.parametrize(
        "members",
        [
            [("SKILL.md", "y")],
            [("./SKILL.md", "y")],
            [("a", "x"), ("a", "x")],
            [(special("d", tarfile.DIRTYPE), ""), (special("d/", tarfile.DIRTYPE), "")],
            [(special("d", tarfile.DIRTYPE), ""), ("d", "x")],
        ],
    )
    def test_duplicates(self, refuse, members):
        """Nothing may be there twice."""
        assert "twice" in refuse(InvalidSkill, members)

    @pytest.mark.parametrize("members", [[("a", "x"), ("a/b", "x")], [("a/b", "x"), ("a", "x")], [("SKILL.md/x", "x")]])
    def test_clashes(self, refuse, members):
        """A file can't be where a folder is needed."""
        assert "at once" in refuse(InvalidSkill, members)

    def test_folders_count(self, refuse):
        """Empty folders count, too."""
        refuse(TooLarge, [(special(f"{number}", tarfile.DIRTYPE), "") for number in range(MAX_ENTRIES)])

    def test_bomb(self, refuse):
        """An archive that is small and unpacks to much is given up early, whatever its headers say."""
        refuse(TooLarge, [("zeros", bytes(50_000_000))])

    def test_lying_header(self, mem, tmp_path):
        """A header that claims more than there is, or endless names, is refused."""
        source = archive(tmp_path / "x.tar", [("SKILL.md", "x")])
        lying = tarfile.TarInfo("more")
        lying.size = 2**40
        source.write_bytes(source.read_bytes()[:1024] + lying.tobuf())
        with pytest.raises(InvalidSkill):
            store_of(mem).skills.import_from(source)
        lying.type = tarfile.XHDTYPE
        source.write_bytes(source.read_bytes()[:1024] + lying.tobuf() + b"1000000000000 path=x\n" * 24)
        with pytest.raises(InvalidSkill):
            store_of(mem).skills.import_from(source)

    @pytest.mark.parametrize("end", [1500, 1024, 1025, 2047, 2048])
    def test_cut_short(self, refuse, end):
        """An archive that ends too early is refused, wherever it was cut."""
        refuse(InvalidSkill, [("a", "x" * 400)], end=end)

    @pytest.mark.parametrize("at", [0, 1100, 1300, 2048])
    def test_damaged(self, mem, tmp_path, at):
        """A broken header isn't taken for the end."""
        source = archive(tmp_path / "x.tar", [("SKILL.md", "x"), ("a", "x")])
        data = bytearray(source.read_bytes())
        data[at : at + 8] = b"\xff" * 8
        source.write_bytes(data)
        with pytest.raises(InvalidSkill):
            store_of(mem).skills.import_from(source)
        assert uris_of(store_of(mem)) == []

    @pytest.mark.parametrize(
        "data", [b"", b"text", b"\x1f\x8b", gzip.compress(b"text", mtime=0), gzip.compress(b"x" * 9999, mtime=0)[:-9]]
    )
    def test_no_archive(self, mem, tmp_path, data):
        """What is no archive is refused."""
        (tmp_path / "x.tar").write_bytes(data)
        with pytest.raises(InvalidSkill, match="can't be read"):
            store_of(mem).skills.import_from(tmp_path / "x.tar")

    @settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        changes=st.lists(st.tuples(st.integers(0, 4095), st.integers(0, 255)), max_size=6),
        end=st.integers(0, 10240),
        sums=st.booleans(),
    )
    def test_any_damage(self, tmp_path, changes, end, sums):
        """Whatever was done to an archive, it is read or refused, and never anything else; nor is it read in part."""
        source = archive(tmp_path / "x.tar", [("SKILL.md", "x"), ("d/a", "y" * 600), ("b", "")])
        data = bytearray(source.read_bytes())
        for at, value in changes:
            data[at] = value
        for header in (0, 1024, 2560) if sums else ():  # a header that was changed knowingly has the right sum
            own = data[header : header + 512]
            data[header + 148 : header + 156] = b"%06o\0 " % (sum(own[:148]) + sum(own[156:]) + 8 * 32)
        source.write_bytes(data[:end])
        try:
            skills = read_skills(source)
        except (InvalidSkill, BadPath, TooLarge):
            return
        (files,) = skills.values()
        assert len(files) in (1, 2, 3)
        if not changes:
            assert list(files) == ["SKILL.md", "d/a", "b"]

    def test_no_source(self, mem, tmp_path):
        """A source must be there, and be a path."""
        with pytest.raises(InvalidSkill, match="can't be read"):
            store_of(mem).skills.import_from(tmp_path / "none")
        with pytest.raises(InvalidSkill, match="SKILL"):
            store_of(mem).skills.import_from(folder(tmp_path / "empty", {"a/b": "x"}) / "a")

    def test_links_in_a_folder(self, mem, tmp_path):
        """A link in a folder is refused, whether it leads to a file or a folder, and so is what is no file."""
        secret = folder(tmp_path / "secret", {"key": "x"})
        for place, (name, target) in enumerate(
            (("file", secret / "key"), ("folder", secret), ("gone", tmp_path / "no"))
        ):
            source = folder(tmp_path / f"tea{place}", TEA)
            os.symlink(target, source / name)
            with pytest.raises(InvalidSkill, match="link"):
                store_of(mem).skills.import_from(source)
        source = folder(tmp_path / "s", TEA)
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(source / "x"))
            with pytest.raises(InvalidSkill, match="neither"):
                store_of(mem).skills.import_from(source)
        assert uris_of(store_of(mem)) == []

    def test_as_tar_makes_them(self, store, tmp_path):
        """Archives of a folder are read as tools make them: with `./`, with folders, with headers of pax and GNU."""
        source = folder(tmp_path / "tea", TEA | {f"{'long/' * 40}{'n' * 120}.md": "x"})
        for number, form in enumerate((tarfile.PAX_FORMAT, tarfile.GNU_FORMAT)):
            for name in ("./", "tea", "./tea"):
                packed = tmp_path / f"{number}.tgz"
                with tarfile.open(packed, "w:gz", format=form) as tar:
                    tar.add(source, name)
                assert [skill.files for skill in store.skills.import_from(packed)] == [3]


class TestCommandLine:
    @pytest.fixture
    def call(self, redis_url, namespace, monkeypatch, tmp_path):
        """Calls commands on the worker's Redis, in the test's namespace."""
        of_its_own(monkeypatch, tmp_path)
        return CommandLine(redis_url, namespace)

    def test_import_and_list(self, call, tmp_path):
        """Skills are imported, and listed with their files."""
        source = str(folder(tmp_path / "all", SEVERAL))
        shown = call("skills", "import", source, "--owner", "me", "--scope", "a")
        assert shown.stdout.splitlines() == [
            "created: viking://user/me/skills/coffee, 2 files",
            "created: viking://user/me/skills/tea, 2 files",
        ]
        assert call.ask("skills", "import", source, "--owner", "me", "--scope", "a")["skills"][1] == {
            "name": "tea", "uri": S, "outcome": "replaced", "files": 2, "error": None,
        }  # fmt: skip
        assert call("skills", "list", "--scope", "a").stdout.split()[:3] == [
            "viking://user/me/skills/coffee",
            "2",
            "files",
        ]
        found = call.ask("skills", "list", "--scope", "a", "--limit", "1")
        assert found == {
            "skills": [
                {
                    "uri": "viking://user/me/skills/coffee", "files": 2, "enabled": True, "group": "",
                    "name": "coffee", "owner": "me",
                }
            ],
            "total": 2,
            "cursor": "viking://user/me/skills/coffee",
        }  # fmt: skip
        assert "--cursor viking" in call("skills", "list", "--scope", "a", "--limit", "1").stdout
        assert call.ask("skills", "list", "--scope", "a", "--owner", "you")["total"] == 0
        assert call("skills", "list").stdout == "no skills\n"

    def test_marks(self, call, redis_url, namespace, tmp_path):
        """What is switched off, or in a group, says so."""
        call("skills", "import", str(folder(tmp_path / "tea", TEA)), "--owner", "me")
        with memory(redis_url, namespace=namespace) as mem:
            Store(mem).tags.set_enabled(S, False)
            Store(mem).tags.set_group(S, "team")
        assert call("skills", "list").stdout == "no skills\n"
        assert "team, switched off" in call("skills", "list", "--include-disabled").stdout

    def test_refused(self, call, tmp_path):
        """What is refused is an error in one line."""
        result = call("skills", "import", str(folder(tmp_path / "tea", {"a": "x"})))
        assert (result.exit_code, result.stderr.startswith("error: ")) == (1, True)

    def test_failing(self, call, redis_url, namespace, tmp_path):
        """When a skill couldn't be written, that is said, and the command fails."""
        source = str(folder(tmp_path / "tea", TEA))
        call("skills", "import", source)
        with Redis.from_url(redis_url) as client:
            client.set(f"{{{namespace}:0}}:job_later:embed", "junk")
        result = call("skills", "import", source)
        assert result.exit_code == 1
        assert result.stdout == "failed: viking://user/default/skills/tea, 2 files (corrupt_record)\n"
