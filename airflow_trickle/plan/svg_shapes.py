"""The elements that a picture of a graph is made of, as text of SVG."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from xml.sax.saxutils import escape

INK, GREY, RED, BLUE, GREEN = "#0f172a", "#475569", "#b91c1c", "#1d4ed8", "#047857"
#: Kind of a box -> fill and stroke.
FILLS = {
    "source": ("#eef2f7", "#64748b"),
    "stream_table": ("#ffffff", "#334155"),
    "full": ("#fef3c7", "#b45309"),
    "external": ("#f3e8ff", "#7e22ce"),
}
#: How far the head of an arrow goes beyond the end of its line.
ARROW = 7.0


@dataclass(frozen=True)
class Rect:
    """A box on the page, by its upper left corner.

    >>> Rect(10, 5, 100, 20).right
    110
    """

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """Where its right side is."""
        return self.x + self.width


def sample(what: str, x: float, y: float) -> Iterator[str]:
    """A small example of a kind of box, an outline or an edge, for the legend."""
    box = Rect(x, y - 8, 30, 16)
    if what in FILLS:
        yield rect(box, *FILLS[what], 4)
    elif what == "cycle":
        yield rect(box, "#eff6ff", BLUE, 6, 1.6)
    elif what == "group":
        yield rect(box, "#ffffff", GREEN, 4, 2.2)
    else:
        line = f"M{x:.1f} {y:.1f}H{x + 30 - ARROW:.1f}"
        monotone = what != "non-monotone"
        yield f"<g {edge_style(monotone)}>{edge(line, monotone=monotone, thick=what == 'crosses')}</g>"
        if not monotone:
            yield not_sign(x + 10, y)


def edge_style(monotone: bool) -> str:
    """What all edges of one kind have in common."""
    return f'fill="none" stroke="{GREY}"' if monotone else f'fill="none" stroke="{RED}" stroke-dasharray="6 4"'


def edge(line: str, *, monotone: bool, thick: bool, title: str = "") -> str:
    """A line with an arrow at its end."""
    marker = "arrow" if monotone else "red-arrow"
    inner = f"<title>{escape(title)}</title>" if title else ""
    width = "2.6" if thick else "1.3"
    return f'<path d="{line}" stroke-width="{width}" marker-end="url(#{marker})">{inner}</path>'


def markers() -> str:
    """The heads of arrows."""
    shapes = (
        f'<marker id="{name}" viewBox="0 0 7 8" refX="0" refY="4" markerWidth="7" markerHeight="8" '
        f'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L7 4L0 8Z" fill="{ink}"/></marker>'
        for name, ink in (("arrow", GREY), ("red-arrow", RED))
    )
    return f"<defs>{''.join(shapes)}</defs>"


def not_sign(x: float, y: float) -> str:
    """The logical 'not' in a circle: the label of a non-monotone edge, which a drawing has room for."""
    circle = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="7" fill="#ffffff" stroke="{RED}"/>'
    return circle + text(x, y + 3.5, "¬", size=11, fill=RED, anchor="middle")


def bend(x: float, y: float, to_x: float, to_y: float) -> str:
    """A curve that leaves and arrives level.

    >>> bend(0, 0, 10, 20)
    'C5.0 0.0 5.0 20.0 10.0 20.0'
    """
    middle = (x + to_x) / 2
    return f"C{middle:.1f} {y:.1f} {middle:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}"


def rect(box: Rect, fill: str, stroke: str, radius: float, thick: float = 1.2) -> str:
    """A box with round corners."""
    return (
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="{radius:g}" '
        f'fill="{fill}" stroke="{stroke}" stroke-width="{thick:g}"/>'
    )


def text(x: float, y: float, words: str, *, size: float, fill: str = INK, weight: str = "", anchor: str = "") -> str:
    """A line of text that begins, or with ``anchor="middle"`` has its middle, at a place."""
    more = (f' font-weight="{weight}"' if weight else "") + (f' text-anchor="{anchor}"' if anchor else "")
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" fill="{fill}"{more}>{escape(words)}</text>'
