"""The families of drawn_networks.py that classical learning makes: ensembles of trees and support vectors, as converters write them."""
from onnx import TensorProto, helper

DOMAIN = "ai.onnx.ml"


def grown(r, leaves, depth, ragged):
    """Pairs of children by node, None for a leaf: the next to be split is the highest one, or any, now and then the deepest."""
    nodes, depths, leaf_nodes = [None], [0], [0]
    while len(leaf_nodes) < leaves:
        free = [node for node in leaf_nodes if depths[node] < depth]
        if not free:
            break
        deepest = max(free, key=lambda node: (depths[node], node))
        split = min(free, key=lambda node: depths[node]) if not ragged else deepest if r.random() < 0.5 else r.choice(free)
        leaf_nodes.remove(split)
        nodes[split] = (len(nodes), len(nodes) + 1)
        leaf_nodes += nodes[split]
        nodes += [None, None]
        depths += [depths[split] + 1] * 2
    return nodes


def small_trees(g):
    r, n = g.r, g.numbers
    trees, depth, leaves, ragged = r.choice([1, 5, 20, 60, 100, 300]), r.choice([3, 4, 6, 6, 8, 12, 20]), r.choice([8, 16, 31, 31, 64, 200]), r.random() < 0.6
    features, rows, targets, double = r.choice([4, 8, 14, 25, 60]), r.choice([1, 1, 1, 4, 16, 64, 300]), r.choice([1, 1, 1, 3, 7]), r.random() < 0.25
    mode, tracks, classifies = r.choice(["BRANCH_LEQ", "BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE"]), int(r.random() < 0.3), r.random() < 0.3
    nodes, votes = {key: [] for key in ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids")}, []
    for tree in range(trees):
        for node, children in enumerate(grown(r, leaves, depth, ragged)):
            below = children or (0, 0)
            row = (tree, node, r.randrange(features) if children else 0, mode if children else "LEAF", float(n.standard_normal() * 0.7) if children else 0.0, *below)
            for values, value in zip(nodes.values(), row):
                values.append(value)
            if children is None:
                votes += [(tree, node, target) for target in (range(targets) if classifies else [tree % targets])]
    weights = n.standard_normal(len(votes)).tolist()
    splits = nodes.pop("values")
    part = "class" if classifies else "target"
    if double:
        numbers = {"nodes_values_as_tensor": helper.make_tensor("splits", TensorProto.DOUBLE, [len(splits)], splits),
                   f"{part}_weights_as_tensor": helper.make_tensor("weights", TensorProto.DOUBLE, [len(weights)], weights)}
    else:
        numbers = {"nodes_values": splits, f"{part}_weights": weights}
    ids = dict(zip((f"{part}_treeids", f"{part}_nodeids", f"{part}_ids"), map(list, zip(*votes))))
    more = {"classlabels_int64s": list(range(max(targets, 2))), "post_transform": r.choice(["NONE", "SOFTMAX"])} if classifies else {"n_targets": targets}
    x = g.input([rows, features], TensorProto.DOUBLE if double else TensorProto.FLOAT)
    made = g.made("TreeEnsembleClassifier" if classifies else "TreeEnsembleRegressor", [x], 2 if classifies else 1, DOMAIN,
                  nodes_missing_value_tracks_true=[tracks] * len(splits), **{f"nodes_{key}": values for key, values in nodes.items()}, **numbers, **ids, **more)
    if classifies:
        g.known(made[0], TensorProto.INT64, [rows])
        g.output(made[0])
    return g.known(made[-1], TensorProto.FLOAT, [rows, max(targets, 2) if classifies else targets])


def small_support_vectors(g):
    r, n = g.r, g.numbers
    count, features, rows, one = r.choice([3, 20, 100, 333, 900]), r.choice([2, 4, 10, 30, 100]), r.choice([1, 1, 4, 30, 200]), r.random() < 0.2
    x = g.input([rows, features])
    y = g.made("SVMRegressor", [x], 1, DOMAIN, kernel_type=r.choice(["RBF", "RBF", "LINEAR", "POLY", "SIGMOID"]), kernel_params=[1 / features, 0.5, float(r.choice([2, 3, 5]))],
               n_supports=count, support_vectors=n.standard_normal(count * features).tolist(), coefficients=(n.standard_normal(count) / count).tolist(), rho=[0.1], one_class=int(one))
    return g.known(y[0], TensorProto.FLOAT, [rows, 1])


SMALL = (small_trees, small_support_vectors)
