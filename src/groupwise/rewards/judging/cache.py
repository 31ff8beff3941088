"""Replies that were paid for once: in memory, and in a folder that outlives the run and may be shared by several."""

import json
import os
import tempfile
import threading
from collections import OrderedDict
from dataclasses import asdict, dataclass
from pathlib import Path

from groupwise.errors import RewardError

IN_MEMORY = 10_000  # replies


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """What the judge wrote, and what it took."""

    content: str
    finish_reason: str
    tokens_in: int
    tokens_out: int


class Cache:
    """Replies by the digest of their request. In `folder` each is a file, written whole or not at all."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._known: OrderedDict[str, Reply] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> Reply | None:
        """The reply to this request, if there was one. A file that is damaged counts as none."""
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        if self.folder is None:
            return None
        try:
            found = Reply(**json.loads(self._file(key).read_text("utf-8")))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError):
            return None  # will be asked for and written anew
        except OSError as error:
            raise RewardError(f"cannot read its cache: {error}; set judge.cache to a folder that can be") from error
        self._remember(key, found)
        return found

    def put(self, key: str, reply: Reply) -> None:
        """Keep a reply. The last one written wins; readers see the old or the new one, never a part."""
        self._remember(key, reply)
        if self.folder is None:
            return
        file = self._file(key)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(prefix=f".{key[:8]}-", dir=file.parent)
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as stream:
                    json.dump(asdict(reply), stream)
                os.replace(name, file)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
        except OSError as error:
            raise RewardError(
                f"cannot write to its cache: {error}; set judge.cache to a folder that can be, or to null"
            ) from error

    def _remember(self, key: str, reply: Reply) -> None:
        with self._lock:
            self._known[key] = reply
            if len(self._known) > IN_MEMORY:
                self._known.popitem(last=False)

    def _file(self, key: str) -> Path:
        assert self.folder is not None
        return self.folder / key[:2] / f"{key}.json"
