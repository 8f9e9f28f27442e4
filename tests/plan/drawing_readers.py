"""Small readers of Mermaid, DOT and SVG, as strict as the grammars that their makers publish."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.etree import ElementTree


@dataclass
class Drawn:
    """What a drawing says: id -> label, edges as (start, end, style, label), node -> the boxes around it."""

    labels: dict[str, str] = field(default_factory=dict)
    edges: list[tuple[str, str, str, str]] = field(default_factory=list)
    inside: dict[str, list[str]] = field(default_factory=dict)
    classes: dict[str, list[str]] = field(default_factory=dict)


#: Words that the lexer of Mermaid finds at the beginning of an id, and then reads it as something else.
KEYWORDS = ("call", "class", "click", "default", "end", "flowchart", "graph", "href", "linkStyle", "style", "subgraph")
WORD = r"[A-Za-z][A-Za-z0-9_]*"
TEXT = r'"([^"`]*)"'
NODE = re.compile(rf"({WORD})(?:\[{TEXT}\]|\[\({TEXT}\)\]|\[\[{TEXT}\]\])")
EDGE = re.compile(rf"({WORD}) (-->|==>|-\.->)(?:\|{TEXT}\|)? ({WORD})")
SUBGRAPH = re.compile(rf"subgraph ({WORD})\[{TEXT}\]")
CLASS_DEF = re.compile(rf"classDef ({WORD}) [a-z-]+:[#a-z0-9]+(?:,[a-z-]+:[#a-z0-9]+)*")
CLASS = re.compile(rf"class ({WORD}(?:,{WORD})*) ({WORD})")


def read_mermaid(text: str) -> Drawn:
    """The flowchart; every line must be a statement of its own, by the grammar of Mermaid's flowcharts."""
    drawn = Drawn()
    open_boxes: list[str] = []
    styled: set[str] = set()
    first, *lines = text.splitlines()
    assert first == "flowchart LR"
    assert text.endswith("\n")
    for line in (line.strip() for line in lines):
        # The lexer takes such a line as a whole, also where the words are inside quotes.
        assert not re.search(r"direction\s+(TB|BT|RL|LR)", line), line
        if line.startswith("%%"):
            assert "{" not in line
        elif line == "end":
            open_boxes.pop()
        elif found := SUBGRAPH.fullmatch(line):
            open_boxes.append(_label(found[2]))
            drawn.labels[_safe(found[1])] = _label(found[2])
        elif found := NODE.fullmatch(line):
            drawn.labels[_safe(found[1])] = _label(next(part for part in found.groups()[1:] if part is not None))
            drawn.inside[found[1]] = list(open_boxes)
        elif found := EDGE.fullmatch(line):
            start, style, label, end = found.groups()
            assert start in drawn.inside, line
            assert end in drawn.inside, line
            drawn.edges.append((start, end, style, _label(label or "")))
        elif found := CLASS_DEF.fullmatch(line):
            styled.add(_safe(found[1]))
        elif found := CLASS.fullmatch(line):
            assert found[2] in styled, line
            assert all(name in drawn.labels for name in found[1].split(",")), line
            drawn.classes[found[2]] = found[1].split(",")
        else:
            raise AssertionError(f"not a statement: {line}")
    assert not open_boxes
    return drawn


def _safe(word: str) -> str:
    assert not word.startswith((*KEYWORDS, "v", "o", "x")), word
    return word


def _label(text: str) -> str:
    """What a person sees: Mermaid turns #35; into &#35;, and the browser that into a character."""
    # These two make Mermaid take the line for a style and drop a semicolon.
    assert not re.search(r"(style|classDef).*:\S*#.*;", text), text
    lines = re.split(r"<br/>", text)
    assert not any(re.search(r"[<>&%]", line) for line in lines), text
    return "\n".join(html.unescape(re.sub(r"#(\w+);", r"&#\1;", line)) for line in lines)


TOKEN = re.compile(
    r'\s*(?:(?P<quoted>"(?:\\["\\]|\\[^"\\]|[^"\\])*")|(?P<word>[A-Za-z_][A-Za-z_0-9]*)|(?P<sign>->|[{}\[\]=,;]))',
    re.DOTALL,
)


