"""All ways to go on, with their weights."""
from . import control_flow, elementwise, fusions, layout, networks

STRAIGHT = {**elementwise.WAYS, **layout.WAYS, **networks.WAYS, **fusions.WAYS}
EVERY = {**STRAIGHT, **control_flow.WAYS}
BRANCHES = {**{way: weight for way, weight in STRAIGHT.items() if way is not layout.size_that_data_tells}, control_flow.branch: 1}
LOOPS = {**STRAIGHT, **{way: 6 * weight for way, weight in control_flow.WAYS.items()}}

control_flow.WAYS_INSIDE.update({way: weight for way, weight in EVERY.items() if way is not layout.size_that_data_tells})
