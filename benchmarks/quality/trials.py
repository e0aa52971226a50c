"""How often the rule for "followed" and "ignored" agrees with a person: on labeled cases, and on errors with points.

acts.json was written before the rule, and every second case was held out while we wrote the rule. A person who did not
know the rule wrote more_acts.json afterwards.
"""

import json
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.figures import Figures
from playbook_db.domain.trust.following import CORRECTED, FAILED, Act, Trial, judge

_FOLDER = Path(__file__).parent
SPLITS = ("train", "held-out")  # the even and the odd cases; of more_acts.json both are new


def cases(split: str, file: str = "acts.json") -> list[dict[str, Any]]:
    """The cases of *file* in *split*."""
    every: list[dict[str, Any]] = json.loads((_FOLDER / file).read_text(encoding="utf-8"))
    return every[SPLITS.index(split) :: 2]


def acts_of(case: dict[str, Any]) -> list[Act]:
    """The acts of a case: `[tool, text, outcome, error, words]`, or `["user", words]`."""
    acts: list[Act] = []
    for tool, text, *rest in case["acts"]:
        outcome, error, words = [*rest, "", "", ""][:3]
        if tool != "user":
            acts.append(Act("", tool, text, outcome, error))
        if said := text if tool == "user" else words:
            acts.append(Act("", "", said, CORRECTED))
    return acts


def is_right(case: dict[str, Any], trial: Trial) -> bool:
    """Whether *trial* is what the case says."""
    verdicts = {(False, False): "neither", (True, False): "followed", (False, True): "ignored", (True, True): "both"}
    is_same = verdicts[trial.followed, trial.ignored > 0] == case["is"]
    return is_same and bool(trial.failed_calls == case.get("failed_calls", 0))


def errors(split: str) -> tuple[int, int, int, int]:
    """Failed calls of *split* against every point of the corpora here.

    Returns how many of the points that name the error were found, of how many, and how many others, of how many pairs.
    """
    failed = json.loads((_FOLDER / "retrieval_errors.json").read_text(encoding="utf-8"))
    corpus = json.loads((_FOLDER / "retrieval.json").read_text(encoding="utf-8"))
    pairs = json.loads((_FOLDER / "pairs.json").read_text(encoding="utf-8"))["pairs"]
    points = {point["id"]: point["text"] for point in failed["points"]}
    points |= {point["id"]: point["named"] for point in corpus["points"]}
    points |= {f"{pair['id']}-{side}": pair[side] for pair in pairs for side in ("one", "other")}
    found = [
        (number in each["gold"], judge(text, [_failed(each)]).ignored > 0)
        for each in failed["errors"]
        if each["split"] == split
        for number, text in points.items()
    ]
    return (
        found.count((True, True)),
        sum(is_gold for is_gold, _ in found),
        found.count((False, True)),
        sum(not is_gold for is_gold, _ in found),
    )


def _failed(error: dict[str, Any]) -> Act:
    is_file = "/" in error["what"] and " " not in error["what"]
    return Act("", "Edit" if is_file else "Bash", error["what"], FAILED, error["error"])


def run() -> Figures:
    """The table of both halves of each file."""
    rows = []
    for file, split in product(sorted(path.name for path in _FOLDER.glob("*acts.json")), SPLITS):
        half = [(case, judge(case["point"], acts_of(case))) for case in cases(split, file)]
        right = sum(is_right(case, trial) for case, trial in half)
        wrong = sum(trial.ignored > 0 and case["is"] in ("neither", "followed") for case, trial in half)
        found, named, others, pairs = errors(split) if file == "acts.json" else (0, 0, 0, 0)
        matches = (f"{found} of {named}", f"{others} of {pairs:,}") if pairs else ("", "")
        rows.append((f"{file}, {split}", f"{right} of {len(half)}", str(wrong), *matches))
    return Figures(
        "Followed and ignored: the rule against labels",
        ("", "cases right", "wrongly ignored", "errors: points that name them", "errors: other points"),
        rows,
    )
