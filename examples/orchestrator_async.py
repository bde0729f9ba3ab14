"""The small orchestrator with awaited calls: the turns of several sessions run at the same time.

Run it with `python examples/orchestrator_async.py`; it needs no server, no network and no key. With REDIS_URL in
the environment it uses that server.
"""

from __future__ import annotations

import asyncio
import re

from tiered_memory import AsyncTurnHooks, MemoryConfig, async_memory, format_memories

CONFIG = MemoryConfig(data_dir=":temp:", namespace="example-orchestrator-async")

SESSIONS = {
    "ada": ["My email is ada@example.com.", "What is my email?"],
    "bob": ["Good morning.", "What is my email?"],
}


async def model(system: str, user: str) -> str:
    """Stands for your language model: it knows what is in its prompt, and nothing else."""
    if "?" not in user:
        return "Noted."
    known = re.search(r"[\w.]+@[\w.]+\w", system)
    return f"It is {known[0]}." if known else "You haven't told me."


async def talk(hooks: AsyncTurnHooks, session: str, texts: list[str]) -> None:
    """One session, turn by turn."""
    for text in texts:
        async with hooks.turn(session, text) as turn:
            memories = turn.context.get("memories", [])
            turn.reply = await model(format_memories(memories), text)
        print(f"{session}: {text}\n  -> {turn.reply}  ({len(memories)} recalled)")
    await hooks.end_session(session)


async def main() -> None:
    """Plays all sessions side by side."""
    async with async_memory(CONFIG) as mem:
        hooks = AsyncTurnHooks(mem, max_tokens=500)
        await asyncio.gather(*(talk(hooks, session, texts) for session, texts in SESSIONS.items()))
        await mem.clear()


if __name__ == "__main__":
    asyncio.run(main())
