#!/usr/bin/env python3
"""Runs the standard's cases and holds docs/conformance.md to the answer: check_conformance.py PROGRAM CASES_FOLDER [WORD...]

At least LEAST_PASSED cases pass. Each case that does not pass stands in the document with its reason, and each whose outputs are
drawn at random stands there by name; the document names no other and its counts are those of the run. Further words go to
`plimsoll conformance`: --plain, --policy 4."""
import json
import pathlib
import re
import subprocess
import sys

LEAST_PASSED = 1850
DOCUMENT = pathlib.Path(__file__).resolve().parent.parent / "docs" / "conformance.md"
GONE_WRONG = ("failed", "unsupported")
FINISHED = (0, 4, 5)  # exit codes of a run that came to its end


def sections(text):
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def named(section):
    """The cases of a section, with what is said of them: lines "- `case`, `case`: reason"."""
    cases = {}
    for line in re.findall(r"^- (.+(?:\n  .+)*)", section, flags=re.MULTILINE):
        names, _, reason = line.partition(": ")
        cases.update(dict.fromkeys(re.findall(r"`(test_\w+)`", names), reason.strip()))
    return cases


def differences(title, documented, found):
    missing = sorted(found - documented.keys())
    stale = sorted(documented.keys() - found)
    return [f"'{title}' does not name {name}" for name in missing] + [f"'{title}' names {name}, which is no such case" for name in stale]


def main(program, folder, *words):
    run = subprocess.run([program, "conformance", folder, "--json", *words], capture_output=True, text=True)
    if run.returncode not in FINISHED:
        sys.exit(f"the run ended with {run.returncode}: {run.stderr[-2000:]}")
    report = json.loads(run.stdout)
    by_outcome = {outcome: {case["name"] for case in report["cases"] if case["outcome"] == outcome} for outcome in ("passed", "random", *GONE_WRONG)}

    text = DOCUMENT.read_text()
    parts = sections(text)
    not_passing = named(parts["Cases that do not pass"])
    wrong = differences("Cases that do not pass", not_passing, set().union(*(by_outcome[outcome] for outcome in GONE_WRONG)))
    wrong += differences("Random outputs", named(parts["Random outputs"]), by_outcome["random"])
    wrong += [f"{name} has no reason in the document" for name, reason in not_passing.items() if not reason]
    for outcome, cases in by_outcome.items():
        if f"| {outcome} | {len(cases)} |" not in text:
            wrong.append(f"the document does not say '| {outcome} | {len(cases)} |'")
    if len(by_outcome["passed"]) < LEAST_PASSED:
        wrong.append(f"{len(by_outcome['passed'])} cases pass, fewer than {LEAST_PASSED}")
    wrong += [f"{case['name']}: {case.get('reason', '')}" for case in report["cases"] if case["outcome"] in GONE_WRONG and case["name"] not in not_passing]
    print("\n".join(wrong))
    print(", ".join(f"{len(cases)} {outcome}" for outcome, cases in by_outcome.items()), f"of {len(report['cases'])} cases")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
