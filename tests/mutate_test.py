#!/usr/bin/env python3
"""scripts/mutate against mutants that are not as they should be: mutate_test.py

Writes a small tree and mutants for it, one mistake at a time; `--applies` must name each mistake and fail."""
import pathlib
import subprocess
import sys
import tempfile

MUTATE = pathlib.Path(__file__).resolve().parent.parent / "scripts" / "mutate"
SOURCE = "int Sum(int a, int b) {\n  const int sum = a + b;\n  return sum;\n}\nint Twice(int a) {\n  return a;\n  return a;\n}\n"
GOOD = "room: plan\nfile: src/plan/sum.cc\nsays: the second is left out\ntest: Sum.AddsBoth\n- const int sum = a + b;\n+ const int sum = a; (void)b;\n"
MISTAKES = {
    "a line that is not there": (GOOD.replace("a + b", "a + c"), "stand 0 times"),
    "a line that stands twice": (GOOD.replace("const int sum = a + b;", "return a;"), "stand 2 times"),
    "no such file": (GOOD.replace("sum.cc", "product.cc"), "there is no src/plan/product.cc"),
    "no room": (GOOD.replace("room: plan\n", ""), "no room"),
    "another room than its name says": (GOOD.replace("room: plan", "room: memory"), "does not begin with its room"),
    "nothing to find": (GOOD.replace("- const int sum = a + b;\n", ""), "no line to find"),
    "nothing changed": (GOOD.replace("a; (void)b;", "a + b;"), "it changes nothing"),
    "an unknown key": (GOOD + "tset: Sum.AddsBoth\n", "found 'tset: Sum.AddsBoth'"),
    "both caught and surviving": (GOOD + "survives: nobody looks\n", "either a test notices it or it survives"),
}


def applies(root, text):
    (root / "plan_sum.mutant").write_text(text)
    return subprocess.run([MUTATE, "--applies", "--mutants", root, "--root", root], capture_output=True, text=True)


def main():
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "src/plan").mkdir(parents=True)
        (root / "src/plan/sum.cc").write_text(SOURCE)
        good = applies(root, GOOD)
        if good.returncode or "1 mutants apply, 0 do not" not in good.stdout:
            wrong.append(f"a good mutant: {good.stdout}{good.stderr}")
        for name, (text, complaint) in MISTAKES.items():
            done = applies(root, text)
            if done.returncode != 1 or complaint not in done.stdout:
                wrong.append(f"{name}: exit {done.returncode}, expected {complaint!r} in {done.stdout}{done.stderr}")
    print("\n".join(wrong) if wrong else f"{len(MISTAKES)} mistakes found")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
