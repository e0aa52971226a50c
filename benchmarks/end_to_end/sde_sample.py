"""A made-up corpus in the form of sde-bench: three tasks, of which one has an amended decision, and one decoy."""

import json
from pathlib import Path
from textwrap import dedent
from typing import Any

DIGEST = "e1e92b7c208088d80b6fb310d8e9d46afe661321844311227bbb154a0529439f"
_BUILD = """
import subprocess, sys
from pathlib import Path
out = Path(sys.argv[1])
git = ["git", "-C", str(out), "-c", "user.name=x", "-c", "user.email=x@example.org"]
for name, text in {files!r}.items():
    (out / name).parent.mkdir(parents=True, exist_ok=True)
    (out / name).write_text(text)
subprocess.run(["git", "init", "-q", str(out)], check=True)
subprocess.run([*git, "add", "-A"], check=True)
subprocess.run([*git, "commit", "-q", "-m", "begin"], check=True)
"""
_TASKS: dict[str, dict[str, Any]] = {
    "sample-tariff": {
        "module": "tariff/zones.py",
        "function": "zone_of",
        "policy": "postcodes that begin with 8 are zone 2, but 8999 is zone 4 (the island); all others are zone 1",
        "bug_report": "zone_of in tariff/zones.py charges customers in the south like those next door, please fix it",
        "talk": [
            ("user", "The carrier charges more for the south. Postcodes that begin with 8 are zone 2."),
            ("assistant", "And all others stay zone 1?"),
            ("user", "Yes, but 8999 is zone 4, that is the island. Only a ferry goes there."),
            ("assistant", "So zone_of gives 2 for 8..., 4 for 8999 and 1 for all others."),
        ],
        "wrong": "return 1",
        "right": "return 4 if code == '8999' else 2 if code.startswith('8') else 1",
        "works": "zone_of('1010') == 1",
        "shows": "zone_of('8010') == 2",
        "hidden": "zone_of('8999') == 4",
        "argument": "code",
    },
    "sample-label-amended": {
        "module": "labels/text.py",
        "function": "label",
        "policy": "labels are cut to 22 characters without a mark (post-amendment)",
        "bug_report": "The printer jams on long names: label in labels/text.py gives texts that don't fit on the roll",
        "talk": [
            ("user", "Labels must fit on the roll: cut them to 20 characters and end them with two dots."),
            ("assistant", "Labels are cut to 20 characters and end with two dots."),
        ],
        "later": [
            ("user", "The new rolls are wider. Labels are cut to 22 characters without a mark from now on."),
            ("assistant", "Amended: 22 characters, no dots."),
        ],
        "wrong": "return name",
        "right": "return name[:22]",
        "works": "label('Ann') == 'Ann'",
        "shows": "len(label('x' * 40)) <= 22",
        "hidden": "label('x' * 40) == 'x' * 22",
        "argument": "name",
    },
    "sample-pause": {
        "module": "driver/pause.py",
        "function": "pause_after",
        "policy": "a pause of 45 minutes after 4 hours, of 30 minutes if the driver is below 18 and the tour is local",
        "bug_report": "driver/pause.py plans no pause at all, pause_after(300) should give one",
        "talk": [
            ("user", "A driver gets a pause of 45 minutes after 4 hours, that is the law."),
            ("assistant", "Always 45?"),
            ("user", "It is 30 minutes if the driver is below 18 and the tour is local."),
        ],
        "wrong": "return 0",
        "right": "return 0 if minutes < 240 else 45",
        "works": "pause_after(60) == 0",
        "shows": "pause_after(300) > 0",
        "hidden": "pause_after(300) == 45",
        "argument": "minutes",
    },
}
_DECOY = {
    "topic": "names",
    "turns": [
        {"role": "user", "text": "Why is the folder called tariff?"},
        {"role": "assistant", "text": "It holds what the carriers charge."},
    ],
}


def write(folder: Path) -> Path:
    """Write the corpus into *folder*."""
    for name, task in _TASKS.items():
        main = folder / name / "tasks" / "main"
        main.mkdir(parents=True)
        tests = {"works": "tests/test_unit.py", "shows": "tests/test_regression.py", "hidden": "tests/test_hidden.py"}
        body = f"def {task['function']}({task['argument']}):\n    "
        module = task["module"].removesuffix(".py").replace("/", ".")
        code = {
            which: f"from {module} import {task['function']}\n\n\ndef test_it():\n    assert {task[which]}\n"
            for which in tests
        }
        files = {task["module"]: f"{body}{task['wrong']}\n", tests["works"]: code["works"]}
        (folder / name / "build.py").write_text(dedent(_BUILD).format(files=files))
        (main / "regression_test.py").write_text(code["shows"])
        (main / "hidden_test.py").write_text(code["hidden"])
        talks = [
            [{"role": role, "text": text} for role, text in talk] for talk in (task["talk"], task.get("later")) if talk
        ]
        row = {key: task[key] for key in ("module", "function", "policy", "bug_report")}
        row |= {
            "task_id": f"{name}-001",
            "source": "conversation",
            "conversations": talks if len(talks) > 1 else talks[0],
        }
        row |= {"pass_to_pass": [tests["works"]], "fail_to_pass": [tests["shows"]], "hidden_to_pass": [tests["hidden"]]}
        (main / "task.json").write_text(json.dumps(row))
    (folder / "gen").mkdir()
    (folder / "gen" / "decoy_conversations.json").write_text(json.dumps([_DECOY]))
    listed = [{"task_id": f"{name}-001"} for name in _TASKS]
    (folder / "MANIFEST.json").write_text(json.dumps({"dataset": "sde-bench", "tasks": listed}))
    return folder


def right_fix(task_id: str) -> tuple[str, str, str]:
    """The module of a task, what is wrong in it, and what its right fix puts there."""
    task = _TASKS[task_id.removesuffix("-001")]
    return task["module"], task["wrong"], task["right"]
