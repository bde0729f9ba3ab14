"""A deep agent whose `/memories/` outlive the conversation; all its other files don't.

Run it with `python examples/files_deepagents.py`; it needs the `deepagents` extra, but no server, no network and no
key: a script stands for the model. With REDIS_URL in the environment it uses that server.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from deepagents import create_deep_agent
from deepagents.backends import CompositeBackend, StateBackend
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from tiered_memory import MemoryConfig, memory
from tiered_memory.files import FileSystem
from tiered_memory.integrations.deepagents import FilesBackend

CONFIG = MemoryConfig(data_dir=":temp:", namespace="example-files-deepagents")


class Script(GenericFakeChatModel):
    """Stands for your language model: it says its lines, whatever it is told."""

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Script:
        """The model itself, which knows the tools from its script."""
        return self


def uses(name: str, **arguments: Any) -> AIMessage:
    """A turn of the model that calls a tool."""
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": name}])


def converse(files: FileSystem, lines: Iterator[AIMessage]) -> list[Any]:
    """One conversation of the user's agent."""
    backend = CompositeBackend(default=StateBackend(), routes={"/memories/": FilesBackend(files)})
    agent = create_deep_agent(model=Script(messages=lines), backend=backend)
    state: dict[str, Any] = agent.invoke({"messages": [("user", "How do I like my tea?")]})
    return list(state["messages"])


def main() -> None:
    """Plays two conversations; the second one reads what the first one wrote."""
    with memory(CONFIG) as mem:
        files = mem.scoped("user:ada").files
        first = [
            uses("write_file", file_path="/memories/tea.md", content="Likes black tea.\n"),
            uses("write_file", file_path="/scratch.md", content="Not for long.\n"),
            AIMessage("Noted."),
        ]
        second = [uses("read_file", file_path="/memories/tea.md"), AIMessage("Black.")]
        converse(files, iter(first))
        messages = converse(files, iter(second))
        print("kept:", [info.path for info in files.list().items])
        print("read:", messages[-2].content.splitlines()[-1])
        mem.clear()


if __name__ == "__main__":
    main()
