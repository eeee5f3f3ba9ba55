"""NPURunConfig and the objects that it takes, made from the library's table of options: names, order and defaults are the
documents', what is legal is checked by the library."""
from __future__ import annotations

import warnings

from plimsoll import _native
from plimsoll._option_table import ROWS
from plimsoll.errors import NoEffectWarning, UsageError


def _text(value) -> str:
    """A value as the library reads it."""
    if isinstance(value, (list, tuple)):
        return ",".join(_text(item) for item in value)
    if isinstance(value, (bool, int, float, str)):
        return str(value)
    if hasattr(value, "__fspath__"):
        return value.__fspath__()
    return type(value).__name__


class _Described(type):
    """Gives a class the signature and the documentation of its rows when somebody asks."""

    @property
    def __signature__(cls):
        from inspect import Parameter, Signature
        parameters = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=default) for name, _, default, *_ in cls._rows]
        if cls._any_name:
            parameters.append(Parameter("options", Parameter.VAR_KEYWORD))
        return Signature(parameters)


class Config(metaclass=_Described):
    """Options by name. Only those that were given are handed to the library: the others keep their default."""

    _rows: tuple = ()
    _any_name = False  # takes names that the table does not have, below a name of their own
    _below = ""

    def __init__(self, *arguments, **options):
        names = [row[0] for row in self._rows]
        if len(arguments) > len(names):
            raise self._refused("config.arguments", f"{len(arguments)} arguments", f"there are {len(names)} options", "give fewer")
        given = dict(zip(names, arguments))
        for name, value in options.items():
            if name in given:
                raise self._refused("config.twice", name, "it is given by its place and by its name", "give it once")
            if name not in names and not self._any_name:
                nearest = _native.nearest_name(name, names)
                raise self._refused("config.unknown", f"{name}={value!r}", "there is no such option",
                                    f"did you mean {nearest}?" if nearest else "plimsoll options lists them")
            given[name] = value
        self._given = {name: value for name, value in given.items() if value is not None}
        self._check()

    def _refused(self, code, place, reason, remedy):
        return UsageError("cannot make the configuration", code=code, place=f"{type(self).__name__}, {place}", reason=reason,
                          remedy=remedy)

    def _check(self):
        """Everything that is wrong, now rather than when a session is made of it."""
        check_settings(self.settings(), [], isinstance(self, NPURunConfig), stacklevel=4)

    def settings(self) -> dict[str, str]:
        """What was given, as the library takes it; the options of objects among them."""
        texts = {}
        for name, value in self._given.items():
            if isinstance(value, Config):
                texts.update(value.settings())
            else:
                texts[self._below + name] = _text(value)
        return texts

    def effective(self) -> dict[str, dict]:
        """What is in force with these options, and where each value comes from; as `plimsoll options` shows it."""
        import json
        return json.loads(check_settings(self.settings(), [], isinstance(self, NPURunConfig)))

    def __getattr__(self, name):
        if not name.startswith("_"):
            if name in self._given:
                return self._given[name]
            for row in self._rows:
                if row[0] == name:
                    return row[2]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __dir__(self):
        return [*super().__dir__(), *(row[0] for row in self._rows)]

    def __eq__(self, other):
        return type(self) is type(other) and self._given == other._given

    __hash__ = None

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._given.items())})"


def _documented(cls, summary):
    lines = [summary, ""]
    for name, kind, default, legal, standing, meaning in cls._rows:
        lines += [f"{name}: {kind}, default {default!r}", f"    {meaning}", f"    Legal: {legal}. Standing: {standing}.", ""]
    cls.__doc__ = "\n".join(lines)
    return cls


class MemoryConfig(Config):
    _rows = ROWS["MemoryConfig"]


class DumpConfig(Config):
    _rows = ROWS["DumpConfig"]


class ProfilingConfig(Config):
    _rows = ROWS["ProfilingConfig"]


class ExperimentalConfig(Config):
    """Takes any keyword; none has an effect here, which is what the library answers."""

    _any_name = True
    _below = "experimental_config."

    def _check(self):
        pass


class NPURunConfig(Config):
    _rows = ROWS["NPURunConfig"]


_documented(MemoryConfig, "How a session takes memory and gives it back.")
_documented(DumpConfig, "What a session writes of its tensors.")
_documented(ProfilingConfig, "What a session records of its runs.")
_documented(NPURunConfig, "Every option of a session, with the documents' own defaults: training, for one.")


def options() -> dict[str, tuple]:
    """The table: for each class its rows of name, type, default, legal values, standing and meaning."""
    return dict(ROWS)


def check_settings(names: dict[str, str], files: list[str], explicit: bool, stacklevel: int = 2) -> str:
    """What is in force with these settings, as JSON. All that is wrong is refused; what has no effect here, or will go, is told
    once in a process, as a NoEffectWarning."""
    effective, notes = _native.effective_config(names, files, explicit)
    for note in notes:
        warnings.warn(note, NoEffectWarning, stacklevel)
    return effective


def settings_of(config) -> tuple[dict[str, str], list[str], bool]:
    """What a session takes for the argument `config`: options by name, files, and whether they are an explicit NPURunConfig."""
    if config is None:
        return {}, [], False
    if isinstance(config, Config):
        return config.settings(), [], isinstance(config, NPURunConfig)
    if isinstance(config, dict):
        return {name: _text(value) for name, value in config.items() if value is not None}, [], False
    if isinstance(config, str) or hasattr(config, "__fspath__"):
        return {}, [_text(config)], False
    raise UsageError("cannot make the configuration", code="config.type", place="config", reason=f"it is {type(config).__name__}",
                     remedy="give an NPURunConfig, a dict of options, or the path of a JSON or TOML file")
