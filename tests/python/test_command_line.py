"""python -m plimsoll is the command line, and gives the same bits as the package."""
import os
import subprocess
import sys

import numpy
import plimsoll
import pytest


def command(*arguments, **options):
    return subprocess.run([sys.executable, "-m", "plimsoll", *arguments], capture_output=True, text=True, **options)


def test_exit_codes_and_streams(tiny):
    assert plimsoll.__version__ in command("--version").stdout
    assert "batch" in command("inspect", tiny).stdout
    missing = command("inspect", "no such file.onnx")
    assert (missing.returncode, missing.stdout) == (6, "") and "file.missing" in missing.stderr
    assert command("inspct").returncode == 2


def test_the_installed_script_is_the_same(tiny):
    script = os.path.join(os.path.dirname(sys.executable), "plimsoll")
    shown = subprocess.run([script, "inspect", tiny], capture_output=True, text=True)
    assert shown.returncode == 0 and shown.stdout == command("inspect", tiny).stdout


@pytest.mark.parametrize("options, config", [([], None), (["--policy", "4"], {"static_memory_policy": 4}),
                                             (["--set", "deterministic=1"], {"deterministic": 1})])
def test_results_are_bit_equal(tiny, image, tmp_path, options, config):
    numpy.save(tmp_path / "image.npy", image)
    done = command("run", tiny, "--input", f"image={tmp_path / 'image.npy'}", "--output", str(tmp_path / "out"), *options)
    assert done.returncode == 0, done.stderr
    output, = plimsoll.InferenceSession(tiny, config=config).run(None, {"image": image})
    assert output.tobytes() == numpy.load(tmp_path / "out" / "probabilities.npy").tobytes()
