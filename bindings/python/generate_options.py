#!/usr/bin/env python3
"""The Python side of the table of options: generate_options.py PROGRAM FOLDER

Asks `PROGRAM options --json` for the rows and writes FOLDER/_option_table.py, which plimsoll.config makes its classes of, and
FOLDER/config.pyi, the same for type checkers and editors."""
import json
import pathlib
import subprocess
import sys

CLASSES = ("NPURunConfig", "MemoryConfig", "DumpConfig", "ProfilingConfig")
OBJECTS = {"memory_config": "MemoryConfig", "dump_config": "DumpConfig", "profiling_config": "ProfilingConfig",
           "experimental_config": "ExperimentalConfig"}
PYTHON_TYPES = {"whole number": "int", "size": "int", "switch": "bool", "True or False": "bool"}


def type_of(row):
    if row["name"] in OBJECTS:
        return OBJECTS[row["name"]]
    return PYTHON_TYPES.get(row["type"], "str")


def default_of(row):
    """The default inside an explicit NPURunConfig, as a Python value."""
    text = row.get("seed_default") or row.get("npu_run_config_default")
    text = row["default"] if text is None else text
    kind = type_of(row)
    if text in (None, "", "None") or kind in OBJECTS.values():
        return None
    if kind == "bool":
        return {"True": True, "False": False}[text]
    return int(text) if kind == "int" and text.lstrip("-").isdigit() else text


def place_of(row):
    for key in ("index", "seed_index"):
        place = row.get(key)
        if place is not None and place >= 0:
            return place
    return 1 << 20


def classes(rows):
    """Rows by class, each in the order of the documents; those that the documents do not have come last."""
    found = {name: sorted((row for row in rows if row["group"] == name), key=place_of) for name in CLASSES}
    known = {row["name"] for row in found["NPURunConfig"]}
    for name, kind in OBJECTS.items():
        if name not in known:
            found["NPURunConfig"].append({"name": name, "type": kind, "default": None, "legal": f"a {kind}", "standing": "acts",
                                          "meaning": f"The options of {kind}."})
    return found


def table(found):
    lines = ['"""Made from the table of options by bindings/python/generate_options.py."""', "ROWS = {"]
    for name, rows in found.items():
        lines.append(f"    {name!r}: (")
        for row in rows:
            fields = (row["name"], type_of(row), default_of(row), row["legal"], row["standing"], row["meaning"])
            lines.append(f"        {fields!r},")
        lines.append("    ),")
    return "\n".join(lines + ["}", ""])


def stub(found):
    lines = ['"""Made from the table of options by bindings/python/generate_options.py."""', "from typing import Any", "",
             "class Config:",
             "    def settings(self) -> dict[str, str]: ...",
             "    def effective(self) -> dict[str, dict[str, Any]]: ...", "    def __eq__(self, other: object) -> bool: ...", ""]
    for name in reversed(CLASSES):
        lines += [f"class {name}(Config):", "    def __init__(", "        self,"]
        lines += [f"        {row['name']}: {type_of(row)} | str | None = {default_of(row)!r}," for row in found[name]]
        lines += ["    ) -> None: ..."]
        lines += [f"    {row['name']}: {type_of(row)} | str | None" for row in found[name]] + [""]
        if name == "DumpConfig":
            lines += ["class ExperimentalConfig(Config):", "    def __init__(self, **options: object) -> None: ...", ""]
    lines += ["def options() -> dict[str, tuple[tuple[Any, ...], ...]]: ...",
              "def check_settings(names: dict[str, str], files: list[str], explicit: bool, stacklevel: int = 2) -> str: ...",
              "def settings_of(config: object) -> tuple[dict[str, str], list[str], bool]: ...", ""]
    return "\n".join(lines)


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    answer = subprocess.run([program, "options", "--json"], capture_output=True, text=True, check=True, env={"PATH": "/usr/bin:/bin"})
    found = classes(json.loads(answer.stdout)["options"])
    (folder / "_option_table.py").write_text(table(found))
    (folder / "config.pyi").write_text(stub(found))


main()
