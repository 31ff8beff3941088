import os
import shutil
import stat
import subprocess

import pytest
import torch
from safetensors.torch import save_file

from groupwise.errors import ConfigError
from groupwise.runs.atomic import checkpoints, clean, prune, recover, step_of, write_atomically


def fill(text):
    return lambda directory: (directory / "x").write_text(text)


def test_replace_a_directory(tmp_path):
    target = tmp_path / "deep" / "model"
    for text in ("old", "new"):
        write_atomically(target, fill(text))
        assert (target / "x").read_text() == text
    assert [path.name for path in target.parent.iterdir()] == ["model"]
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(target.stat().st_mode) == 0o777 & ~mask


def test_a_stop_between_the_two_renames_of_a_replacement(tmp_path):
    target = tmp_path / "model"
    write_atomically(target, fill("old"))
    target.rename(tmp_path / ".model.replaced")
    recover(target)
    assert (target / "x").read_text() == "old"
    target.rename(tmp_path / ".model.replaced")
    clean(tmp_path)
    assert (target / "x").read_text() == "old"
    target.rename(tmp_path / ".model.replaced")
    write_atomically(target, fill("new"))
    assert (target / "x").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_stop_after_the_replacement(tmp_path):
    target = tmp_path / "model"
    write_atomically(tmp_path / ".model.replaced", fill("old"))
    write_atomically(target, fill("new"))
    assert (target / "x").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_leftovers_go_at_the_next_save_and_those_of_siblings_stay(tmp_path):
    (tmp_path / ".model.01234567.partial").mkdir()
    (tmp_path / ".model.v2.01234567.partial").mkdir()
    write_atomically(tmp_path / "model", fill("x"))
    assert sorted(path.name for path in tmp_path.iterdir()) == [".model.v2.01234567.partial", "model"]
    clean(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_writer_that_raises_leaves_nothing(tmp_path):
    write_atomically(tmp_path / "model", fill("old"))

    def fail(directory):
        fill("new")(directory)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "model", fail)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert (tmp_path / "model" / "x").read_text() == "old"


def test_checkpoints_are_in_order_of_their_step(tmp_path):
    for name in (
        "step_100000000",
        "step_00000020",
        "step_00000003",
        ".step_00000004.01234567.partial",
        "step_x",
        "other",
    ):
        (tmp_path / name).mkdir()
    (tmp_path / "step_00000007").write_text("a file")
    assert [step_of(path) for path in checkpoints(tmp_path)] == [3, 20, 100_000_000]
    prune(tmp_path, 2)
    assert [step_of(path) for path in checkpoints(tmp_path)] == [20, 100_000_000]
    assert checkpoints(tmp_path / "missing") == []
    with pytest.raises(ConfigError, match="step_00000100"):
        step_of(tmp_path / "other")


@pytest.fixture
def full(tmp_path):
    (tmp_path / "full").mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(tmp_path / "full")]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a small file system")
    yield tmp_path / "full"
    subprocess.run(["umount", "-l", str(tmp_path / "full")], check=True)


@pytest.mark.parametrize(
    "write",
    [
        lambda directory: torch.save(torch.zeros(1 << 20), directory / "x.pt"),
        lambda directory: save_file({"x": torch.zeros(1 << 20)}, directory / "x.safetensors"),
    ],
    ids=["torch", "safetensors"],
)
def test_a_full_disk_is_an_error_of_the_operating_system_whatever_the_library_says(write, full):
    (full / "earlier").mkdir()
    with pytest.raises(OSError, match="No space left on device") as caught:
        write_atomically(full / "x", write)
    assert caught.value.filename == str(full / "x")
    assert [path.name for path in full.iterdir()] == ["earlier"]
