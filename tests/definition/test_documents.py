"""YAML to data with places."""

from __future__ import annotations

import pytest

from airflow_trickle.definition.document import Document, NotYaml


def refusals(text):
    return [str(problem) for problem in Document(text, "f.yaml").problems]


def not_yaml(text):
    with pytest.raises(NotYaml) as caught:
        Document(text, "f.yaml")
    return str(caught.value.problem)


def test_keys_and_values_know_their_places():
    document = Document("# é😀\na:\n  bé: [x, 'y']\n", "f.yaml")
    assert document.data == {"a": {"bé": ["x", "y"]}}
    assert str(document.key_position(("a", "bé"))) == "f.yaml:3:3"
    assert str(document.position(("a", "bé"))) == "f.yaml:3:7"
    assert str(document.position(("a", "bé", 1))) == "f.yaml:3:11"


def test_the_place_of_something_absent_is_the_place_of_what_should_hold_it():
    document = Document("a:\n  b: 1\n", "f.yaml")
    assert str(document.position(("a", "c", "d"))) == "f.yaml:2:3"
    assert str(Document("", "f.yaml").position(("a",))) == "f.yaml:1:1"


def test_an_alias_stands_for_its_anchor_and_is_placed_there():
    document = Document("a: &x {k: v}\nb: *x\n", "f.yaml")
    assert document.data["b"] == {"k": "v"}
    assert str(document.position(("b", "k"))) == "f.yaml:1:11"


def test_merge_keys_never_replace_keys_of_their_own_mapping():
    text = "one: &one {k: 1, l: 1}\ntwo: &two {l: 2, m: 2}\nthree:\n  m: 3\n  <<: [*one, *two]\n"
    document = Document(text, "f.yaml")
    assert document.data["three"] == {"m": 3, "k": 1, "l": 1}
    assert str(document.key_position(("three", "l"))) == "f.yaml:1:18"


def test_a_merge_of_something_else_is_refused():
    assert refusals("a: 1\n<<: [x]\n") == [
        "f.yaml:2:5: '<<' brings in something that is not a mapping. Give it an alias of a mapping: <<: *name."
    ]


def test_dates_stay_text_and_numbers_and_truth_values_do_not():
    document = Document("a: 2026-01-01\nb: 3\nc: yes\nd: ~\ne: '3'\nf: 1.5\n", "f.yaml")
    assert document.data == {"a": "2026-01-01", "b": 3, "c": True, "d": None, "e": "3", "f": 1.5}


def test_a_key_given_twice_is_refused_and_the_first_kept():
    document = Document("a: 1\nb: 2\na: 3\n", "f.yaml")
    assert document.data == {"a": 1, "b": 2}
    assert [str(problem) for problem in document.problems] == [
        "f.yaml:3:1: the key 'a' is given twice; the first is in line 1. Keep one of them."
    ]


def test_a_key_that_yaml_does_not_take_for_a_text_is_refused():
    assert refusals("on: 1\n2: x\n[a]: y\n") == [
        "f.yaml:1:1: the key 'on' is the truth value true to YAML, not a text. Put it in quotes.",
        "f.yaml:2:1: the key '2' is the number 2 to YAML, not a text. Put it in quotes.",
        "f.yaml:3:1: a key must be a text, not a list. Write `name: value`.",
    ]


def test_an_alias_into_itself_is_refused():
    assert refusals("a: &a [1, *a]\n") == [
        "f.yaml:1:4: an alias leads back into the value that holds it. Take the alias out."
    ]
    assert refusals("a: &a\n  <<: *a\n")


def test_tags_are_refused_and_never_run():
    assert refusals("a: !!python/name:os.system x\nb: !!int x\n") == [
        "f.yaml:1:4: the tag 'tag:yaml.org,2002:python/name:os.system' is not known here. Leave it out.",
        "f.yaml:2:4: 'x' is not int, although its tag says so. Leave the tag out.",
    ]


def test_an_exponential_document_is_refused():
    lines = ["a0: &a0 [x]"] + [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 60)]
    with pytest.raises(NotYaml) as caught:
        Document("\n".join(lines), "f.yaml")
    assert str(caught.value).startswith("f.yaml:7:")
    assert "more than 200,000 values" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a: b: c",
            "f.yaml:1:5: the file is not valid YAML: a ':' is not allowed here. Put the value in quotes, "
            "or correct the indentation of this line or the one before.",
        ),
        (
            "a: [1, 2\nb: 3\n",
            "f.yaml:2:2: the file is not valid YAML: ',' or ']' is expected here: the list that opens in "
            "line 1, column 4 is not closed. Close it with ']'.",
        ),
        (
            "a: {b: 1",
            "f.yaml:1:9: the file is not valid YAML: ',' or '}' is expected here: the mapping that opens in "
            "line 1, column 4 is not closed. Close it with '}'.",
        ),
        (
            "a:\n\t- b\n",
            "f.yaml:2:1: the file is not valid YAML: a tab is used for indentation, but YAML wants spaces. "
            "Replace the tab by spaces.",
        ),
        (
            "a: 'x\nb: 1\n",
            "f.yaml:1:4: the file is not valid YAML: the quote that opens here is never closed. Close it.",
        ),
        (
            "a: `x`",
            "f.yaml:1:4: the file is not valid YAML: a value may not begin with '`'. Put the value in quotes.",
        ),
        (
            "a: *x",
            "f.yaml:1:4: the file is not valid YAML: the alias '*x' has no anchor before it. "
            "Define it above with '&x'.",
        ),
        (
            "a: 1\n---\nb: 2\n",
            "f.yaml:2:1: the file is not valid YAML: a second document begins here, but a file holds one "
            "pipeline. Move it to a file of its own.",
        ),
        (
            "a: |\n  x\n y\nb: 1\n",
            "f.yaml:3:2: the file is not valid YAML: a key (`name: value`) of the mapping above (line 1) is "
            "expected here. Correct the indentation of this line.",
        ),
        (
            "a: - b",
            "f.yaml:1:4: the file is not valid YAML: a list item ('- …') may not begin here. "
            "Start the list on a line of its own.",
        ),
        (
            'a: "\\q"',
            "f.yaml:1:5: the file is not valid YAML: this is not an escape that YAML knows between double "
            "quotes. Use single quotes, or a block that begins with '|'.",
        ),
        (
            "a: 1\nb: x\x00y\n",
            "f.yaml:2:5: the file is not valid YAML: it has the control character '\\x00'. Take it out.",
        ),
        (
            "x: [\n",
            "f.yaml:1:5: the file is not valid YAML: a value is expected here. "
            "Give the value, or close the list or mapping that was opened.",
        ),
    ],
)
def test_text_that_is_not_yaml_is_explained(text, message):
    assert not_yaml(text) == message
