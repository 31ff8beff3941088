"""Test code, compiled so that every assertion says how it came out, and a failed one does not hide those after it."""

import ast
import builtins
from types import CodeType
from typing import Any

WATCH = "__watched_assertion"  # the name by which compiled tests call `Tally.watch`

_BLOCKS = (ast.Try, ast.With, ast.AsyncWith, *((ast.TryStar,) if hasattr(ast, "TryStar") else ()))
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


class _Asserts(ast.NodeTransformer):
    """`assert x` becomes `with watch(line, going_on): assert x`.

    `going_on`, that is record a failure and run what follows, at the top of the file and in `check` only, and not
    where a `try` or `with` may wait for the exception. `assert True` and the like are not counted.
    """

    def __init__(self) -> None:
        self.found = 0
        self.going_on = True
        self.depth = 0

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        if isinstance(node.test, ast.Constant):
            return node
        self.found += 1
        watch = ast.Call(
            func=ast.Name(id=WATCH, ctx=ast.Load()),
            args=[ast.Constant(node.lineno), ast.Constant(self.going_on)],
            keywords=[],
        )
        block = ast.With(items=[ast.withitem(context_expr=watch)], body=[node])
        return ast.fix_missing_locations(ast.copy_location(block, node))

    def visit(self, node: ast.AST) -> Any:
        before = self.going_on, self.depth
        if isinstance(node, _BLOCKS):
            self.going_on = False
        elif isinstance(node, _SCOPES):
            self.depth += 1
            outermost_check = self.depth == 1 and isinstance(node, ast.FunctionDef) and node.name == "check"
            self.going_on = self.going_on and outermost_check
        try:
            return super().visit(node)
        finally:
            self.going_on, self.depth = before


def prepare(source: str) -> tuple[CodeType, ast.Module, int]:
    """The code, its tree before the change, and how many assertions it holds. Raises SyntaxError and the like."""
    tree = ast.parse(source, "<tests>")
    change = _Asserts()
    changed = change.visit(ast.parse(source, "<tests>"))
    return compile(changed, "<tests>", "exec", dont_inherit=True), tree, change.found


def calls_check(tree: ast.Module) -> bool:
    """Whether the file itself calls `check` at its end."""
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "check":
                return True
    return False


def free_names(tree: ast.Module) -> set[str]:
    """Names that the file uses but neither binds nor finds among the builtins."""
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
