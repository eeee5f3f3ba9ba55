"""One row of the tables behind wild_models.py."""
import dataclasses
import typing


@dataclasses.dataclass(frozen=True)
class Model:
    package: str  # name==version
    path: str  # inside of the wheel
    feeds: typing.Callable  # random generator -> {input: array}
    title: str = ""  # where the file's own name does not tell it from others of its package

    @property
    def name(self):
        return f"{self.package.split('==')[0]}/{self.title or self.path.rsplit('/', 1)[-1].removesuffix('.onnx')}"
