"""Builds what plimsoll.torch loads: libplimsoll_torch.so by CMake, and the subclass for the installed torch by the C++ compiler.
usage: python -m plimsoll.torch.build [--library] [--folder FOLDER]
Needs a source tree of Plimsoll (PLIMSOLL_SOURCE, or the one that this file is in), CMake, a C++20 compiler and the headers of
CUDA; no GPU and no network. What is built is kept in FOLDER, PLIMSOLL_TORCH_FOLDER or ~/.cache/plimsoll, by torch version and
sources, and used again. PLIMSOLL_TORCH_LIBRARY names a library that is there already."""
import argparse
import contextlib
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

from plimsoll.torch.library import BuildError

LIBRARY = "libplimsoll_torch.so"
SUBCLASS = "libplimsoll_torch_subclass.so"
HERE = pathlib.Path(__file__).resolve().parent


def source():
    """The source tree, or None."""
    for root in (os.environ.get("PLIMSOLL_SOURCE"), HERE.parents[3]):
        if root and (pathlib.Path(root) / "bindings" / "torch" / "plugin.cc").is_file():
            return pathlib.Path(root).resolve()
    return None


def _source_or_fail():
    found = source()
    if found is None:
        raise BuildError("the sources of Plimsoll are not here: set PLIMSOLL_SOURCE to a checkout, "
                         "or PLIMSOLL_TORCH_LIBRARY to a library that was built")
    return found


def _stamp(root):
    """Changes with every source that the library is made of."""
    digest = hashlib.sha256()
    for folder in ("bindings/torch", "include/plimsoll/base", "include/plimsoll/device", "include/plimsoll/memory", "src/base",
                   "src/device", "src/memory", "src/profile"):
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and "_test." not in path.name:
                digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def folder(root):
    base = os.environ.get("PLIMSOLL_TORCH_FOLDER") or pathlib.Path.home() / ".cache" / "plimsoll"
    return pathlib.Path(base) / f"torch-{_stamp(root)}"


@contextlib.contextmanager
def _alone(place):
    """One process builds, others wait for it."""
    place.mkdir(parents=True, exist_ok=True)
    with open(place / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _run(command, what):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if done.returncode == 0:
        return
    complaints = [line for line in done.stdout.splitlines() if "error" in line.lower()] or done.stdout.splitlines()[-3:]
    raise BuildError(f"cannot build {what}: " + " | ".join(complaints[:3]))


def _need(program, why):
    found = shutil.which(program)
    if found is None:
        raise BuildError(f"{program} is missing: it is needed {why}")
    return found


def library():
    """The path of libplimsoll_torch.so, which is built first where that was not done."""
    given = os.environ.get("PLIMSOLL_TORCH_LIBRARY")
    if given:
        return pathlib.Path(given)
    beside = HERE / LIBRARY
    if beside.is_file() and source() is None:
        return beside
    root = _source_or_fail()
    place = folder(root)
    with _alone(place):
        built = place / LIBRARY
        if not built.is_file():
            cmake = _need("cmake", "to build libplimsoll_torch.so")
            work = place / "work"
            generator = ["-G", "Ninja"] if shutil.which("ninja") else []
            _run([cmake, "-S", str(root / "bindings" / "torch"), "-B", str(work), "-DCMAKE_BUILD_TYPE=Release", *generator], LIBRARY)
            _run([cmake, "--build", str(work), "--target", "plimsoll_torch", "-j", str(os.cpu_count() or 1)], LIBRARY)
            shutil.copy(next(work.rglob(LIBRARY)), str(built) + ".partial")
            os.replace(str(built) + ".partial", built)
            shutil.rmtree(work, ignore_errors=True)
    return built


def cuda_headers(torch):
    """The folder of cuda_runtime_api.h: the toolkit's, or that of NVIDIA's Python packages."""
    toolkit = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    nvcc = shutil.which("nvcc")
    packages = pathlib.Path(torch.__file__).resolve().parents[1] / "nvidia"
    places = [pathlib.Path(toolkit) / "include" if toolkit else None,
              pathlib.Path(nvcc).resolve().parents[1] / "include" if nvcc else None,
              pathlib.Path("/usr/local/cuda/include"), packages / f"cu{torch.version.cuda.split('.')[0]}" / "include",
              packages / "cuda_runtime" / "include"]
    for place in places:
        if place is not None and (place / "cuda_runtime_api.h").is_file():
            return place
    raise BuildError("CUDA's headers are missing (cuda_runtime_api.h): install the toolkit or set CUDA_HOME")


def subclass(torch):
    """The path of the subclass for this torch, which is built first where that was not done."""
    root = _source_or_fail()
    base = library()
    place = folder(root) / f"{torch.__version__}"
    with _alone(place):
        built = place / SUBCLASS
        if not built.is_file():
            compiler = os.environ.get("CXX") or _need("g++", f"to build the subclass for torch {torch.__version__}")
            of_torch = pathlib.Path(torch.__file__).resolve().parent
            includes = [root / "bindings" / "torch", root / "src", root / "include", of_torch / "include",
                        of_torch / "include" / "torch" / "csrc" / "api" / "include", cuda_headers(torch)]
            partial = place / (SUBCLASS + ".partial")
            _run([compiler, "-std=c++20", "-O2", "-fPIC", "-shared", "-DNDEBUG",
                  f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}", *(f"-I{path}" for path in includes[:3]),
                  *(f"-isystem{path}" for path in includes[3:]), str(root / "bindings" / "torch" / "allocator.cc"), "-o", str(partial),
                  f"-L{of_torch / 'lib'}", "-lc10", "-lc10_cuda", "-ltorch_cpu", str(base), f"-Wl,-rpath,{base.parent}",
                  f"-Wl,-rpath,{of_torch / 'lib'}"], f"the subclass for torch {torch.__version__}")
            os.replace(partial, built)
    return str(built)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", action="store_true", help="the library alone, without the subclass")
    parser.add_argument("--folder", help="where to keep it")
    options = parser.parse_args()
    if options.folder:
        os.environ["PLIMSOLL_TORCH_FOLDER"] = options.folder
    try:
        print(library())
        if not options.library:
            import torch  # type: ignore[import-not-found, unused-ignore]
            print(subclass(torch))
    except BuildError as problem:
        sys.exit(f"error: {problem}")


if __name__ == "__main__":
    main()
