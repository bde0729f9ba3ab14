"""Draws the score formulas, as `tiered_memory.ranking` computes them, into docs/images/ranking.svg."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from html import escape
from pathlib import Path
from typing import NamedTuple

from tiered_memory import ranking

DAY = 86_400.0
WEEK = timedelta(days=7)
WEIGHT = 0.3

WIDTH, HEIGHT = 300, 170
LEFT, TOP, RIGHT, BOTTOM = 46, 34, 14, 44
LABEL = 0.4  # how far along its curve a name stands
COLOURS = ("#1f6feb", "#c2410c", "#15803d")


class Curve(NamedTuple):
    """One line of a panel: what it is called, and its score in [0, 1] at each x."""

    name: str
    at: Callable[[float], float]


class Panel(NamedTuple):
    """One diagram, whose x runs from `least` to `most` in `steps` steps."""

    title: str
    x: str
    least: float
    most: float
    steps: int
    curves: Sequence[Curve]

    def at(self, share: float) -> float:
        """The x that lies this share of the way from `least` to `most`."""
        return self.least + share * (self.most - self.least)


def recency(days: float) -> Curve:
    """Recency by age, with a half-life of so many days."""
    return Curve(f"{days:g} days", lambda age: ranking.recency(age * DAY, timedelta(days=days)))


def episodic(cosine: float) -> Curve:
    """The episodic score by age, at a cosine."""
    return Curve(f"cosine {cosine:g}", lambda age: ranking.blend(cosine, ranking.recency(age * DAY, WEEK), WEIGHT))


def procedural(cosine: float) -> Curve:
    """The procedural score by uses, at a cosine."""
    return Curve(f"cosine {cosine:g}", lambda uses: ranking.blend(cosine, ranking.reinforcement(uses), WEIGHT))


PANELS = (
    Panel("recency = 0.5 ^ (age / half-life)", "age in days", 0, 28, 56, [recency(14), recency(7), recency(3)]),
    Panel("reinforcement = uses / (uses + 1)", "uses", 1, 13, 12, [Curve("", ranking.reinforcement)]),
    Panel("episodic: 0.7 cosine + 0.3 recency", "age in days", 0, 28, 56, [episodic(c) for c in (0.9, 0.6, 0.3)]),
    Panel("procedural: 0.7 cosine + 0.3 reinforcement", "uses", 1, 13, 12, [procedural(c) for c in (0.9, 0.6, 0.3)]),
)


def plot() -> str:
    """All panels, two a row, as the text of an SVG file."""
    rows = -(-len(PANELS) // 2)
    width, height = 2 * (LEFT + WIDTH + RIGHT), rows * (TOP + HEIGHT + BOTTOM)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"',
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>',
    ]
    for place, panel in enumerate(PANELS):
        x, y = place % 2 * width // 2 + LEFT, place // 2 * height // rows + TOP
        parts += [f'<g transform="translate({x} {y})">', *_axes(panel), *_curves(panel), "</g>"]
    return "\n".join([*parts, "</svg>", ""])


def _axes(panel: Panel) -> list[str]:
    grid = [_line(0, _y(share), WIDTH, _y(share)) for share in (0, 0.5, 1)]
    shares = [_text(-8, _y(share) + 4, f"{share:g}", "end") for share in (0, 0.5, 1)]
    ticks = [_text(WIDTH * part, HEIGHT + 16, f"{panel.at(part):g}", "middle") for part in (0, 0.25, 0.5, 0.75, 1)]
    title = _text(0, -14, panel.title, "start", weight="bold")
    return [title, *grid, *shares, *ticks, _text(WIDTH / 2, HEIGHT + 33, panel.x, "middle")]


def _curves(panel: Panel) -> list[str]:
    lines = []
    for colour, curve in zip(COLOURS, panel.curves, strict=False):
        shares = [step / panel.steps for step in range(panel.steps + 1)]
        points = " ".join(f"{WIDTH * share:.1f},{_y(curve.at(panel.at(share))):.1f}" for share in shares)
        lines.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        lines.append(_text(WIDTH * LABEL, _y(curve.at(panel.at(LABEL))) - 8, curve.name, "start", colour))
    return lines


def _y(share: float) -> float:
    return HEIGHT * (1 - share)


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#d0d7de"/>'


def _text(x: float, y: float, text: str, anchor: str, colour: str = "#1f2328", weight: str = "normal") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} fill="{colour}" font-weight="{weight}">{escape(text)}</text>'


if __name__ == "__main__":
    file = Path(__file__).parent.parent / "docs" / "images" / "ranking.svg"
    file.write_text(plot(), "utf-8")
