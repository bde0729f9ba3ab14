"""A model of a scope's tree: what each operation should do, in the plainest words, without a store."""

from __future__ import annotations

from typing import Any

from attrs import define

ROOT = "viking://"


@define
class ModelNode:
    """What stands at a URI of the model."""

    content: str | None
    abstract: str | None = None
    made_for: str | None = None
    off: bool = False
    group: str = ""


def parent(uri: str) -> str | None:
    """The URI above, or None for the root."""
    path = uri[len(ROOT) :]
    return ROOT + path.rpartition("/")[0] if path else None


def at_or_below(uri: str, under: str) -> bool:
    """Whether a URI is in the scope of another."""
    return uri == under or uri.startswith(under if under == ROOT else f"{under}/")


class TreeModel:
    """Nodes by their URIs."""

    def __init__(self) -> None:
        self.nodes: dict[str, ModelNode] = {}

    def put_many(self, documents: list[tuple[str, str, str | None]]) -> list[str] | str:
        """What became of each document, or why none was written."""
        for uri, _, _ in documents:
            if uri in self.nodes and self.nodes[uri].content is None:
                return "kind_conflict"
        outcomes = ["replaced" if uri in self.nodes else "created" for uri, _, _ in documents]
        written = {uri for uri, _, _ in documents}
        for uri, content, abstract in sorted(documents):
            self._fill(uri, written)
            node = self.nodes.setdefault(uri, ModelNode(content, group=self._group_above(uri)))
            node.content = content
            if abstract is not None:
                node.abstract, node.made_for = (abstract, content) if abstract else (None, None)
        return outcomes

    def _fill(self, uri: str, written: set[str]) -> None:
        above = parent(uri)
        if above is not None and above not in self.nodes and above not in written:
            self._fill(above, written)
            self.nodes[above] = ModelNode(None, group=self._group_above(above))

    def _group_above(self, uri: str) -> str:
        above = parent(uri)
        while above is not None and above not in self.nodes:
            above = parent(above)
        return self.nodes[above].group if above is not None else ""

    def remove(self, uri: str) -> int | None:
        """How many documents went, or None when nothing stands there."""
        if uri not in self.nodes:
            return None
        gone = {each: self.nodes.pop(each) for each in list(self.nodes) if at_or_below(each, uri)}
        return sum(node.content is not None for node in gone.values())

    def switch(self, uri: str, on: bool) -> bool | None:
        """Whether a node is enabled then, or None when nothing stands there."""
        if uri not in self.nodes:
            return None
        self.nodes[uri].off = not on
        return self.enabled(uri)

    def tag(self, uri: str, group: str) -> bool:
        """Whether there was something to tag."""
        for each, node in self.nodes.items():
            if at_or_below(each, uri):
                node.group = group
        return uri in self.nodes

    def enabled(self, uri: str) -> bool:
        """Whether neither it nor a node above is switched off."""
        above: str | None = uri
        while above is not None:
            if above in self.nodes and self.nodes[above].off:
                return False
            above = parent(above)
        return True

    def documents(self, under: str = ROOT, *, disabled: bool = True) -> list[str]:
        """The URIs of documents, in their order."""
        return sorted(
            uri
            for uri, node in self.nodes.items()
            if node.content is not None and at_or_below(uri, under) and (disabled or self.enabled(uri))
        )

    def children(self, uri: str) -> list[str] | None:
        """The names below a directory, or None where there is none."""
        if uri not in self.nodes or self.nodes[uri].content is not None:
            return None
        return sorted(
            each[len(uri.rstrip("/")) + 1 :] if uri != ROOT else each[len(ROOT) :]
            for each in self.nodes
            if parent(each) == uri
        )

    def paths(self, query: str, under: str) -> list[tuple[str, str]]:
        """What has a text in its path."""
        wanted = query.casefold()
        return [
            (uri, "dir" if self.nodes[uri].content is None else "doc")
            for uri in sorted(self.nodes)
            if at_or_below(uri, under) and self.enabled(uri) and wanted in uri[len(ROOT) :].casefold()
        ]

    def keyword(self, query: str, under: str) -> list[str]:
        """Which documents have a text in them."""
        wanted = query.casefold()
        texts = {
            uri: (self.nodes[uri].content, self.nodes[uri].abstract) for uri in self.documents(under, disabled=False)
        }
        return [uri for uri, found in texts.items() if any(wanted in (text or "").casefold() for text in found)]

    def grep(self, query: str, under: str) -> list[tuple[str, int]]:
        """Which lines of which documents have a text in them."""
        wanted = query.casefold()
        return [
            (uri, number)
            for uri in self.documents(under, disabled=False)
            for number, line in enumerate((self.nodes[uri].content or "").split("\n"), 1)
            if wanted in line.casefold() and "\n" not in wanted
        ]

    def node(self, uri: str) -> tuple[Any, ...] | None:
        """What is told of a node."""
        node = self.nodes.get(uri)
        if node is None:
            return None
        stale = {"abstract"} if node.abstract is not None and node.made_for != node.content else set()
        return (node.content, node.abstract, self.enabled(uri), node.group, stale)
