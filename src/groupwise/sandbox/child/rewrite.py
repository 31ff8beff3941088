"""Test code, compiled so that every assertion says how it came out, and a failed one does not hide those after it."""

import ast
import builtins
import marshal
from dataclasses import dataclass
from types import CodeType

WATCH = "__watched_assertion__"  # the name by which compiled tests call `Tally.watch`; not one that classes mangle


@dataclass(frozen=True, slots=True)
class Tests:
    """Test code, ready to run."""

    prelude: CodeType
    code: CodeType
    assertions: int  # in its text
    calls_check: bool  # whether the file itself calls `check`
    free: list[str]  # names that it uses and does not define

    def dump(self) -> bytes:
        """As `load` takes it, on the same Python."""
        return marshal.dumps((self.prelude, self.code, self.assertions, self.calls_check, self.free))


def load(dumped: bytes) -> Tests:
    """What `dump` gave. Only for what comes from a judge that had not yet heard from the program."""
    return Tests(*marshal.loads(dumped))


class _Change:
    """`assert x` becomes `with watch(line, going_on): assert x`.

    `going_on`, that is record a failure and run what follows, at the top of the file and in `check` only, and not
    where a `try` or `with` may wait for the exception. `assert True` and the like are not counted. Statements are
    walked and not expressions, of which there are ten times as many.
    """

    def __init__(self) -> None:
        self.found = 0

    def block(self, statements: list[ast.stmt], going_on: bool, depth: int) -> None:
        for place, one in enumerate(statements):
            if isinstance(one, ast.Assert):
                statements[place] = self._watched(one, going_on)
            elif isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                top = going_on and depth == 0 and isinstance(one, ast.FunctionDef) and one.name == "check"
                self.block(one.body, top, depth + 1)
            else:
                self._inside(one, going_on and not isinstance(one, _WAITING), depth)

    def _inside(self, one: ast.stmt, going_on: bool, depth: int) -> None:
        for name in ("body", "orelse", "finalbody"):
            self.block(getattr(one, name, []), going_on, depth)
        for branch in [*getattr(one, "handlers", []), *getattr(one, "cases", [])]:
            self.block(branch.body, going_on, depth)

    def _watched(self, one: ast.Assert, going_on: bool) -> ast.stmt:
        if isinstance(one.test, ast.Constant):
            return one
        self.found += 1
        watch = ast.Call(
            func=ast.Name(id=WATCH, ctx=ast.Load()),
            args=[ast.Constant(one.lineno), ast.Constant(going_on)],
            keywords=[],
        )
        block = ast.With(items=[ast.withitem(context_expr=watch)], body=[one])
        for node in (block, watch, watch.func, *watch.args):
            ast.copy_location(node, one)
        return block


_WAITING = (ast.Try, ast.TryStar, ast.With, ast.AsyncWith)


def prepare(source: str, prelude: str) -> Tests:
    """Compile test code. Raises SyntaxError and the like."""
    tree = ast.parse(source, "<tests>")
    change = _Change()
    calls_check = any(_calls_check(one) for one in tree.body)
    free = _free_names(tree)
    change.block(tree.body, True, 0)
    return Tests(
        prelude=compile(prelude, "<prelude>", "exec", dont_inherit=True),
        code=compile(tree, "<tests>", "exec", dont_inherit=True),
        assertions=change.found,
        calls_check=calls_check,
        free=sorted(free),
    )


def _calls_check(statement: ast.stmt) -> bool:
    """Whether a statement at the top of the file calls `check`."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom | ast.Assert):
        return False
    calls = (node for node in ast.walk(statement) if isinstance(node, ast.Call))
    return any(isinstance(node.func, ast.Name) and node.func.id == "check" for node in calls)


def _free_names(tree: ast.Module) -> set[str]:
    """Names that the code uses but neither binds nor finds among the builtins."""
    used: set[str] = set()
    bound = set(dir(builtins))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.alias):
            bound.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.ExceptHandler) and node.name:
            bound.add(node.name)
    return used - bound
