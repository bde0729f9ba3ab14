"""Processes that begin the same work at the same moment; run as a program, which forks itself once all is imported."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from io import BytesIO
from typing import Any

from embedders_for_tests import TableEmbedder

from tiered_memory import Memory, MemoryItem, memory
from tiered_memory.archive import Archive
from tiered_memory.graph import EntityRef
from tiered_memory.store.sessions import Sessions


def remember_the_same(mem: Memory, number: int) -> None:
    """The same text in each tier."""
    mem.remember([MemoryItem("exact", tier) for tier in ("working", "semantic", "episodic", "procedural")])


def remember_ten_of_its_own(mem: Memory, number: int) -> None:
    """Ten ids that no other process uses."""
    mem.remember([MemoryItem("exact", id=f"{number}:{each}") for each in range(10)])


def edit_one_file(mem: Memory, number: int) -> None:
    """Ten lines more in the file that all edit, one by one."""
    for each in range(10):
        mem.files.insert("/log.md", 1, f"{number}:{each}")


def append_to_one_session(mem: Memory, number: int) -> None:
    """Fifty messages in the session that all append to, one by one."""
    for each in range(50):
        Sessions(mem).append("shared", str(number), str(each))


def load_one_archive(mem: Memory, number: int) -> None:
    """The archive that is a file of scope `archive`, into scope `copy`."""
    Archive(mem.scoped("copy")).load(BytesIO(mem.scoped("archive").files.read("/archive").content))


def replace_one_skill(mem: Memory, number: int) -> None:
    """Twenty versions of the skill that all replace, each with as many files as it pleases."""
    for each in range(20):
        files = {f"{number}/{place}.md": f"{number}:{each}" for place in range(1 + (number + each) % 4)}
        mem.store.skills.replace("viking://user/me/skills/tea", files | {"SKILL.md": f"{number}:{each}"})


def index_and_forget(mem: Memory, number: int) -> None:
    """Forty times one of ten facts, indexed by two of four entities, or forgotten."""
    for each in range(40):
        name = f"f{(each * 7 + number) % 10}"
        if each % 3 == 2:
            mem.graph.forget(name)
        else:
            mem.graph.index(name, [EntityRef("x", str((each + number) % 4)), EntityRef("x", str(each % 4))])


def supersede_and_index(mem: Memory, number: int) -> None:
    """Sixty texts at two ids that all write to, each indexed after it was remembered."""
    for each in range(60):
        id, text = "pq"[each % 2], f"{number} {each % 10}"
        mem.remember(text, id=id)
        mem.graph.index(id, [EntityRef("x", str(number))], text, tier="semantic")


def run_together(work: str, count: int, url: str, namespace: str) -> None:
    """Runs the function `work` of this module in `count` processes at once; fails when one of them fails."""
    command = [sys.executable, __file__, work, str(count), url, namespace]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def _process(start: Any, work: str, number: int, url: str, namespace: str) -> None:
    start.wait(30)
    with memory(url, namespace=namespace, embedder=TableEmbedder()) as mem:
        globals()[work](mem, number)


def _main(work: str, count: int, url: str, namespace: str) -> int:
    import redisvl.schema  # noqa: F401 - what takes long to import is imported once, before forking

    context = multiprocessing.get_context("fork")
    start = context.Barrier(count)
    processes = [context.Process(target=_process, args=(start, work, n, url, namespace)) for n in range(count)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    return sum(process.exitcode != 0 for process in processes)


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]))
