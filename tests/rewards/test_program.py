"""What of a chat model's text is its program."""

import time

import pytest

from groupwise.rewards.program import LONGEST, defines, fenced, program

DEF = "def f(x):\n    return x\n"
FENCED = f"```python\n{DEF}```"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (FENCED, DEF),
        (f"Sure!\n{FENCED}\nIt returns x.", DEF),
        (f"```\n{DEF}```", DEF),
        (f"~~~py\n{DEF}~~~\n", DEF),
        (f"````python\n{DEF}````", DEF),
        (f"  ```python\n{DEF}  ```", DEF),
        (f"```python\n{DEF}", DEF),  # cut off before its end
        (f"{FENCED}\nTry it:\n```python\nprint(f(2))\n```", DEF),  # the block that defines the function
        (f"```python\ndef f(x):\n    return 1\n```\nBetter:\n{FENCED}", DEF),  # the last of two that do
        ("```sh\npip install x\n```\n```python\nx = 1\n```", "x = 1\n"),  # none does: the last block
        (DEF, DEF),
        (f"Here is the function:\n{DEF}", DEF),
        (f"I use math.\nimport math\n{DEF}", f"import math\n{DEF}"),
        (f"@cache\n{DEF}", f"@cache\n{DEF}"),
        ("f = lambda x: x", "f = lambda x: x"),
        ("I cannot do that.", "I cannot do that."),
        ("", ""),
    ],
)
def test_the_rule(text, found):
    assert program(text, entry="f") == found


PROMPT = 'def f(x):\n    """Return x."""\n'


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("    return x\n", "    return x\n"),
        ("    return x\n\nprint(f(1))\n", "    return x\n\n"),  # up to what stands at the margin
        (
            "    if x:\n        return x\n    return 0\n\n\ndef g():\n",
            "    if x:\n        return x\n    return 0\n\n\n",
        ),
        ("return x", "    return x"),
        ("```python\n    return x\n```", "    return x\n"),
        ("    return [\n        x\n    ]\n)\n", "    return [\n        x\n    ]\n)\n"),  # a bracket is no new beginning
    ],
)
def test_a_text_that_continues_its_prompt(text, body):
    assert program(text, entry="f", prompt=PROMPT) == PROMPT + body


def test_a_whole_function_does_not_continue_its_prompt():
    assert program(FENCED, entry="f", prompt=PROMPT) == DEF


def test_a_whole_function_has_the_prompts_imports_and_helpers_before_it():
    helpers = "from typing import List\n\n\ndef g(x):\n    return x\n\n\n"
    prompt = f'{helpers}@cache\ndef f(x: List):\n    """Return x."""\n'
    assert program(FENCED, entry="f", prompt=prompt) == helpers + DEF
    assert program(DEF, entry="f", prompt=prompt) == helpers + DEF
    first = "from __future__ import annotations\n" + DEF
    assert program(first, entry="f", prompt=prompt) == first


def test_a_fence_in_a_list_is_taken_back_to_the_margin():
    text = "1. So:\n\n    ```python\n    def f(x):\n        return x\n\n    ```\n2. Done."
    assert program(text, entry="f") == "def f(x):\n    return x\n\n"
    assert fenced("\t~~~\n\ta\n b\n\t~~~") == ["\ta\n b\n"]  # not all lines have it


def test_fences():
    assert fenced("a\n```x\nb\n~~~\n```\nc\n```\nd") == ["b\n~~~\n", "d"]
    assert fenced("no ``` fence ``` here") == []


@pytest.mark.parametrize(
    ("code", "yes"),
    [
        ("def f(x): pass", True),
        ("async def f(x): pass", True),
        ("class f: pass", True),
        ("f = 3", True),
        ("  def f(x): pass", True),
        ("def ff(x): pass", False),
        ("# def f", False),
        ("print(f(3))", False),
        ("f == 3", True),  # the sandbox says so soon enough
    ],
)
def test_defines(code, yes):
    assert defines(code, "f") == yes


@pytest.mark.parametrize(
    "text",
    ["`" * 190_000, "```\n" * 45_000, "\n" * 190_000, " " * 190_000, "def " * 45_000, "\x00" * 9, "\ud800def f"],
    ids=["backticks", "fences", "newlines", "blanks", "defs", "nul", "surrogate"],
)
def test_odd_texts_are_cheap(text):
    began = time.perf_counter()
    program(text, entry="f", prompt=PROMPT)
    assert time.perf_counter() - began < 5  # what grows with the square takes minutes


def test_a_text_beyond_measure_is_no_program():
    assert program("x" * (LONGEST + 1), entry="f") == ""
