"""A walk through review: doubtful facts wait, unseen by recall, until they are promoted or rejected.

Run it with `python examples/review.py`; it needs no server, no network and no key. With REDIS_URL in the environment
it uses that server.
"""

from __future__ import annotations

from datetime import datetime, timezone

from tiered_memory import GateConfig, MemoryConfig, MemoryItem, ScopedMemory, memory

CONFIG = MemoryConfig(data_dir=":temp:", namespace="example-review", gate=GateConfig(confidence_floor=0.8))


def extract(conversation: str) -> list[MemoryItem]:
    """Stands for your extractor: facts from a conversation, and how sure it is of each."""
    facts = [("home", "Ada lives in Lyon.", 0.7), ("diet", "Ada eats no nuts.", 0.6), ("pet", "Ada has a cat.", 0.3)]
    return [
        MemoryItem(text, id=id, confidence=confidence, source=f"extractor of {conversation}")
        for id, text, confidence in facts
    ]


def ask(ada: ScopedMemory, as_of: datetime | None = None) -> str:
    """What is recalled, now or as of an earlier time."""
    hits = ada.recall("Where does Ada live?", k=1, as_of=as_of)
    return hits[0].text if hits else "nothing"


def main() -> None:
    """Extracts three facts; promotes one, rejects one, supersedes one, and asks after each step."""
    with memory(CONFIG) as mem:
        ada = mem.scoped("user:ada")
        for fact in ada.remember(extract("chat 7")):
            print(f"{fact.id}: {fact.outcome}, {fact.reason}")
        print(f"while they wait, recall finds: {ask(ada)}")

        home, _, pet = ada.review.pending().items
        ada.review.promote("home", "semantic", version=home.version)
        print(f"after promoting home: {ask(ada)}")

        ada.review.reject("pet", "semantic", version=pet.version)
        waiting = [claim.candidate.id for claim in ada.review.pending().items]
        print(f"after rejecting pet, there waits: {', '.join(waiting)}")

        before = datetime.now(timezone.utc)
        ada.remember(MemoryItem("Ada lives in Paris.", id="home", confidence=0.9, source="user"))
        print(f"after a surer claim: {ask(ada)}")
        print(f"as of before: {ask(ada, before)}")
        for each in ada.history("home", "semantic"):
            print(f"  {each.status}: {each.text}")
        mem.erase("user:ada")


if __name__ == "__main__":
    main()
