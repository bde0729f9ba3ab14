"""Pictures of a view: as Mermaid text, and as an SVG with entities at the left and facts at the right."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from statistics import mean

from tiered_memory.graph.entities import EntityRef
from tiered_memory.graph.items import GraphEdge, GraphView

_ROW, _HEAD = 28, 16
_NAMES, _GAP, _TEXTS, _ARCS = 190, 150, 380, 70
_LONGEST_NAME, _LONGEST_TEXT = 26, 56
_CODES = {'"': "#quot;", "#": "#35;", "&": "#amp;", "<": "#lt;", ">": "#gt;", "`": "#96;"}

_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1f2328} rect{fill:#fff;stroke:#57606a}"
    " .entity{fill:#ddf4ff;stroke:#0969da} .mention{stroke:#8c959f} .pair{fill:none;stroke:#bf8700}"
)


def mermaid(view: GraphView) -> str:
    """The view as a Mermaid flowchart: entities rounded, facts as boxes, pairs dotted with their count."""
    names = {node: f"{'e' if isinstance(node, EntityRef) else 'f'}{place}" for place, node in enumerate(view.nodes)}
    lines = ["graph LR"]
    for node, name in names.items():
        if isinstance(node, EntityRef):
            lines.append(f'  {name}(["{_code(node.name, _LONGEST_NAME)}"])')
        else:
            lines.append(f'  {name}["{_code(view.texts.get(node) or node, _LONGEST_TEXT)}"]')
    for edge in view.edges:
        line = "---" if edge.kind == "mention" else f"-. {edge.count} .-"
        lines.append(f"  {names[edge.source]} {line} {names[edge.target]}")
    return "\n".join(lines) + "\n"


def svg(view: GraphView) -> str:
    """The view as an SVG image: each fact beside the entities that it mentions, and arcs between pairs."""
    facts = {node: place for place, node in enumerate(each for each in view.nodes if isinstance(each, str))}
    entities = _rows_of_entities(view, facts)
    height = 2 * _HEAD + _ROW * max(len(facts), len(entities), 1)
    width = _ARCS + _NAMES + _GAP + _TEXTS + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
        f"<title>{len(entities)} entities and {len(facts)} facts</title><style>{_STYLE}</style>",
        *(_edge(edge, entities, facts) for edge in view.edges),
        *(
            _box(_ARCS, row, _NAMES, "entity", _cut(node.name, _LONGEST_NAME), node.kind)
            for node, row in entities.items()
        ),
        *(
            _box(_ARCS + _NAMES + _GAP, row, _TEXTS, "fact", _cut(view.texts.get(node) or node, _LONGEST_TEXT), node)
            for node, row in facts.items()
        ),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _rows_of_entities(view: GraphView, facts: Mapping[str, int]) -> dict[EntityRef, int]:
    """A row for each entity, near those of its facts."""
    near: dict[EntityRef, list[int]] = {node: [] for node in view.nodes if isinstance(node, EntityRef)}
    for edge in view.edges:
        if isinstance(edge.target, str):
            near[edge.source].append(facts[edge.target])
    ordered = sorted(near, key=lambda entity: (mean(near[entity] or [len(facts)]), entity))
    return {entity: row for row, entity in enumerate(ordered)}


def _edge(edge: GraphEdge, entities: Mapping[EntityRef, int], facts: Mapping[str, int]) -> str:
    start = _middle(entities[edge.source])
    if isinstance(edge.target, str):
        left, right, end = _ARCS + _NAMES, _ARCS + _NAMES + _GAP, _middle(facts[edge.target])
        return f'<line class="mention" x1="{left}" y1="{start}" x2="{right}" y2="{end}"/>'
    end = _middle(entities[edge.target])
    depth = max(_ARCS - min(16 + 6 * abs(entities[edge.source] - entities[edge.target]), _ARCS), 2)
    wide = min(edge.count, 5)
    return (
        f'<path class="pair" stroke-width="{wide}" d="M{_ARCS} {start} C{depth} {start} {depth} {end} {_ARCS} {end}">'
        f"<title>{edge.count} together</title></path>"
    )


def _box(left: int, row: int, width: int, kind: str, label: str, detail: str) -> str:
    top = _middle(row) - _ROW // 2 + 3
    return (
        f'<rect class="{kind}" x="{left}" y="{top}" width="{width}" height="{_ROW - 6}" rx="4"/>'
        f'<text x="{left + 8}" y="{top + 15}">{escape(label)}<title>{escape(_shown(detail))}</title></text>'
    )


def _middle(row: int) -> int:
    return _HEAD + _ROW * row + _ROW // 2


def _code(text: str, most: int) -> str:
    return "".join(_CODES.get(each, each) for each in _cut(text, most))


def _cut(text: str, most: int) -> str:
    shown = _shown(text)
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def _shown(text: str) -> str:
    """In one line, without what an XML document may not have."""
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in " ".join(text.split()))
