"""Pages with data of our own making, put into a page that the program wrote."""
import json
import random

BEGIN = '<script type="application/json" id="plimsoll-data">'


def data_of(page):
    return json.loads(page.split(BEGIN, 1)[1].split("</script>", 1)[0])


def with_data(page, data):
    before, rest = page.split(BEGIN, 1)
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return before + BEGIN + text + "</script>" + rest.split("</script>", 1)[1]


def large_report(tensors, steps, lanes=256):
    """A plan of so many tensors, side by side in lanes of addresses, one after the other."""
    draw = random.Random(1)
    strings = ["", "float32"] + [f"step_{i}" for i in range(steps)] + [f"block.{i % 24}.tensor_{i}" for i in range(tensors)]
    largest = 512 * 2048
    begin = [min(steps - 1, i // lanes * steps // (tensors // lanes)) for i in range(tensors)]
    life = [max(1, min(steps - b, steps * lanes // tensors - draw.randrange(2))) for b in begin]
    size = [512 * draw.randrange(1, 2049) for _ in range(tensors)]
    change = [0] * (steps + 1)
    for b, l, s in zip(begin, life, size):
        change[b] += s
        change[b + l] -= s
    live = [sum_ for sum_ in running(change[:-1])]
    zeros = [0] * tensors
    plan = {
        "name": "large", "source": "plan", "subject": "synthetic", "strings": strings, "main_region": 0,
        "facts": {"peak": lanes * largest, "lower_bound": max(live), "order_lower_bound": None, "plain_peak": None, "limit": None,
                  "device": None, "optimal_for_order": False},
        "regions": [["feature map", "feature_map", lanes * largest, max(live), True]],
        "steps": {"name": list(range(2, steps + 2)), "type": [0] * steps, "module": [0] * steps,
                  "time": [3.5 * i for i in range(steps + 1)]},
        "live": live, "reserved": [],
        "tensors": {"name": list(range(steps + 2, steps + 2 + tensors)), "kind": [i % 9 for i in range(tensors)], "type": [1] * tensors,
                    "shape": zeros, "rule": zeros, "bytes": size, "offset": [i % lanes * largest for i in range(tensors)],
                    "region": zeros, "begin": begin, "life": life, "producer": begin, "readers": zeros, "reader": []},
        "members": {key: [] for key in ("tensor", "name", "type", "shape", "offset", "begin", "life")},
        "techniques": [], "ports": [], "notes": [],
    }
    return {"format": "plimsoll-report", "version": 1, "title": "large", "made_by": "a test", "plans": [plan]}


def running(changes):
    total = 0
    for change in changes:
        total += change
        yield total
