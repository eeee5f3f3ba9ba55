"""Profiling windows that a program opens and closes, and what their tables say."""
import csv
import pathlib

import models
import numpy
import plimsoll
import pytest


def cells(path):
    """The rows of a table; times are "t" where there is one."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    return [[("t" if cell else "") if place in (3, 4) else cell for place, cell in enumerate(row)] for row in rows]


def test_a_window_holds_the_runs_inside_it(tiny, image, tmp_path):
    session = plimsoll.InferenceSession(tiny, profiling=True)
    session.run(None, {"image": image})
    session.start_profiling()
    for _ in range(2):
        session.run(None, {"image": image})
    files = session.stop_profiling(tmp_path)
    session.run(None, {"image": image})
    rows = cells(files.operator_memory)
    assert rows and len(rows) % 2 == 0 and rows[: len(rows) // 2] == rows[len(rows) // 2:]
    assert all(row[1] and row[3] == row[4] == "t" and row[7] for row in rows)
    assert files.dropped_events == 0
    assert sorted(path.name.rsplit("_", 1)[0] for path in tmp_path.iterdir()) == [
        "memory_record", "operator_memory", "report", "snapshot", "static_op_mem", "trace"]
    assert pathlib.Path(files.report).read_text(encoding="utf-8").startswith("<!doctype html>")


def test_memory_from_before_and_beyond_the_window(tmp_path):
    """An output whose size only data tells is the session's memory for as long as its array lives."""
    session = plimsoll.InferenceSession(models.nonzero(), profiling=True)
    feed = {"x": numpy.ones((64,), "float32")}
    before = session.run(None, feed)
    session.start_profiling()
    del before
    held = session.run(None, feed)
    rows = cells(session.stop_profiling(tmp_path).operator_memory)
    assert rows[0] == ["0", "", "-0.500", "", "", "", "", "0.000", rows[0][8], "CPU:0"]
    (name, size, begin, duration, taken, _, *released, device) = rows[-1][1:]
    assert name and (size, begin, duration, taken, released, device) == ("0.500", "t", "", "0.500", ["", ""], "CPU:0")
    del held


def test_what_cannot_be_done_is_refused(tiny, tmp_path):
    plain = plimsoll.InferenceSession(tiny)
    with pytest.raises(plimsoll.UsageError) as refused:
        plain.start_profiling()
    assert refused.value.code == "profile.off"
    counting = plimsoll.InferenceSession(tiny, profiling=True)
    with pytest.raises(plimsoll.UsageError) as refused:
        counting.stop_profiling(tmp_path)
    assert refused.value.code == "profile.closed"
    assert not list(tmp_path.iterdir())
