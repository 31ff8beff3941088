"""Model-written programs: run where they can do no harm, judged where they cannot cheat.

This part stands alone: it needs Linux, the standard library and `groupwise.errors`.
"""

from groupwise.errors import SandboxError
from groupwise.sandbox.limits import Limits
from groupwise.sandbox.sandbox import Sandbox
from groupwise.sandbox.verdict import WORDS, Case, Verdict

__all__ = ["WORDS", "Case", "Limits", "Sandbox", "SandboxError", "Verdict"]
