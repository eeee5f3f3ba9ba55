"""What the wheel is: imported without NumPy, typed, alone with its symbols, and executed in a notebook."""
import os
import pathlib
import subprocess
import sys

import plimsoll
import pytest


def python(program, **options):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_numpy_is_imported_when_it_is_needed():
    assert python("import sys, plimsoll; print('numpy' in sys.modules, 'typing' in sys.modules)") == "False False"


def test_the_environment_is_left_alone():
    assert python("import os; before = dict(os.environ); import plimsoll; print(dict(os.environ) == before)") == "True"


def test_the_package_comes_from_the_wheel(top):
    folder = pathlib.Path(plimsoll.__file__).parent
    assert top / "bindings" not in folder.parents and (folder / "py.typed").exists() and (folder / "config.pyi").exists()


def test_the_module_shows_nothing_but_its_entry():
    from plimsoll import _native
    names = subprocess.run(["nm", "-D", "--defined-only", _native.__file__], capture_output=True, text=True, check=True).stdout
    shown = {line.split()[-1].split("@")[0] for line in names.splitlines()}
    assert "PyInit__native" in shown
    assert [name for name in shown if "plimsoll" in name.lower() or "dnnl" in name] == []


@pytest.mark.parametrize("order", ["onnxruntime, plimsoll", "plimsoll, onnxruntime"])
def test_it_lives_beside_onnxruntime(tiny, order):
    program = f"""
import {order}, numpy
image = numpy.ones((1, 3, 64, 64), "float32")
for _ in range(3):
    both = [m.InferenceSession({tiny!r}).run(None, {{"image": image}})[0] for m in (onnxruntime, plimsoll)]
    numpy.testing.assert_allclose(*both, rtol=1e-4, atol=1e-5)
"""
    python(program)


def test_the_package_is_typed(tmp_path):
    (tmp_path / "user.py").write_text("""
from plimsoll import InferenceSession, MemoryConfig, NPURunConfig, pack, plan

config: NPURunConfig = NPURunConfig(memory_config=MemoryConfig(static_memory_policy=4), graph_run_mode=0)
session = InferenceSession("model.onnx", config=config)
names: list[str] = [port.name for port in session.get_inputs()]
outputs = session.run(None, {})
given_back: int = session.trim()
made = plan("model.onnx", shapes={"batch": 8}, limit="512MiB")
placed = pack([[1, 2, 3]], capacity=8)
""")
    good = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--no-incremental", str(tmp_path / "user.py")], capture_output=True,
                          text=True, cwd=tmp_path)
    assert good.returncode == 0, good.stdout
    (tmp_path / "wrong.py").write_text("from plimsoll import MemoryConfig\nMemoryConfig(static_memory_polcy=4)\nx: str = MemoryConfig().settings()\n")
    bad = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--no-incremental", str(tmp_path / "wrong.py")], capture_output=True,
                         text=True, cwd=tmp_path)
    assert bad.returncode == 1 and "static_memory_polcy" in bad.stdout and "settings" not in bad.stderr


def test_the_package_agrees_with_its_own_types(tmp_path):
    done = subprocess.run([sys.executable, "-m", "mypy", "--no-incremental", "-p", "plimsoll"], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout


def test_the_notebook_runs(top, tmp_path):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    os.symlink(top / "examples", tmp_path / "examples")
    notebook = nbformat.read(top / "examples" / "plan_and_run.ipynb", as_version=4)
    client = nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    pages = [output["data"]["text/html"] for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs
             if "text/html" in output.get("data", {})]
    assert any("<svg" in page for page in pages), "a plan draws its memory map"
    texts = [output.get("text", "") for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("onnxruntime" in text for text in texts), "the comparison with onnxruntime is shown"
