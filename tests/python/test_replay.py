"""Memory snapshots of PyTorch: read as plain data, never executed, and replayed."""
import pickle

import plimsoll
import plimsoll.replay
import pytest
from plimsoll.plain_pickle import loads

PLAIN = [None, True, False, 0, 1, -1, 255, 256, 65536, -(2 ** 31), 2 ** 63, 2 ** 200, -(2 ** 70), 1.5, "", "text", "é" * 300, b"bytes", b"x" * 300,
         (), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), [], [1, [2, [3]]], {}, {"a": {"b": [1, 2]}, 3: None}, [{"k": "v"}] * 5]


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_plain_data_is_read_as_pickle_reads_it(protocol):
    # Before protocol 3 bytes are written as a call.
    for value in [item for item in PLAIN if protocol > 2 or not isinstance(item, bytes)]:
        assert loads(pickle.dumps(value, protocol)) == value


class Harmful:
    def __reduce__(self):
        return print, ("executed",)


@pytest.mark.parametrize("data", [
    pickle.dumps(Harmful()), pickle.dumps([Harmful()]), pickle.dumps(print), pickle.dumps({1, 2}), b"cos\nsystem\n(S'true'\ntR.",
    b"\x80\x04]\x94(K\x01", b"", b".", b"a.", b"u.", b"\x80\x04h\x07.", b"r\xff\xff\xff\xff.", b"\x8e\xff\xff\xff\xff\xff\xff\xff\x7f.",
    b"\x8b\xff\xff\xff\x7f.", b"(((((", b"}(K\x01u.", b"}(]K\x01u.", b"\x8c\x01\xff.", b"I12x\n.", b"I12"])
def test_everything_else_is_refused(data, capsys):
    with pytest.raises(plimsoll.BadFileError) as refused:
        loads(data)
    assert refused.value.code == "pickle.plain" and refused.value.place.startswith("byte")
    assert "executed" not in capsys.readouterr().out


def test_damaged_pickles_never_do_anything_but_fail():
    whole = pickle.dumps({"device_traces": [[{"action": "alloc", "addr": 5, "size": 6}]]})
    for place in range(len(whole)):
        for byte in (0, 0x28, 0x52, 0x63, 0x93, 0xFF):
            try:
                loads(whole[:place] + bytes([byte]) + whole[place + 1:])
            except plimsoll.BadFileError:
                pass
        with pytest.raises(plimsoll.BadFileError):
            loads(whole[:place])


def event(action, address, size=512, stream=0, time=0):
    return {"action": action, "addr": address, "size": size, "stream": stream, "time_us": time, "frames": []}


SNAPSHOT = {"segments": [], "device_traces": [[
    event("segment_alloc", 0, 1 << 20), event("free_requested", 9999), event("alloc", 1024, 512, 7, 100), event("alloc", 2048, 1024, 8, 101),
    event("free_requested", 1024, 512, 7, 102), event("free_completed", 1024, 512, 7, 103), event("alloc", 1024, 256, 7, 104),
    event("free_completed", 2048, 1024, 8, 105), event("snapshot", 0)]]}
ROWS = [("a", 0, 512, 0, 0), ("a", 1, 1024, 1, 1), ("f", 0, 512, 0, 2), ("c", 0, 512, 0, 3), ("a", 2, 256, 0, 4), ("f", 1, 1024, 1, 5),
        ("c", 1, 1024, 1, 5)]


def test_a_snapshot_becomes_a_trace(tmp_path):
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(pickle.dumps(SNAPSHOT))
    for trace in (plimsoll.replay.from_snapshot(SNAPSHOT), plimsoll.replay.read_snapshot(path)):
        assert trace.rows == ROWS and trace.dropped == 1 and trace.peak_bytes == 1536 and trace.streams == 2


def test_a_trace_is_replayed():
    trace = plimsoll.replay.from_snapshot(SNAPSHOT)
    report = trace.replay()
    assert report.allocator == "stream_ordered"
    assert report.peak_allocated_bytes == 1536 <= report.peak_reserved_bytes
    assert "stream_ordered" in report._repr_html_()
    assert {"scalable", "stream_ordered", "caching"} <= set(plimsoll.replay.allocators())
    with pytest.raises(plimsoll.UsageError, match="did you mean caching"):
        trace.replay("cachign")


def test_a_trace_goes_through_a_file(tmp_path):
    import lzma
    trace = plimsoll.replay.from_snapshot(SNAPSHOT)
    (tmp_path / "trace.csv").write_text(trace.to_csv())
    (tmp_path / "trace.csv.xz").write_bytes(lzma.compress(trace.to_csv().encode()))
    for name in ("trace.csv", "trace.csv.xz"):
        assert plimsoll.replay.read_trace(tmp_path / name).rows == ROWS


@pytest.mark.parametrize("snapshot", [{}, {"device_traces": 3}, {"device_traces": [[3]]}, {"device_traces": [[event("alloc", -1)]]},
                                      {"device_traces": [[event("alloc", "x")]]}, []])
def test_what_is_no_snapshot_is_refused(snapshot):
    with pytest.raises(plimsoll.BadFileError) as refused:
        plimsoll.replay.from_snapshot(snapshot)
    assert refused.value.code == "replay.snapshot"


def test_files(tmp_path):
    with pytest.raises(plimsoll.BadFileError):
        plimsoll.replay.read_snapshot(tmp_path / "none")
    with pytest.raises(plimsoll.UsageError):
        plimsoll.replay.from_snapshot(SNAPSHOT, device=1)
    (tmp_path / "bad.csv").write_text("event,id,bytes,stream,time_us\na,0,5\n")
    with pytest.raises(plimsoll.BadFileError, match="bad.csv:2"):
        plimsoll.replay.read_trace(tmp_path / "bad.csv")
