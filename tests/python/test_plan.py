"""Plans: the same figures as the command line's and as the run's."""
import json
import subprocess
import sys

import models
import plimsoll
import pytest


def command(*arguments):
    return subprocess.run([sys.executable, "-m", "plimsoll", *arguments], capture_output=True, text=True)


def test_the_plan_is_the_command_lines(tiny):
    shown = json.loads(command("plan", tiny, "--shape", "batch=4", "--json").stdout)
    made = plimsoll.plan(tiny, shapes={"batch": 4})
    text = json.dumps(shown)
    assert f": {made.peak_bytes}" in text and f": {made.total_bytes}" in text
    assert made.planned and made.peak_bytes >= made.lower_bound_bytes > 0
    assert made.total_bytes == made.device.total >= made.peak_bytes + made.device.weights


def test_the_run_keeps_to_the_plan(tiny, image):
    session = plimsoll.InferenceSession(tiny)
    assert session.plan.counted_as_one == ["batch"]
    session.run(None, {"image": image})
    made = session.plan
    assert made.counted_as_one == [] and made.inputs.to_dict() == {"image": [2, 3, 64, 64]}
    assert session.last_run.planned_peak_bytes == made.peak_bytes == plimsoll.plan(tiny, shapes={"image": image.shape}).peak_bytes
    assert session.plan_for({"batch": 8}).peak_bytes > made.peak_bytes


def test_buffers_lie_inside_the_peak_and_never_share_bytes(tiny):
    made = plimsoll.plan(tiny, shapes={"batch": 3})
    buffers = made.buffers
    assert buffers and max(offset + size for _, offset, size, _, _ in buffers) <= made.peak_bytes
    for place, (_, offset, size, begin, end) in enumerate(buffers):
        for _, other, length, first, last in buffers[:place]:
            assert end <= first or last <= begin or offset + size <= other or other + length <= offset
    live = [sum(size for _, _, size, begin, end in buffers if begin <= step < end) for step in range(max(b[4] for b in buffers))]
    assert max(live) <= made.peak_bytes


def test_a_limit(tiny):
    enough = plimsoll.plan(tiny, shapes={"batch": 4}, limit="1GiB")
    with pytest.raises(plimsoll.DoesNotFitError) as refused:
        plimsoll.plan(tiny, shapes={"batch": 4}, limit=enough.total_bytes - 1)
    error = refused.value
    assert error.code == "plan.limit" and error.plan.total_bytes == enough.total_bytes and "batch" in error.remedy
    assert command("plan", tiny, "--shape", "batch=4", "--limit", str(enough.total_bytes - 1)).returncode == 3
    assert plimsoll.plan(tiny, shapes={"batch": 4}, limit=enough.total_bytes).total_bytes == enough.total_bytes
    with pytest.raises(plimsoll.UsageError, match="512MiB"):
        plimsoll.plan(tiny, limit="much")


def test_what_only_the_run_tells_is_not_planned():
    made = plimsoll.plan(models.nonzero(), shapes={"n": 4})
    if not made.planned:
        assert made.reason and made.buffers == [] and "planned" in made._repr_html_()
        with pytest.raises(plimsoll.UnsupportedError, match="plan.limit_unknown"):
            plimsoll.plan(models.nonzero(), shapes={"n": 4}, limit="1GiB")


def test_options_change_the_plan(tiny):
    reused = plimsoll.plan(tiny, shapes={"batch": 4})
    apart = plimsoll.plan(tiny, shapes={"batch": 4}, config={"ge.exec.disableReuseMemory": 1})
    assert apart.peak_bytes > reused.peak_bytes


def test_plans_and_reports_draw_themselves(tiny, image):
    session = plimsoll.InferenceSession(tiny)
    session.run(None, {"image": image})
    page = session.plan._repr_html_()
    assert page.count("<rect") == len([buffer for buffer in session.plan.buffers if buffer[2]])
    assert "relu0" in page and "<table>" in page and "script" not in page
    assert "feature_maps" in session.memory._repr_html_() and "planned_peak" in session.last_run._repr_html_()


def test_names_of_a_model_are_escaped():
    from plimsoll.drawing import memory_map, table
    assert "<b>x" not in memory_map([("<b>x", 0, 8, 0, 1)], 8, ("8", "0"))
    assert "<i>" not in table("t", [("<i>", "<i>")])
