"""Anthropic's memory tool: the official client drives it, against a server that speaks the messages API."""

from __future__ import annotations

import asyncio
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

anthropic = pytest.importorskip("anthropic")

from tiered_memory import async_memory, memory  # noqa: E402 - the extra is looked for first
from tiered_memory.integrations.anthropic import AsyncMemoryTool, MemoryTool  # noqa: E402


class MessagesServer:
    """Answers `POST /v1/messages` with one command of the memory tool after the other, then with a text."""

    def __init__(self, *commands: dict[str, object]) -> None:
        self.commands = list(commands)
        self.requests: list[dict[str, object]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                server.requests.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                reply = json.dumps(server.reply()).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)

            def log_message(self, *arguments):
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    def reply(self):
        number = len(self.requests) - 1
        content = {"type": "text", "text": "Done."}
        if number < len(self.commands):
            content = {"type": "tool_use", "id": f"tool_{number}", "name": "memory", "input": self.commands[number]}
        return {
            "id": f"msg_{number}", "type": "message", "role": "assistant", "model": "model", "content": [content],
            "stop_reason": "tool_use" if content["type"] == "tool_use" else "end_turn", "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }  # fmt: skip

    def results(self):
        """What the tool answered, each with whether it is an error."""
        blocks = [request["messages"][-1]["content"][0] for request in self.requests[1:]]
        return [(block["content"], block.get("is_error", False)) for block in blocks]

    def __enter__(self):
        self._thread = Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        return self

    def __exit__(self, *exception):
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


@pytest.fixture(params=["blocking", "async"])
def ask(request, redis_url, namespace, embedder):
    """Lets the client's tool runner execute commands in a scope; what the tool answered each of them."""
    options = {"max_tokens": 100, "model": "model", "messages": [{"role": "user", "content": "Remember."}]}

    def blocking(server):
        with memory(redis_url, namespace=namespace, embedder=embedder) as mem:
            tool = MemoryTool(mem.scoped("user:42").files)
            with anthropic.Anthropic(api_key="key", base_url=server.url, max_retries=0) as client:
                client.beta.messages.tool_runner(tools=[tool], **options).until_done()

    async def awaited(server):
        async with async_memory(redis_url, namespace=namespace, embedder=embedder) as mem:
            tool = AsyncMemoryTool(mem.scoped("user:42").files)
            async with anthropic.AsyncAnthropic(api_key="key", base_url=server.url, max_retries=0) as client:
                await client.beta.messages.tool_runner(tools=[tool], **options).until_done()

    def ask(*commands):
        with MessagesServer(*commands) as server:
            blocking(server) if request.param == "blocking" else asyncio.run(awaited(server))
            assert server.requests[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]
            return server.results()

    return ask


@pytest.fixture
def tool(redis_url, namespace, embedder):
    """The tool in a scope of its own, and the memory's files."""
    with memory(redis_url, namespace=namespace, embedder=embedder) as mem:
        yield MemoryTool(mem.scoped("user:42").files)


def run(tool, command, **fields):
    """The tool's reply, or what it says of an error."""
    try:
        return tool.call({"command": command, **fields})
    except anthropic.lib.tools.ToolError as error:
        return f"Error: {error.content}"


class TestWithTheClient:
    def test_a_life(self, ask):
        """A file is created, viewed, edited, moved and deleted by the client's own tool runner."""
        text = "# Tea\nLikes green tea.\n"
        answers = ask(
            {"command": "view", "path": "/memories"},
            {"command": "create", "path": "/memories/tea.md", "file_text": text},
            {"command": "view", "path": "/memories/tea.md"},
            {"command": "str_replace", "path": "/memories/tea.md", "old_str": "green", "new_str": "black"},
            {"command": "insert", "path": "/memories/tea.md", "insert_line": 1, "insert_text": "No sugar.\n"},
            {"command": "rename", "old_path": "/memories/tea.md", "new_path": "/memories/drinks/tea.md"},
            {"command": "view", "path": "/memories"},
            {"command": "delete", "path": "/memories/drinks"},
            {"command": "view", "path": "/memories/drinks/tea.md"},
        )
        listing = "Here're the files and directories up to 2 levels deep in /memories"
        listing += ", excluding hidden items and node_modules:"
        edited = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
        assert answers == [
            (f"{listing}\n0B\t/memories", False),
            ("File created successfully at: /memories/tea.md", False),
            (
                "Here's the content of /memories/tea.md with line numbers:\n     1\t# Tea\n     2\tLikes green tea.",
                False,
            ),
            (f"{edited}\n     1\t# Tea\n     2\tLikes black tea.", False),
            ("The file /memories/tea.md has been edited.", False),
            ("Successfully renamed /memories/tea.md to /memories/drinks/tea.md", False),
            (f"{listing}\n33B\t/memories\n33B\t/memories/drinks/\n33B\t/memories/drinks/tea.md", False),
            ("Successfully deleted /memories/drinks", False),
            ("The path /memories/drinks/tea.md does not exist. Please provide a valid path.", True),
        ]

    def test_errors_reach_the_model(self, ask):
        """What is refused is told to the model as an error, and the runner goes on."""
        answers = ask(
            {"command": "create", "path": "/etc/passwd", "file_text": ""},
            {"command": ["fly"]},
            {"command": "create", "path": "/memories/a"},
        )
        assert [is_error for _, is_error in answers] == [True, True, True]
        assert "must start with /memories" in answers[0][0]


class TestPaths:
    @pytest.mark.parametrize(
        "path",
        [
            "/memories_evil/x", "/memories/../memories/z", "/memories/%2e%2e/x", "/memories/..%2fx", "/memories//x",
            "/memories/..\\x", "/memories/./x", "memories/x", "/", "", "/memories/a\0", "~/memories/x", 7, None,
        ],
    )  # fmt: skip
    def test_refused(self, tool, path):
        """A path that leads out of /memories, or could be read in two ways, is refused by every command."""
        for command, fields in (
            ("view", {}),
            ("create", {"file_text": ""}),
            ("str_replace", {"old_str": "a", "new_str": "b"}),
            ("insert", {"insert_line": 0, "insert_text": ""}),
            ("delete", {}),
        ):
            assert run(tool, command, path=path, **fields).startswith("Error: ")
        assert run(tool, "rename", old_path="/memories/a", new_path=path).startswith("Error: ")
        assert tool._files.list().items == []

    def test_the_root(self, tool):
        """The root can be viewed with a slash, and neither deleted, moved nor written to."""
        assert run(tool, "view", path="/memories/") == run(tool, "view", path="/memories")
        assert run(tool, "delete", path="/memories") == "Error: Cannot delete the /memories directory itself"
        moved = run(tool, "rename", old_path="/memories", new_path="/memories/a")
        assert moved == "Error: Cannot rename the /memories directory itself"
        assert run(tool, "create", path="/memories", file_text="").startswith("Error: ")

    def test_only_its_own(self, tool):
        """What else the scope has in files is out of reach."""
        tool._files.write("/private", "secret")
        assert "private" not in run(tool, "view", path="/memories")
        assert run(tool, "view", path="/private").startswith("Error: ")


class TestView:
    def test_a_tree(self, tool):
        """Folders are listed two levels deep with readable sizes, without hidden names and node_modules."""
        for path, size in (("a/b/c/d", 1536), ("a/x", 0), (".hidden", 1), ("node_modules/y", 1), ("z", 2**20)):
            tool._files.write(f"/memories/{path}", b"x" * size)
        assert run(tool, "view", path="/memories").splitlines()[1:] == [
            "1M\t/memories", "1.5K\t/memories/a/", "1.5K\t/memories/a/b/", "0B\t/memories/a/x", "1M\t/memories/z",
        ]  # fmt: skip
        assert run(tool, "view", path="/memories/a/b/").splitlines()[1:] == [
            "1.5K\t/memories/a/b", "1.5K\t/memories/a/b/c/", "1.5K\t/memories/a/b/c/d",
        ]  # fmt: skip
        assert run(tool, "view", path="/memories/.hidden").endswith("     1\tx")

    @pytest.mark.parametrize(
        ("view_range", "numbers"),
        [(None, [1, 2, 3]), ([2, 3], [2, 3]), ([2, -1], [2, 3]), ([3, 9], [3]), ([1, 1], [1])],
    )
    def test_a_range(self, tool, view_range, numbers):
        """A range of lines is shown; a last line of -1, or beyond the file, is its end."""
        tool._files.write("/memories/a", "one\ntwo\nthree\n")
        lines = run(tool, "view", path="/memories/a", view_range=view_range).splitlines()[1:]
        assert [int(line.split("\t")[0]) for line in lines] == numbers

    @pytest.mark.parametrize("view_range", [[0, 2], [4, 5], [3, 2], [1], [1, -2], "12", [1, "2"]])
    def test_no_range(self, tool, view_range):
        """A range that is reversed, or outside of the file, is refused rather than shown as nothing."""
        tool._files.write("/memories/a", "one\ntwo\nthree\n")
        answer = run(tool, "view", path="/memories/a", view_range=view_range)
        assert answer.startswith("Error: Invalid `view_range` parameter: ")
        assert "[1, 3]" in answer

    def test_too_many_lines(self, tool):
        """A file of a million lines isn't shown."""
        tool._files.write("/memories/a", "\n" * 999_999)
        assert run(tool, "view", path="/memories/a").startswith("Here's")
        tool._files.write("/memories/a", "\n" * 1_000_000)
        answer = run(tool, "view", path="/memories/a")
        assert answer == "Error: File /memories/a exceeds maximum line limit of 999,999 lines."

    def test_bytes(self, tool):
        """A file that isn't text is an error for the model."""
        tool._files.write("/memories/a", b"\xff")
        assert "not UTF-8" in run(tool, "view", path="/memories/a")


class TestChanges:
    def test_create(self, tool):
        """A file is only created, never overwritten, and never below another."""
        assert run(tool, "create", path="/memories/a", file_text="x") == "File created successfully at: /memories/a"
        assert run(tool, "create", path="/memories/a", file_text="y") == "Error: File /memories/a already exists"
        assert run(tool, "create", path="/memories/a/b", file_text="y").startswith("Error: '/memories/a' is a file")
        assert tool._files.read("/memories/a").text == "x"

    def test_replacing(self, tool):
        """The replies to a replacement are those documented, and name each line once."""
        tool._files.write("/memories/a", "1\n2\nxx xx\n4\n5\n6\nxx\n")
        missing = run(tool, "str_replace", path="/memories/a", old_str="zz", new_str="")
        assert missing == "Error: No replacement was performed, old_str `zz` did not appear verbatim in /memories/a."
        several = run(tool, "str_replace", path="/memories/a", old_str="xx", new_str="")
        assert several == (
            "Error: No replacement was performed. Multiple occurrences of old_str `xx` in lines: 3, 7. "
            "Please ensure it is unique"
        )
        done = run(tool, "str_replace", path="/memories/a", old_str="xx xx", new_str="3")
        assert done.splitlines()[1:] == ["     1\t1", "     2\t2", "     3\t3", "     4\t4", "     5\t5"]
        assert run(tool, "str_replace", path="/memories/a", old_str="", new_str="x").startswith("Error: ")
        for path in ("/memories/b", "/memories"):
            assert run(tool, "str_replace", path=path, old_str="x", new_str="").startswith("Error: The path ")

    def test_inserting(self, tool):
        """Text is inserted as it is; a line that isn't there is refused with the range."""
        tool._files.write("/memories/a", "1\n2")
        assert run(tool, "insert", path="/memories/a", insert_line=1, insert_text="x\n\n").endswith("has been edited.")
        assert tool._files.read("/memories/a").text == "1\nx\n\n2"
        for line in (-1, 5, "1"):
            assert run(tool, "insert", path="/memories/a", insert_line=line, insert_text="x") == (
                f"Error: Invalid `insert_line` parameter: {line}. "
                "It should be within the range of lines of the file: [0, 4]"
            )
        missing = run(tool, "insert", path="/memories/b", insert_line=0, insert_text="x")
        assert missing == "Error: The path /memories/b does not exist"

    def test_moving_and_deleting(self, tool):
        """What is missing, or in the way, is named as documented."""
        tool._files.write("/memories/a", "")
        tool._files.write("/memories/b", "")
        rename = {"old_path": "/memories/a", "new_path": "/memories/b"}
        assert run(tool, "rename", **rename) == "Error: The destination /memories/b already exists"
        rename = {"old_path": "/memories/c", "new_path": "/memories/d"}
        assert run(tool, "rename", **rename) == "Error: The path /memories/c does not exist"
        assert run(tool, "delete", path="/memories/c") == "Error: The path /memories/c does not exist"

    def test_clearing(self, tool):
        """Clearing deletes all memories, and nothing else."""
        tool._files.write("/memories/a", "")
        tool._files.write("/other", "")
        assert tool.clear_all_memory() == tool.clear_all_memory() == "All memory cleared"
        assert [info.path for info in tool._files.list().items] == ["/other"]

    def test_what_the_client_parsed(self, tool):
        """A command that the client has parsed is executed as well."""
        command = anthropic.types.beta.BetaMemoryTool20250818CreateCommand(
            command="create", path="/memories/a", file_text="x"
        )
        assert tool.execute(command) == "File created successfully at: /memories/a"
