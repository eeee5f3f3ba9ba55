#!/usr/bin/env python3
"""Plans networks drawn from families whose layers join many tensors, and compares the compiled peak with plain lives in the file's order:
network_families.py PROGRAM [--count N] [--seed S] [--keep FOLDER] [--policy NAME]

Families: DenseNet (every layer reads all earlier ones, as one long Concat or as a chain of them), U-Net (skips joined at the end),
NASNet (cells of random branches that are added and joined), Inception (parallel branches joined), ShuffleNet (split, one half goes on,
shuffle) and CSP (split, one half through layers, all of their outputs joined). Widths, depths, sizes and operators are drawn from the seed.
Needs numpy and onnx; exits with 1 where a peak is above plain lives."""
import argparse
import collections
import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Net:
    """A graph under construction. A tensor is (name, channels, height)."""

    def __init__(self, random_numbers):
        self.random = random_numbers
        self.nodes, self.weights = [], []

    def name(self):
        return f"t{len(self.nodes)}"

    def weight(self, *dims):
        name = f"w{len(self.weights)}"
        fan = max(1, int(np.prod(dims[1:])))
        data = np.random.default_rng(len(self.weights)).standard_normal(dims) / np.sqrt(fan)
        self.weights.append(numpy_helper.from_array(data.astype(np.float32), name))
        return name

    def node(self, op, inputs, channels, height, **attributes):
        out = self.name()
        self.nodes.append(helper.make_node(op, inputs, [out], name=f"n{len(self.nodes)}", **attributes))
        return out, channels, height

    def conv(self, x, channels, kernel=1, stride=1, groups=1):
        pad = kernel // 2
        height = (x[2] + 2 * pad - kernel) // stride + 1
        return self.node("Conv", [x[0], self.weight(channels, x[1] // groups, kernel, kernel), self.weight(channels)], channels, height,
                         kernel_shape=[kernel] * 2, pads=[pad] * 4, strides=[stride] * 2, group=groups)

    def activation(self, x):
        return self.node(self.random.choice(["Relu", "Relu", "Sigmoid", "LeakyRelu", "HardSwish"]), [x[0]], x[1], x[2])

    def norm(self, x):
        return self.node("BatchNormalization", [x[0]] + [self.weight(x[1]) for _ in range(3)] + [self.variance(x[1])], x[1], x[2])

    def variance(self, channels):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.ones(channels, np.float32), name))
        return name

    def concat(self, tensors):
        return self.node("Concat", [t[0] for t in tensors], sum(t[1] for t in tensors), tensors[0][2], axis=1)

    def add(self, a, b):
        return self.node("Add", [a[0], b[0]], a[1], a[2])

    def pool(self, x, kernel=3, stride=1, op=None):
        pad = kernel // 2 if kernel % 2 else 0
        height = (x[2] + 2 * pad - kernel) // stride + 1
        return self.node(op or self.random.choice(["MaxPool", "AveragePool"]), [x[0]], x[1], height, kernel_shape=[kernel] * 2,
                         pads=[pad] * 4, strides=[stride] * 2)

    def split(self, x, parts):
        outs = [f"{self.name()}_{i}" for i in range(len(parts))]
        sizes = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.array(parts, np.int64), sizes))
        self.nodes.append(helper.make_node("Split", [x[0], sizes], outs, name=f"n{len(self.nodes)}", axis=1))
        return [(out, part, x[2]) for out, part in zip(outs, parts)]

    def shuffle(self, x, groups):
        def reshape(source, dims):
            shape = f"w{len(self.weights)}"
            self.weights.append(numpy_helper.from_array(np.array(dims, np.int64), shape))
            return self.node("Reshape", [source, shape], x[1], x[2])[0]
        wide = reshape(x[0], [-1, groups, x[1] // groups, x[2], x[2]])
        turned = self.node("Transpose", [wide], x[1], x[2], perm=[0, 2, 1, 3, 4])[0]
        return reshape(turned, [-1, x[1], x[2], x[2]]), x[1], x[2]

    def save(self, x, last, path, batch):
        graph = helper.make_graph(self.nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, x[1], x[2], x[2]])],
                                  [helper.make_tensor_value_info(last[0], TensorProto.FLOAT, [batch, last[1], last[2], last[2]])], self.weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


def stem(net, r):
    x = ("x", r.choice([1, 3, 4]), r.choice([16, 24, 32, 48, 64]))
    return x, net.activation(net.conv(x, r.choice([8, 12, 16, 24, 32]), r.choice([1, 3, 5]), r.choice([1, 1, 2])))


def dense(net, r):
    x, t = stem(net, r)
    growth, chain = r.choice([4, 8, 12, 16, 24]), r.random() < 0.4
    for block in range(r.randint(1, 4)):
        features = [t]
        for _ in range(r.randint(2, 14)):
            t = features[0] if len(features) == 1 else net.concat(features)
            if chain:
                features = [t]
            if r.random() < 0.7:
                t = net.activation(net.norm(t))
            if r.random() < 0.6:
                t = net.activation(net.conv(t, growth * r.choice([2, 4])))
            features.append(net.activation(net.conv(t, growth, 3)))
            if r.random() < 0.15:
                features.reverse()
        t = net.activation(net.norm(net.concat(features)))
        t = net.conv(t, max(4, t[1] // 2))
        if t[2] >= 8:
            t = net.pool(t, 2, 2)
    return x, t


def unet(net, r):
    x, t = stem(net, r)
    skips = []
    for _ in range(r.randint(1, 4)):
        for _ in range(r.randint(1, 3)):
            t = net.activation(net.conv(t, t[1], 3))
        if t[2] % 2 or t[2] < 4:
            break
        skips.append(t)
        t = net.pool(t, 2, 2, "MaxPool")
        t = net.activation(net.conv(t, t[1] * r.choice([1, 2]), 3))
    for skip in reversed(skips):
        if r.random() < 0.5:
            up = net.node("ConvTranspose", [t[0], net.weight(t[1], skip[1], 2, 2), net.weight(skip[1])], skip[1], t[2] * 2,
                          kernel_shape=[2, 2], strides=[2, 2])
        else:
            scales = f"w{len(net.weights)}"
            net.weights.append(numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), scales))
            up = net.node("Resize", [t[0], "", scales], t[1], t[2] * 2, mode=r.choice(["nearest", "linear"]))
        t = net.concat([up, skip] if r.random() < 0.5 else [skip, up])
        for _ in range(r.randint(1, 3)):
            t = net.activation(net.conv(t, max(4, skip[1]), 3))
    return x, net.conv(t, r.choice([1, 2, 21]))


