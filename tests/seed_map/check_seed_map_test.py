#!/usr/bin/env python3
"""The checker of the seed map against mistakes: check_seed_map_test.py

Builds a small checkout whose map is true, then plants one mistake at a time; the checker must name each, and --update must mend what
can be derived."""
import pathlib
import subprocess
import sys
import tempfile

CHECKER = pathlib.Path(__file__).resolve().parent / "check_seed_map.py"
SOURCES = {
    "src/plan/place.h": "int Place(int x);\nint Forgotten(int x);\n",
    "src/plan/place.cc": '#include "plan/place.h"\nint Place(int x) { return x + 1; }\nint Forgotten(int x) { return x; }\n',
    "src/plan/lonely.h": "int Lonely(int x);  // Lonely by name\n",
    "src/plan/lonely.cc": '#include "plan/lonely.h"\nint Lonely(int x) { return x; }\n',
    "src/plan/place_test.cc": "TEST(PlaceTest, R38_IsALibrarysAffair) { Forgotten(Lonely(1)); }\nTEST(PlaceTest, R84_Too) {}\n",
    "src/engine/session.h": "inline constexpr int kMost = 4;\nint Run(int x);\n",
    "src/engine/session.cc": '#include "engine/session.h"\n#include "plan/place.h"\nint Run(int x) { return Place(x); }\n',
    "src/engine/idle.cc": '#include "plan/lonely.h"\nint Idle(int x) { return Lonely(x); }\n',
    "src/engine/session_test.cc": '#include "engine/session.h"\nTEST(SessionTest, R42_R43_Runs) {}\n',
    "src/main.cc": '#include "engine/session.h"\nint main(int count, char**) { return Run(count) % kMost; }\n',
    "tests/check_cli.py": "def r44_answers():\n    pass\n\nr44_answers()\n",
}
ROWS = {
    38: "`Place` | `src/plan/place.cc` | library: it speaks of the planner | `PlaceTest.R38_IsALibrarysAffair`",
    42: "`Run`, `kMost` | `src/engine/session.cc`, `src/engine/session.h` | engine | `SessionTest.R42_R43_Runs`",
    43: "`Run` | `src/engine/session.cc` | engine | `SessionTest.R42_R43_Runs`",
    44: "`Run` | `src/engine/session.cc` | command line | `check_cli.r44_answers`",
    84: "`Place` | `src/plan/place.cc` | library | `PlaceTest.R84_Too`",
}
# What is wrong, how it is planted (file, old, new), and what the checker must say.
MISTAKES = (
    ("a symbol that is not in its file", ("docs/seed-map.md", "| R43 | what | `Run`", "| R43 | what | `Walk`"), "R43 names Walk: it is not in"),
    ("a symbol that no code but tests' calls", ("docs/seed-map.md", "| R84 | what | `Place`", "| R84 | what | `Forgotten`"),
     "R84 names Forgotten: only its own code and tests name it"),
    ("a symbol that the program does not contain",
     ("docs/seed-map.md", "| R84 | what | `Place` | `src/plan/place.cc`", "| R84 | what | `Lonely` | `src/plan/lonely.cc`"),
     "R84 names Lonely: plimsoll does not contain it"),
    ("a file without the symbol", ("docs/seed-map.md", "`src/plan/place.cc` | library |", "`src/plan/place.cc`, `src/main.cc` | library |"),
     "R84 names src/main.cc, where none of its symbols is"),
    ("a file that is a test", ("docs/seed-map.md", "`src/plan/place.cc` | library |", "`src/plan/place_test.cc` | library |"), "is not there or is a test"),
    ("a level that is too high", ("docs/seed-map.md", "| library | `PlaceTest.R84", "| engine | `PlaceTest.R84"), "R84 says 'engine'"),
    ("a level that is too low", ("docs/seed-map.md", "| command line |", "| engine |"), "R44 says 'engine'"),
    ("an engine's test without a session", ("src/engine/session_test.cc", '#include "engine/session.h"\n', ""), "R42 is shown in a library only"),
    ("a library's test without a reason", ("docs/seed-map.md", "library: it speaks of the planner", "library"), "R38 does not say why"),
    ("a test that is not there", ("docs/seed-map.md", "`PlaceTest.R84_Too`", "`PlaceTest.R84_Three`"), "R84 names ['PlaceTest.R84_Three'] beyond"),
    ("a test that the row lacks", ("src/plan/place_test.cc", "R84_Too", "R84_R85_Too"), "R85 names [] beyond, and lacks"),
    ("a check that nothing calls", ("tests/check_cli.py", "\nr44_answers()", ""), "R44 names ['check_cli.r44_answers'] beyond"),
    ("a row too few", ("docs/seed-map.md", "| R99 | what | – | – | – | not yet |\n", ""), "R99 has no row"),
    ("a name of the documents that is nowhere", ("docs/seed-map.md", "| Place | `src/plan/place.h` |", "| Palace | `src/plan/place.h` |"), "Palace is in none of"),
)
failures = []


def make(top):
    for path, text in SOURCES.items():
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text(text)
    (top / "docs").mkdir()
    lines = [f"| R{rule} | what | {ROWS.get(rule, '– | – | – | not yet')} |\n" for rule in range(1, 316)]
    (top / "docs/seed-map.md").write_text("".join(lines) + "\n| Place | `src/plan/place.h` |\n")


def build(top):
    """As CMake and Ninja lay it out: objects by library, libraries, the program."""
    release = top / "build/release"
    objects = {}
    for path in SOURCES:
        if path.endswith(".cc") and not path.endswith("_test.cc"):
            library = "plimsoll" if path == "src/main.cc" else "plimsoll_" + path.split("/")[1]
            target = release / "CMakeFiles" / f"{library}.dir" / f"{path}.o"
            target.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["c++", "-std=c++20", "-O1", "-fPIC", "-I", top / "src", "-c", top / path, "-o", target], check=True)
            objects.setdefault(library, []).append(target)
    for library in ("plimsoll_engine", "plimsoll_plan"):
        subprocess.run(["ar", "rcs", release / f"lib{library}.a", *objects[library]], check=True)
    subprocess.run(["c++", *objects["plimsoll"], "-L", release, "-lplimsoll_engine", "-lplimsoll_plan", "-o", release / "plimsoll"], check=True)


def ask(top, *arguments):
    done = subprocess.run([sys.executable, CHECKER, "--top", top, *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def expect(condition, what):
    if not condition:
        failures.append(what)


with tempfile.TemporaryDirectory() as folder:
    top = pathlib.Path(folder)
    make(top)
    code, text = ask(top)
    expect(code == 0 and "is not built" in text, f"a true map without a program: {text}")
    build(top)
    code, text = ask(top)
    expect(code == 0 and "is not built" not in text, f"a true map: {text}")
    for what, (path, old, new), says in MISTAKES:
        right = (top / path).read_text()
        expect(old in right, f"{what}: cannot be planted")
        (top / path).write_text(right.replace(old, new, 1))
        code, text = ask(top)
        expect(code == 1 and says in text, f"{what}: {text}")
        if "level" in what or "test that" in what:
            code, text = ask(top, "--update")
            expect("run --update" not in text, f"{what}, updated: {text}")
        (top / path).write_text(right)
        if path != "docs/seed-map.md":
            ask(top, "--update")
    code, text = ask(top)
    expect(code == 0, f"a true map again: {text}")
print("\n".join(failures))
print(f"{len(MISTAKES)} mistakes planted, {len(failures)} failures")
sys.exit(1 if failures else 0)
