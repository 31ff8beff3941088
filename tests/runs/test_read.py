import json
import subprocess
import sys

import pytest

from groupwise.errors import DataError
from groupwise.runs.read import read_lines, read_run
from groupwise.runs.write import Run


def test_a_half_written_line_is_no_record_yet(tmp_path):
    file = tmp_path / "metrics.jsonl"
    file.write_bytes(b'{"step": 0, "x/y": 1}\n{"step": 1, "x')
    records, end = read_lines(file)
    assert (records, end) == ([{"step": 0, "x/y": 1}], 22)
    with file.open("ab") as more:
        more.write(b'/y": 2}\n')
    assert read_lines(file, end)[0] == [{"step": 1, "x/y": 2}]
    assert read_lines(tmp_path / "missing.jsonl") == ([], 0)


def test_a_growing_run_is_read_piece_by_piece(tmp_path):
    run, seen, end = Run.create(tmp_path, config={}), [], 0
    for step in range(4):
        run.log(step, {"loss/total": float(step)})
        records, end = read_lines(tmp_path / "metrics.jsonl", end)
        seen += records
    assert [record["step"] for record in seen] == [0, 1, 2, 3]
    run.finish()


@pytest.mark.parametrize("line", [b"\x00\x00", b"[1]", b'{"step": "x"}', b"{}"])
def test_a_damaged_line_is_an_error(tmp_path, line):
    file = tmp_path / "metrics.jsonl"
    file.write_bytes(line + b'\n{"step": 1}\n')
    with pytest.raises(DataError, match=rf"metrics\.jsonl: the line before byte {len(line) + 1} is damaged"):
        read_lines(file)


def test_measurements_of_a_step_add_up(tmp_path):
    with Run.create(tmp_path, config={}) as run:
        run.log(0, {"loss/total": 1.0, "loss/kl": 0.0})
        run.log(0, {"held_out/accuracy": 0.5, "loss/kl": 2.0})
    (row,) = read_run(tmp_path).metrics()
    assert {name: row[name] for name in row if name != "time"} == {
        "step": 0, "loss/total": 1.0, "held_out/accuracy": 0.5, "loss/kl": 2.0,
    }  # fmt: skip


def test_groups_of_a_step_are_found_by_number_not_by_digits(tmp_path, group):
    with Run.create(tmp_path, config={}) as run:
        for step in (1, 2, 12, 121):
            run.log_groups(step, [group(step)])
    assert [[g.step for g in read_run(tmp_path).groups(step)] for step in (1, 2, 12)] == [[1], [2], [12]]


def test_what_is_no_run_is_named(tmp_path):
    with pytest.raises(DataError, match=r"not a run directory: it has no config\.yaml"):
        read_run(tmp_path)
    Run.create(tmp_path, config={}).finish()
    (tmp_path / "status.json").write_text("{")
    with pytest.raises(DataError, match=r"status\.json is not JSON"):
        read_run(tmp_path)


def test_versions(tmp_path):
    Run.create(tmp_path, config={}).finish()
    env = json.loads((tmp_path / "env.json").read_text())
    (tmp_path / "env.json").write_text(json.dumps(env | {"a_later_field": 1}))
    assert read_run(tmp_path).env.format == env["format"]
    (tmp_path / "env.json").write_text(json.dumps(env | {"format": env["format"] + 1}))
    with pytest.raises(DataError, match="update groupwise"):
        read_run(tmp_path)


def test_a_run_on_another_machine_is_taken_at_its_word(tmp_path):
    Run.create(tmp_path, config={}).finish()
    status = json.loads((tmp_path / "status.json").read_text())
    for host, state in ((status["host"], "killed"), ("elsewhere", "running")):
        (tmp_path / "status.json").write_text(json.dumps(status | {"state": "running", "host": host}))
        assert read_run(tmp_path).state == state


def test_reading_in_the_writing_process_leaves_its_lock(tmp_path):
    run = Run.create(tmp_path, config={})
    assert read_run(tmp_path).state == "running"
    code = f"from groupwise.runs.read import read_run; print(read_run({str(tmp_path)!r}).state)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "running\n"
    run.finish()


@pytest.mark.parametrize("name", ["config.yaml", "env.json"])
@pytest.mark.parametrize("content", [b"\xff\xfe{", b"[1]", b"", b"{}"])
def test_damaged_files_are_named(name, content, tmp_path):
    Run.create(tmp_path, config={"a": 1}).finish()
    (tmp_path / name).write_bytes(content)
    if (name, content) == ("config.yaml", b"{}"):
        assert read_run(tmp_path).config == {}
        return
    with pytest.raises(DataError, match=name):
        read_run(tmp_path)
