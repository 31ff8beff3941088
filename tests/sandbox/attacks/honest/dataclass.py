# expect: pass
import copy
import pickle
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from typing import Generic, NamedTuple, Protocol, TypeVar

T = TypeVar("T")


class Kind(Enum):
    SUM = "sum"


class Point(NamedTuple):
    x: int
    y: int


class HasParts(Protocol):
    parts: list


@dataclass(order=True, frozen=True)
class Box(Generic[T]):
    parts: list = field(default_factory=list)
    kind: Kind = Kind.SUM


def add(a, b):
    box = pickle.loads(pickle.dumps(copy.deepcopy(replace(Box(), parts=[a, b]))))
    match Point(*asdict(box)["parts"]):
        case Point(x=x, y=y):
            return x + y
