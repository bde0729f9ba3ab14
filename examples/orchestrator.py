"""A small orchestrator: each turn recalls what its session said before, and is remembered in turn.

Run it with `python examples/orchestrator.py`; it needs no server, no network and no key. With REDIS_URL in the
environment it uses that server.
"""

from __future__ import annotations

import re

from tiered_memory import MemoryConfig, TurnHooks, format_memories, memory

CONFIG = MemoryConfig(data_dir=":temp:", namespace="example-orchestrator")

TURNS = [
    ("ada", "My email is ada@example.com."),
    ("bob", "What is my email?"),
    ("ada", "What is my email?"),
]


def model(system: str, user: str) -> str:
    """Stands for your language model: it knows what is in its prompt, and nothing else."""
    if "?" not in user:
        return "Noted."
    known = re.search(r"[\w.]+@[\w.]+\w", system)
    return f"It is {known[0]}." if known else "You haven't told me."


def main() -> None:
    """Plays the turns, and shows what each of them recalled."""
    with memory(CONFIG) as mem:
        hooks = TurnHooks(mem, max_tokens=500)
        for session, text in TURNS:
            with hooks.turn(session, text) as turn:
                memories = turn.context.get("memories", [])
                turn.reply = model(format_memories(memories), text)
            print(f"{session}: {text}\n  -> {turn.reply}  ({len(memories)} recalled)")
        for session in ("ada", "bob"):
            hooks.end_session(session)
        mem.clear()


if __name__ == "__main__":
    main()
