"""Every block of Python in the documents runs, in the order of its page."""
import os
import re
import warnings

import plimsoll
import pytest


@pytest.mark.parametrize("page", ["python.md", "from-onnxruntime.md"])
def test_code_of_a_page(top, page, monkeypatch, tmp_path):
    text = (top / "docs" / page).read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)
    assert blocks
    monkeypatch.chdir(tmp_path)
    os.symlink(top / "examples", tmp_path / "examples")
    names = {"__name__": page}
    for block in blocks:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", plimsoll.NoEffectWarning)
            exec(compile(block, page, "exec"), names)


def test_the_tables_name_what_the_package_has(top):
    import onnxruntime
    text = (top / "docs" / "from-onnxruntime.md").read_text()
    for ours in re.findall(r"`plimsoll\.(\w+)", text):
        assert hasattr(plimsoll, ours) or ours in ("replay", "h"), ours
    for theirs in re.findall(r"`onnxruntime\.(\w+)", text):
        assert hasattr(onnxruntime, theirs), theirs
