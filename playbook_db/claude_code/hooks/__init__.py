"""The hooks. Importing them in a new process, as Claude Code starts it, makes all later imports quicker.

`os` is loaded without `collections.abc`, which takes longer than everything else of it. No garbage is collected. A
process that has loaded `os` already, such as the command `playbook`, isn't changed.
"""

import gc
import sys


class _OnlyForOs:
    """The names of `collections.abc` that `os` wants. For any other name, the module itself is loaded."""

    Mapping = MutableMapping = object

    @staticmethod
    def _check_methods(*_: object) -> object:
        return NotImplemented  # a path is what says that it is one

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):  # the import itself asks for these
            raise AttributeError(name)
        del sys.modules["_collections_abc"]
        import _collections_abc

        return getattr(_collections_abc, name)


if "os" not in sys.modules and "_collections_abc" not in sys.modules:
    gc.disable()
    sys.modules["_collections_abc"] = _OnlyForOs()  # type: ignore[assignment]
    import os

    if isinstance(sys.modules["_collections_abc"], _OnlyForOs):
        del sys.modules["_collections_abc"]
    # A plain dictionary, because its own class has no `get` now.
    os.environ = {name: os.environ[name] for name in os.environ}  # type: ignore[assignment]  # noqa: B003
