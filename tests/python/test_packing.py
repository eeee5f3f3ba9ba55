"""The planner with NumPy arrays."""
import json

import numpy
import plimsoll
import pytest

ROWS = [[4, 0, 2], [2, 0, 4], [4, 2, 5], [2, 3, 5]]


def is_right(placed, rows):
    offsets = placed.offsets.tolist()
    for place, (size, begin, end) in enumerate(rows):
        assert 0 <= offsets[place] and offsets[place] + size <= placed.peak_bytes
        for other, (length, first, last) in enumerate(rows[:place]):
            assert end <= first or last <= begin or offsets[place] + size <= offsets[other] or offsets[other] + length <= offsets[place]


@pytest.mark.parametrize("buffers", [
    ROWS, numpy.array(ROWS), numpy.array(ROWS, "int32"),
    {"size": [4, 2, 4, 2], "begin": [0, 0, 2, 3], "end": [2, 4, 5, 5]},
    {"sizes": numpy.array([4, 2, 4, 2]), "lower": [0, 0, 2, 3], "upper": [2, 4, 5, 5]},
    numpy.array([tuple(row) for row in ROWS], [("size", "i8"), ("begin", "i8"), ("end", "i8")])],
    ids=["rows", "array", "int32", "dict", "other names", "structured"])
def test_every_form_of_buffers(buffers):
    placed = plimsoll.pack(buffers)
    assert placed.peak_bytes == placed.lower_bound_bytes == 8 and placed.optimal and placed.fits
    assert placed.offsets.dtype == "int64"
    is_right(placed, ROWS)


def test_a_capacity():
    assert plimsoll.pack(ROWS, capacity=8).fits
    assert plimsoll.pack(ROWS, capacity="1KiB").fits
    tight = plimsoll.pack(ROWS, capacity=7)
    assert not tight.fits and tight.infeasible and tight.infeasible_set


def test_alignment_and_fixed_offsets():
    placed = plimsoll.pack({"size": [3, 3], "begin": [0, 0], "end": [1, 1], "alignment": [1, 4], "fixed_offset": [0, -1]})
    assert placed.offsets.tolist() == [0, 4]


def test_random_problems_are_placed_rightly_and_alike():
    random = numpy.random.default_rng(3)
    for _ in range(20):
        begins = random.integers(0, 30, 40)
        rows = numpy.stack([random.integers(1, 100, 40), begins, begins + random.integers(1, 10, 40)], axis=1)
        placed = plimsoll.pack(rows)
        is_right(placed, rows.tolist())
        assert numpy.array_equal(placed.offsets, plimsoll.Planner(threads=2).pack(rows).offsets)


def test_no_buffers():
    assert plimsoll.pack([]).peak_bytes == 0


def test_assigners():
    assert "hybrid" in plimsoll.Planner.assigners()
    for name in plimsoll.Planner.assigners():
        is_right(plimsoll.Planner(name).pack(ROWS), ROWS)


@pytest.mark.parametrize("buffers, options, code", [
    ([[1, 2]], {}, "pack.columns"), ({"size": [1]}, {}, "pack.columns"),
    ({"size": [1, 2], "begin": [0], "end": [1, 2]}, {}, "pack.columns"),
    ([[-1, 0, 1]], {}, "pack.columns"), ([[1, 2, 1]], {}, "pack.columns"), ([[1, -1, 1]], {}, "pack.columns"),
    (ROWS, {"assigner": "hybird"}, "plan.unknown_assigner"), (ROWS, {"capacity": "much"}, "plan.size")])
def test_mistakes(buffers, options, code):
    with pytest.raises(plimsoll.UsageError) as refused:
        plimsoll.pack(buffers, **options)
    assert refused.value.code == code


def test_a_whole_problem():
    problem = {"regions": [{"name": "map", "alignment": 64}],
               "buffers": [{"name": "a", "size": 100, "life": {"begin": 0, "end": 2}},
                           {"name": "b", "size": 100, "life": {"begin": 1, "end": 3}},
                           {"name": "c", "size": 100, "life": {"begin": 2, "end": 4}}]}
    try:
        made = plimsoll.Planner().solve(problem)
    except plimsoll.Error as error:
        pytest.fail(str(error))
    assert "256" in json.dumps(made)
    with pytest.raises(plimsoll.Error):
        plimsoll.Planner().solve("{")


def test_a_packing_draws_itself():
    assert plimsoll.pack(ROWS)._repr_html_().count("<rect") == 4