def read_dot(text: str) -> tuple[Drawn, dict[str, dict[str, str]]]:
    """The graph, and the attributes of its nodes and edges (by ``start -> end``), as they were quoted."""
    drawn = Drawn()
    attributes: dict[str, dict[str, str]] = {}
    tokens = list(_tokens(text))
    assert tokens[:1] == [("word", "digraph")]
    assert tokens[1][0] == "quoted"
    assert tokens[2:3] == [("sign", "{")]
    end = _statements(tokens, 3, [], drawn, attributes)
    assert end == len(tokens), "something comes after the graph"
    return drawn, attributes


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    place = 0
    while text[place:].strip():
        found = TOKEN.match(text, place)
        assert found, f"no token at {text[place : place + 40]!r}"
        place = found.end()
        kind = str(found.lastgroup)
        yield kind, found[kind][1:-1].replace('\\"', '"') if kind == "quoted" else found[kind]


def _statements(
    tokens: list[tuple[str, str]], at: int, boxes: list[str], drawn: Drawn, attributes: dict[str, dict[str, str]]
) -> int:
    while tokens[at] != ("sign", "}"):
        kind, value = tokens[at]
        if (kind, value) == ("word", "subgraph"):
            assert tokens[at + 1][1].startswith("cluster_")
            assert tokens[at + 2] == ("sign", "{")
            at = _statements(tokens, at + 3, [*boxes, tokens[at + 1][1]], drawn, attributes)
        elif kind == "word":
            assert value in ("graph", "node", "edge")
            given, at = _attributes(tokens, at + 1)
            if value == "graph" and boxes:
                drawn.labels[boxes[-1]] = dot_text(given["label"])
        elif tokens[at + 1] == ("sign", "->"):
            end = tokens[at + 2][1]
            given, at = _attributes(tokens, at + 3)
            attributes[f"{value} -> {end}"] = given
            drawn.edges.append((value, end, given.get("style", ""), dot_text(given.get("label", ""))))
        else:
            given, at = _attributes(tokens, at + 1)
            attributes[value] = given
            drawn.labels[value] = dot_text(given["label"])
            drawn.inside[value] = boxes
    return at + 1


def _attributes(tokens: list[tuple[str, str]], at: int) -> tuple[dict[str, str], int]:
    assert tokens[at] == ("sign", "[")
    found: dict[str, str] = {}
    at += 1
    while tokens[at] != ("sign", "]"):
        assert tokens[at][0] == "word"
        assert tokens[at + 1] == ("sign", "=")
        assert tokens[at + 2][0] == "quoted"
        found[tokens[at][1]] = tokens[at + 2][1]
        at += 3
        if tokens[at] == ("sign", ","):
            at += 1
    return found, at + 1


def dot_text(value: str) -> str:
    """What a person sees: Graphviz turns escapes into characters, and entities too."""
    plain = re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], value)
    assert re.fullmatch(r"(?:\\[\\n]|[^\\])*", value), value
    return html.unescape(plain)


SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Shape:
    """A box of a picture with its lines of text, each with where it begins and about where it ends."""

    title: str
    left: float
    top: float
    right: float
    bottom: float
    texts: tuple[tuple[str, float, float, float], ...]


def read_svg(text: str) -> tuple[ElementTree.Element, list[Shape]]:
    """The picture and its boxes; nothing in it may run or be fetched."""
    root = ElementTree.fromstring(text)
    assert root.tag == f"{SVG}svg"
    allowed = {"svg", "title", "defs", "marker", "path", "rect", "text", "g", "circle"}
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= allowed
    for element in root.iter():
        for name, value in element.attrib.items():
            assert not name.startswith("on"), name
            assert "href" not in name
            assert "url(" not in value or value in ("url(#arrow)", "url(#red-arrow)")
    _, _, width, height = (float(number) for number in root.attrib["viewBox"].split())
    shapes = []
    for group in root.iter(f"{SVG}g"):
        rect = group.find(f"{SVG}rect")
        if rect is not None:
            x, y, wide, high = (float(rect.attrib[name]) for name in ("x", "y", "width", "height"))
            shapes.append(Shape(group.findtext(f"{SVG}title") or "", x, y, x + wide, y + high, tuple(_texts(group))))
            assert x >= 0
            assert y >= 0
            assert x + wide <= width
            assert y + high <= height
    return root, shapes


def _texts(group: ElementTree.Element) -> Iterator[tuple[str, float, float, float]]:
    for element in group.iter(f"{SVG}text"):
        words, size, left = element.text or "", float(element.attrib["font-size"]), float(element.attrib["x"])
        # The widest of the usual fonts of one width for all letters.
        yield words, left, left + len(words) * size * 0.605, float(element.attrib["y"])
