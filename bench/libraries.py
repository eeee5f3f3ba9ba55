"""Which library has the fastest kernel of each kind: oneDNN 2 and 3, XNNPACK, and what this engine runs.

    pip download --no-deps onednn-devel-cpu-gomp==2023.2.0 onednn-cpu-gomp==2023.2.0     (unpacked with unzip into one folder)
    apt-get download libxnnpack-dev libxnnpack0 libpthreadpool-dev libpthreadpool0 libcpuinfo0     (each unpacked with dpkg -x)
    bench/libraries.py build/release --onednn3 FOLDER --xnnpack FOLDER --threads 1,2

compiles bench/libraries/*.cc against each (or takes the programs of --programs), runs them by turns, and prints the fastest of all rounds
in microseconds: processor time for one thread, time by the clock for more. Every library has its tensors in the form it likes best; moves
into that form are not counted."""
import argparse
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent / "libraries"
NAMES = ("onednn2", "onednn3", "xnnpack", "ours")


def folder_with(root, name):
    return next(path.parent for path in sorted(root.rglob(name)))


def build(options, folder):
    root = pathlib.Path(__file__).resolve().parent.parent
    archives = [f"{options.build}/libplimsoll_{room}.a" for room in ("kernels", "graph", "base")]
    sides = {"onednn2": (["with_onednn.cc"], ["-ldnnl"], []),
             "ours": (["with_ours.cc"], [archives[0], "-ldnnl", "-lhwy", "-lre2", *archives[1:]], [f"-I{root}/include", f"-I{root}/src", f"-I{root}/bench"])}
    if options.onednn3:
        library = folder_with(options.onednn3, "libdnnl.so.3")
        sides["onednn3"] = (["with_onednn.cc"], [f"-L{library}", "-l:libdnnl.so.3", f"-Wl,-rpath,{library}"],
                            [f"-I{folder_with(options.onednn3, 'dnnl.hpp')}"])
    if options.xnnpack:
        library = folder_with(options.xnnpack, "libXNNPACK.so.0")
        sides["xnnpack"] = (["with_xnnpack.cc"], [f"-L{library}", "-lXNNPACK", "-lpthreadpool", f"-Wl,-rpath-link,{library}",
                                                  "-Wl,--disable-new-dtags", f"-Wl,-rpath,{library}"],
                            [f"-I{folder_with(options.xnnpack, 'xnnpack.h')}"])
    folder.mkdir(parents=True, exist_ok=True)
    for name, (sources, libraries, includes) in sides.items():
        subprocess.run(["c++", "-std=c++20", "-O2", *includes, *[str(HERE / source) for source in sources], "-o", str(folder / name),
                        *libraries], check=True)


def run(program, threads, rounds):
    done = subprocess.run([str(program), str(threads), str(rounds)], capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": str(threads)})
    if done.returncode != 0:
        sys.exit(f"{program}: {done.stderr}")
    rows = (line.split("\t") for line in done.stdout.splitlines())
    return {name: (float(time), implementation) for name, time, implementation in rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", nargs="?", default="build/release", help="where the engine was built")
    parser.add_argument("--onednn3", type=pathlib.Path)
    parser.add_argument("--xnnpack", type=pathlib.Path)
    parser.add_argument("--programs", type=pathlib.Path, help="a folder with the programs, already built")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    folder = options.programs or pathlib.Path(options.build) / "libraries"
    if not options.programs:
        build(options, folder)
    there = [name for name in NAMES if (folder / name).exists()]
    for threads in map(int, options.threads.split(",")):
        best = {}
        for _ in range(options.turns):
            for name in there:
                for shape, row in run(folder / name, threads, options.rounds).items():
                    best[shape, name] = min(best.get((shape, name), row), row)
        print(f"\n{threads} thread{'s' if threads > 1 else ''}, microseconds\n")
        print("| kernel | " + " | ".join(there) + " | fastest |")
        print("|---|" + "---|" * (len(there) + 1))
        for shape in dict.fromkeys(shape for shape, _ in best):
            rows = {name: best[shape, name] for name in there if (shape, name) in best}
            cells = [f"{rows[name][0]:.0f} {rows[name][1]}" if name in rows else "-" for name in there]
            print(f"| {shape} | " + " | ".join(cells) + f" | {min(rows, key=lambda name: rows[name])} |", flush=True)


if __name__ == "__main__":
    main()
