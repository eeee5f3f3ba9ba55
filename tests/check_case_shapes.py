#!/usr/bin/env python3
"""Compares our output shapes with the standard's stored outputs: check_case_shapes.py PROGRAM CASES_FOLDER

Each case is inspected twice: from the model alone (declared types compared) and with its stored inputs (stored outputs compared).
A dimension that only data can tell is counted separately; the cases that have one are counted and must stay few."""
import pathlib
import sys

from inspecting import in_parallel, inspect

NOT_COVERED = "image_decoder"  # decoding images is no tensor arithmetic; issue 2 leaves it out
MOST_UNDETERMINED = 60


def main(program, folder):
    cases = sorted(path.parent for path in pathlib.Path(folder).rglob("model.onnx") if NOT_COVERED not in path.parent.name)
    if not cases:
        sys.exit(f"no cases in {folder}")

    def one(case):
        alone, error = inspect(program, case / "model.onnx")
        if error:
            return f"{case.name}: {error}", 0, 0
        report, error = inspect(program, case / "model.onnx", "--test-data", case / "test_data_set_0")
        if error:
            return f"{case.name} with data: {error}", 0, 0
        wrong = alone["mismatches"] + report["mismatches"] + report["output_mismatches"] + report["unsupported_operators"]
        return (f"{case.name}: {wrong}" if wrong else None), report["outputs_checked"], report["outputs_undetermined"]

    results = in_parallel(one, cases)
    wrong = [text for text, _, _ in results if text]
    checked = sum(row[1] for row in results)
    undetermined = [case.name for case, row in zip(cases, results) if row[2]]
    print("\n".join(wrong))
    print("depend on data:", " ".join(undetermined))
    if len(undetermined) > MOST_UNDETERMINED:
        wrong.append(f"{len(undetermined)} cases are undetermined, more than {MOST_UNDETERMINED}")
    print(f"{checked} stored outputs compared over {len(cases)} cases, {len(wrong)} cases wrong, {len(undetermined)} depend on data")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
