"""Forks of one process that has imported everything. Each works in a place and returns JSON."""

import gc
import importlib
import json
import os
import pkgutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import playbook_db
from benchmarks.sandbox import living_in
from tests.faults import cases, shim
from tests.faults.cases import CASES, Place

_ROOT = Path(__file__).parents[2]


def in_fork(place: Place, work: Callable[[], Any]) -> Any:
    """Do *work* in a fork that lives in *place*."""
    with tempfile.TemporaryFile() as answer:
        child = os.fork()
        if not child:
            try:
                with living_in(place.environ()):
                    os.write(answer.fileno(), json.dumps(work()).encode())
                os._exit(0)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(70)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code:
            raise RuntimeError(f"a fork ended with {code}")
        answer.seek(0)
        return json.loads(answer.read())


def warm_up(folder: Path, names: Iterable[str]) -> None:
    """Do these cases once, so that no fork has to import modules or compile SQL."""
    for module in pkgutil.walk_packages(playbook_db.__path__, "playbook_db."):
        if not module.name.startswith(("playbook_db._", "playbook_db.store.postgres", "playbook_db.web")):
            with suppress(ImportError):
                importlib.import_module(module.name)
    for case in map(CASES.__getitem__, names):
        place = Place(folder / case.name)
        place.root.mkdir(parents=True)
        with living_in(place.environ()):
            case.prepare(place)
            case.act(place)
            cases.check(place)
            cases.state(place, case)
    gc.freeze()  # or the collector of each fork copies all pages


def start(arguments: Sequence[str], root: Path, log: Path | None = None) -> int:
    """Run a module with the shim for the files below *root*."""
    environ = {**os.environ, "LD_PRELOAD": str(shim.library()), "FAULTS_ROOT": str(root.resolve())}
    if log:
        environ["FAULTS_LOG"] = str(log)
    return subprocess.run([sys.executable, "-m", *arguments], cwd=_ROOT, env=environ, check=False).returncode
