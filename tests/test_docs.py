"""The documentation says what is true: commands and options exist, pipelines are valid, links lead somewhere."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from airflow_trickle.cli import app
from airflow_trickle.definition.model import DefaultsModel, PipelineModel, SourceModel, TableModel
from airflow_trickle.definition.settings import Settings
from airflow_trickle.plan.build import plan_path
from airflow_trickle.plan.explain import explain_text

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
#: A command in running text, between backticks.
INLINE = re.compile(r"`(trickle(?: [^`\n]+)?)`")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
MARK = "yaml pipeline"


@dataclass(frozen=True)
class Block:
    page: Path
    info: str
    body: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}: {self.body.splitlines()[0] if self.body else ''}"


def blocks() -> list[Block]:
    return [Block(page, m["info"].strip(), m["body"]) for page in PAGES for m in FENCE.finditer(page.read_text())]


def commands() -> Iterator[tuple[Path, str]]:
    """Every use of the command: in running text, at a prompt, in a script."""
    for page in PAGES:
        text = page.read_text()
        for found in INLINE.finditer(FENCE.sub("", text)):
            yield page, found[1]
    for block in blocks():
        if block.info in ("console", "bash"):
            for line in block.body.splitlines():
                typed = line.removeprefix("$ ")
                if typed.startswith("trickle ") and (typed != line or block.info == "bash"):
                    yield block.page, typed


def resolved(words: list[str]) -> tuple[Any, list[str]]:
    """The command that some words name, and the words left over."""
    command: Any = get_command(app)
    while words and hasattr(command, "commands") and not words[0].startswith("-"):
        assert words[0] in command.commands, f"there is no command {words[0]!r}"
        command, words = command.commands[words[0]], words[1:]
    return command, words


@pytest.mark.parametrize(("page", "line"), sorted(set(commands())), ids=lambda value: str(value).rpartition("/")[2])
def test_commands_and_options_exist(page: Path, line: str) -> None:
    words = shlex.split(line, comments=True)[1:]
    command, rest = resolved(words)
    known = {option for parameter in command.params for option in parameter.opts} | {"-h", "--help"}
    for word in rest:
        if word.startswith("-"):
            assert word.partition("=")[0] in known, f"{page}: {line}: no option {word}"


def test_every_command_is_documented() -> None:
    told = " ".join(line for _, line in commands())
    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        assert re.search(rf"\btrickle {name}\b", told), name
        for inner in getattr(command, "commands", {}):
            assert f"trickle {name} {inner}" in told or inner == "start", inner


@pytest.mark.parametrize("block", [block for block in blocks() if block.info == MARK], ids=str)
def test_pipelines_are_valid(block: Block, tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(block.body)
    planned = plan_path(file, Settings())
    assert planned.problems == ()
    assert len(planned.plans) == 1


def test_every_whole_pipeline_is_marked() -> None:
    """A block that looks like a pipeline and is not marked would not be checked."""
    for block in blocks():
        if block.info.startswith("yaml") and "stream_tables:" in block.body:
            assert block.info == MARK, str(block)
    assert sum(block.info == MARK for block in blocks()) >= 2


def test_the_plan_in_the_readme_is_the_plan_of_its_pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = [block for block in blocks() if block.page.name == "README.md"]
    [pipeline] = [block.body for block in mine if block.info == MARK]
    [shown] = [block.body for block in mine if block.body.startswith("$ trickle plan\n")]
    monkeypatch.chdir(tmp_path)
    Path("dags").mkdir()
    Path("dags/example.yaml").write_text(pipeline)
    printed = "\n".join(explain_text(plan_path(Path("dags"), Settings())))
    assert shown == f"$ trickle plan\n{printed}\n"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(FENCE.sub("", page.read_text())):
        if target.startswith(("https://", "http://")):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.exists(), f"{page}: {target}"
        if anchor:
            assert anchor in anchors(file), f"{page}: {target}"


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub makes of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_page_can_be_reached() -> None:
    linked = {
        (page.parent / target.partition("#")[0]).resolve()
        for page in PAGES
        for target in LINK.findall(FENCE.sub("", page.read_text()))
        if not target.startswith("http")
    }
    assert [page.name for page in PAGES if page.resolve() not in linked and page.name != "README.md"] == []


def test_every_key_and_setting_is_documented() -> None:
    text = (ROOT / "docs" / "configuration.md").read_text()
    models = (PipelineModel, DefaultsModel, SourceModel, TableModel)
    keys = {field.alias or key for model in models for key, field in model.model_fields.items()}
    settings = {field.name for field in fields(Settings)}
    assert sorted(name for name in keys | settings if f"`{name}`" not in text) == []


def test_every_environment_variable_is_documented() -> None:
    code = "".join(path.read_text() for path in (ROOT / "airflow_trickle").rglob("*.py"))
    named = set(re.findall(r"\bTRICKLE_[A-Z_]+\b", code))
    text = (ROOT / "docs" / "configuration.md").read_text()
    assert named
    assert sorted(name for name in named if f"`{name}`" not in text) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_speak_of_no_particular_machine(page: Path) -> None:
    assert not re.search(r"(?<![\w.])/(tmp|root|work|home)/", page.read_text())