def nasnet(net, r):
    x, t = stem(net, r)
    before = t
    for cell in range(r.randint(2, 8)):
        width = r.choice([8, 12, 16, 24])
        states = [net.conv(net.activation(s), width) for s in (before, t)]
        for _ in range(r.randint(2, 6)):
            sides = []
            for state in (r.choice(states), r.choice(states)):
                pick = r.randrange(5)
                if pick == 0:
                    sides.append(net.pool(state))
                elif pick < 3:
                    s = net.activation(state)
                    sides.append(net.conv(net.conv(s, width, r.choice([3, 5]), groups=width), width))
                elif pick == 3:
                    sides.append(net.activation(net.conv(state, width, 3)))
                else:
                    sides.append(state)
            states.append(net.add(*sides))
        before, t = t, net.concat(states[2:] if r.random() < 0.7 else states)
    return x, t


def inception(net, r):
    x, t = stem(net, r)
    for block in range(r.randint(1, 8)):
        branches = [net.activation(net.conv(t, r.choice([8, 16, 24])))]
        for _ in range(r.randint(1, 4)):
            b = t if r.random() < 0.2 else net.activation(net.conv(t, r.choice([4, 8, 16, 24])))
            for _ in range(r.randint(1, 3)):
                b = net.activation(net.conv(b, r.choice([8, 16, 32]), r.choice([1, 3, 5])))
            branches.append(b)
        if r.random() < 0.6:
            branches.append(net.activation(net.conv(net.pool(t), r.choice([4, 8, 16]))))
        if r.random() < 0.3:
            branches.append(t)
        t = net.concat(branches)
        if r.random() < 0.3 and t[2] >= 8:
            t = net.pool(t, 3, 2, "MaxPool")
    return x, t


def shufflenet(net, r):
    x, t = stem(net, r)
    t = net.conv(t, 2 * r.choice([8, 16, 24, 29]))
    for block in range(r.randint(1, 8)):
        left, right = net.split(t, [t[1] // 2, t[1] - t[1] // 2])
        for _ in range(r.randint(1, 3)):
            right = net.activation(net.conv(right, right[1]))
            right = net.conv(right, right[1], 3, groups=right[1])
        t = net.concat([left, right])
        if t[1] % 2 == 0:
            t = net.shuffle(t, 2)
    return x, t


def csp(net, r):
    x, t = stem(net, r)
    for block in range(r.randint(1, 4)):
        width = r.choice([4, 8, 16])
        t = net.activation(net.conv(t, width * 2))
        parts = net.split(t, [width, width])
        kept = list(parts)
        for _ in range(r.randint(1, 5)):
            side = net.activation(net.conv(kept[-1], width, 3))
            kept.append(net.add(side, kept[-1]) if r.random() < 0.5 else side)
        t = net.activation(net.conv(net.concat(kept), r.choice([16, 24, 32])))
    return x, t


FAMILIES = {"dense": dense, "unet": unet, "nasnet": nasnet, "inception": inception, "shufflenet": shufflenet, "csp": csp}


def make(family, seed, path):
    r = random.Random(f"{family} {seed}")
    net = Net(r)
    net.save(*FAMILIES[family](net, r), path, r.choice([1, 1, 1, 2, 4]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=pathlib.Path, help="write the models here and leave them")
    parser.add_argument("--policy", default="None", help="memory_optimization_policy")
    arguments = parser.parse_args()
    ratios, above = collections.defaultdict(list), []
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for i in range(arguments.count):
            family, seed = list(FAMILIES)[i % len(FAMILIES)], arguments.seed + i
            path = folder / f"{family}_{seed}.onnx"
            make(family, seed, path)
            done = subprocess.run([arguments.program, "plan", path, "--json", "--threads", "1", "--memory-optimization-policy",
                                   arguments.policy], capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"{path.name}: {done.stderr}")
            plan = json.loads(done.stdout)["models"][0]
            ratio = plan["planned_peak_bytes"] / plan["plain_peak_bytes"]
            ratios[family].append(ratio)
            if ratio > 1:
                above.append((ratio, path.name))
    print(f"{'family':12} {'graphs':>6} {'mean':>7} {'largest':>8}")
    for family, found in ratios.items():
        print(f"{family:12} {len(found):6} {statistics.geometric_mean(found):7.3f} {max(found):8.3f}")
    for ratio, name in sorted(above, reverse=True):
        print(f"above plain lives: {name} {ratio:.3f}")
    print(f"{sum(map(len, ratios.values()))} graphs, {len(above)} above plain lives in the file's order")
    sys.exit(1 if above else 0)


if __name__ == "__main__":
    main()
