"""Charts of lines over a logarithmic axis, as SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

_WIDTH, _HEIGHT = 560, 260
_LEFT, _TOP, _RIGHT, _BOTTOM = 64, 34, 170, 46
_COLOURS = ("#0969da", "#54aeff", "#bc4c00", "#fb8f44")

Points = Sequence[tuple[float, float]]


def chart(title: str, across: str, series: Mapping[str, Points]) -> str:
    """Each series as a line with its name beside it; the vertical axis begins at 0 and is what `title` says."""
    xs = sorted({x for points in series.values() for x, _ in points})
    step = _step(max(y for points in series.values() for _, y in points))
    top = step * math.ceil(max(y for points in series.values() for _, y in points) / step)
    low, span = math.log10(xs[0]), (math.log10(xs[-1]) - math.log10(xs[0])) or 1

    def place(x: float, y: float) -> tuple[float, float]:
        return _WIDTH * (math.log10(x) - low) / span, _HEIGHT * (1 - y / top)

    width, height = _LEFT + _WIDTH + _RIGHT, _TOP + _HEIGHT + _BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif"'
        f' font-size="12" fill="#1f2328"><title>{escape(title)}</title>',
        f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/><g transform="translate({_LEFT} {_TOP})">',
        f'<text y="-14" font-weight="bold">{escape(title)}</text>',
    ]
    for number in range(round(top / step) + 1):
        _, y = place(xs[0], number * step)
        parts.append(f'<line x2="{_WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="#d0d7de"/>')
        parts.append(f'<text x="-8" y="{y + 4:.1f}" text-anchor="end">{number * step:,.6g}</text>')
    parts += [f'<text x="{place(x, 0)[0]:.1f}" y="{_HEIGHT + 18}" text-anchor="middle">{x:,.0f}</text>' for x in xs]
    parts.append(f'<text x="{_WIDTH / 2}" y="{_HEIGHT + 36}" text-anchor="middle">{escape(across)}</text>')
    ends = {name: place(*points[-1])[1] for name, points in series.items()}
    for colour, (name, points), label in zip(_COLOURS, series.items(), _apart(ends).values(), strict=False):
        line = " ".join(f"{left:.1f},{y:.1f}" for left, y in (place(*point) for point in points))
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{_WIDTH + 8}" y="{label + 4:.1f}" fill="{colour}">{escape(name)}</text>')
    return "\n".join([*parts, "</g></svg>\n"])


def _step(most: float) -> float:
    """The distance of the lines of the grid: 1, 2 or 5 times a power of ten, four to eight of them."""
    power = 10.0 ** math.floor(math.log10(most / 4))
    return next(power * factor for factor in (1, 2, 5, 10) if most / (power * factor) <= 8)


def _apart(ends: Mapping[str, float]) -> dict[str, float]:
    """The heights of the names, moved down where they would lie over another."""
    heights: dict[str, float] = {}
    for name in sorted(ends, key=lambda each: ends[each]):
        heights[name] = max(ends[name], max(heights.values(), default=-math.inf) + 14)
    return {name: heights[name] for name in ends}
