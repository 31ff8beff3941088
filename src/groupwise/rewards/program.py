"""The program in what a chat model wrote. Only text is looked at: it is parsed by the process that runs it.

The rule: of the fenced blocks, the last one that defines the function asked for; if none does, the last block;
without any fence the whole text. A fence that is not closed reaches to the end; one that is indented, as in a list, has
its indentation taken off its lines. A text that does not define the function continues a prompt that does, as code
models complete it: it ends where the next thing begins at the margin. One that does has before it what the prompt has
before its own definition: imports and helpers.
"""

import re

LONGEST = 200_000  # characters of a text that is looked at; a longer one is no program

_FENCE = re.compile(r"^([ \t]*)(```+|~~~+)[^\n]*$", re.MULTILINE)
_MARGIN = re.compile(r"\n(?=[^\s#)\]}])")  # a line that is no part of the function's body


def program(text: str, *, entry: str = "", prompt: str = "") -> str:
    """The program that `text` holds. `entry`: the function asked for; `prompt`: code that the text may continue."""
    if len(text) > LONGEST:
        return ""
    blocks = fenced(text)
    found = next((block for block in reversed(blocks) if entry and defines(block, entry)), None)
    code = found if found is not None else blocks[-1] if blocks else text
    if entry and prompt and defines(prompt, entry):
        if not defines(code, entry):
            return prompt + _continuation(code)
        code = code if blocks else _from_first_code(code)
        return code if "from __future__" in code else _before(prompt, entry) + code  # which must stand first
    if blocks or not entry or not defines(code, entry):
        return code
    return _from_first_code(code)


def fenced(text: str) -> list[str]:
    """What stands in fenced blocks, in order."""
    blocks, opened, indent, start = [], "", "", 0
    for fence in _FENCE.finditer(text):
        marks = fence.group(2)
        if not opened:
            indent, opened, start = fence.group(1), marks, fence.end() + 1
        elif marks[0] == opened[0] and len(marks) >= len(opened) and not fence.group().strip().strip(marks[0]):
            blocks.append(_dedented(text[start : fence.start()], indent))
            opened = ""
    return [*blocks, _dedented(text[start:], indent)] if opened else blocks


def defines(code: str, entry: str) -> bool:
    """Whether a line of the code begins the definition of this function or class."""
    return _definition(entry).search(code) is not None


def _definition(entry: str) -> re.Pattern[str]:
    name = re.escape(entry)
    return re.compile(rf"^[ \t]*(?:async[ \t]+def|def|class)[ \t]+{name}\b|^{name}[ \t]*=", re.MULTILINE)


def _dedented(block: str, indent: str) -> str:
    """Without the fence's own indentation, if all lines have it."""
    lines = block.splitlines(keepends=True)
    if not all(line.startswith(indent) or not line.strip() for line in lines):
        return block
    return "".join(line.removeprefix(indent) for line in lines)


def _before(prompt: str, entry: str) -> str:
    """What stands before the definition of `entry`, decorators aside."""
    found = _definition(entry).search(prompt)
    before = prompt[: found.start()] if found else ""
    lines = before.splitlines(keepends=True)
    while lines and lines[-1].lstrip().startswith("@"):
        lines.pop()
    return "".join(lines)


def _continuation(code: str) -> str:
    """The rest of a function's body: up to the first line at the margin."""
    if code and not code[0].isspace():
        code = "    " + code  # the prompt ended in the indentation, or the model left it out
    end = _MARGIN.search(code)
    return code[: end.start() + 1] if end else code


def _from_first_code(text: str) -> str:
    """A text without fences, less the sentences before the first line of code."""
    first = re.search(r"^(?:from\s+\S+\s+import|import\s|def\s|async\s+def\s|class\s|@)", text, re.MULTILINE)
    return text[first.start() :] if first else text
