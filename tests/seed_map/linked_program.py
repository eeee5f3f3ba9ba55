"""What a built program is made of: which sources are linked into it, and who refers to a symbol.

The linker takes an object out of a library only when something linked refers to it, and objects name what their code refers to: so
a symbol that only tests use is defined by no linked object, or no linked object refers to it."""
import collections
import pathlib
import re
import subprocess

STRONG = set("TDRBGS")  # nm: defined here for everybody, and no copy of an inline


def entity(mangled):
    """The parts of a mangled C++ name: _ZN8plimsoll4plan10MakeBlocksERK... gives ["plimsoll", "plan", "MakeBlocks"]."""
    match = re.match(r"_Z(?:T[VISC]|GV)?N?[rVKRO]*(?:S[a-z])?", mangled)
    parts, at = [], match.end() if match else len(mangled)
    while number := re.compile(r"\d+").match(mangled, at):
        end = number.end() + int(number[0])
        parts.append(mangled[number.end():end])
        at = end
        while mangled[at:at + 1] == "B":  # [abi:cxx11]
            tag = re.compile(r"B(\d+)").match(mangled, at)
            at = tag.end() + int(tag[1])
    return parts


def has(parts, symbol):
    """Whether "MakeBlocks" or "Session::Run" stands in the parts of a name."""
    wanted = symbol.split("::")
    return any(parts[i:i + len(wanted)] == wanted for i in range(len(parts)))


class LinkedProgram:
    """The program NAME of a build folder, made of objects CMakeFiles/<library>.dir/<source>.o, where a source may stand for several of its folder
    that are compiled as one."""

    def __init__(self, build, name="plimsoll"):
        build = pathlib.Path(build)
        self.program = build / name
        self.built = self.program.exists()
        self.linked = set()  # sources, as "src/plan/assign/blocks.cc"
        self.defines = collections.defaultdict(set)  # source: mangled names
        self.refers = collections.defaultdict(set)
        self.objects, self.calls = {}, {}  # by source
        if not self.built:
            return
        objects = [path for path in build.glob("CMakeFiles/plimsoll*.dir/**/*.o")]
        for path, name, kind in self._symbols(objects):
            source = re.sub(r"^.*?\.dir/", "", path.removesuffix(".o"))
            self.objects[source] = path
            if kind in STRONG:
                self.defines[source].add(name)
            elif kind == "U":
                self.refers[source].add(name)
        inside = {name for _, name, kind in self._symbols([self.program]) if kind != "U"}
        self.linked = {source for source, names in self.defines.items() if names & inside}
        for source in sorted(self.linked):
            unit = pathlib.Path(self.objects[source].removesuffix(".o"))
            if unit.parent.name == "Unity":
                self.linked |= set(re.findall(r'#include "[^"]*?/(src/[^"]+)"', unit.read_text()))
        self.parts = {name: entity(name) for names in self.defines.values() for name in names}

    @staticmethod
    def _symbols(paths):
        text = subprocess.run(["nm", "-A", "-P", *map(str, paths)], capture_output=True, text=True, check=True).stdout
        for line in text.splitlines():
            path, _, rest = line.partition(": ")
            name, kind = rest.split()[:2]
            yield path, name, kind

    def definers(self, symbol):
        """The sources that define the symbol, linked or not; none for constants, types and inline functions."""
        return {source for source, names in self.defines.items() if any(has(self.parts[name], symbol) for name in names)}

    def referrers(self, symbol):
        """The linked sources whose code refers to the symbol: others than its own, or its own outside of itself."""
        names = {name for source in self.linked for name in self.defines[source] if has(self.parts[name], symbol)}
        found = {source for source in self.linked if self.refers[source] & names}
        return found or {source for source in self.definers(symbol) & self.linked if self._calls(source) & names}

    def _calls(self, source):
        """What the code of an object refers to, its own functions included, which the linker may replace in shared libraries."""
        if source not in self.calls:
            text = subprocess.run(["objdump", "-r", self.objects[source]], capture_output=True, text=True, check=True).stdout
            self.calls[source] = set()
            section = ""
            for line in text.splitlines():
                if line.startswith("RELOCATION RECORDS FOR"):
                    section = line
                elif "[.text" in section and (match := re.match(r"\w+ +R_\w+ +([^+\s-]+)", line)):
                    self.calls[source].add(match[1])
        return self.calls[source]
