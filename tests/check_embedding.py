#!/usr/bin/env python3
"""docs/embedding.md shows examples/cpp as it is, line by line: check_embedding.py"""
import pathlib
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
page = (TOP / "docs" / "embedding.md").read_text()
wrong = []
for name in ("main.cc", "CMakeLists.txt"):
    text = (TOP / "examples" / "cpp" / name).read_text()
    shown = "\n".join(line for line in text.splitlines() if not (name == "CMakeLists.txt" and line.startswith("#")))
    if shown.strip() not in page:
        wrong.append(f"docs/embedding.md does not show examples/cpp/{name} as it is")
if len((TOP / "examples" / "cpp" / "main.cc").read_text().splitlines()) >= 40:
    wrong.append("examples/cpp/main.cc is not under 40 lines")
print("\n".join(wrong) or "docs/embedding.md shows examples/cpp")
sys.exit(bool(wrong))
