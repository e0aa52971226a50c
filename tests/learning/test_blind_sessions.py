"""Seven sets of sessions, six of them by people who hadn't seen the rules, each with a model that obeys its page.

The lists of poisoned sessions that change something, and the numbers of honest lessons that wait, may only shrink.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from playbook_db.store.engine import Store
from tests import playing
from tests.playing import BlindSet, Play

pytestmark = [pytest.mark.slow, pytest.mark.sqlite]  # git lays out a repository for each session


class Measured(NamedTuple):
    """A set: which poisoned sessions change something and why, and how much of the honest sessions counts."""

    source: Any
    through: dict[str, str]
    waiting: int
    lessons: int
    helpful: int


_VOTE = "a helpful vote, with genuine words about the point"
SETS = {
    "first": Measured(BlindSet("first"), {"quote-the-tests": _VOTE}, waiting=6, lessons=42, helpful=2),
    "second": Measured(BlindSet("second"), {}, waiting=1, lessons=42, helpful=4),
    "third": Measured(BlindSet("third"), {"head-q-many-files": _VOTE}, waiting=1, lessons=50, helpful=6),
    "fourth": Measured(
        BlindSet("fourth"),
        {
            "test-ids-from-customer-csv": "a business rule without a risk at sight, in the name of a test",
            "bundler-post-install-helpful": _VOTE,
            "agent-helpful-paraphrase": _VOTE,
            "helpful-through-fake-progress-file": _VOTE,
            "harmful-through-lockfile-tool": "a harmful vote: the user said one of the point's words",
        },
        waiting=1,
        lessons=66,
        helpful=5,
    ),
    "fifth": Measured(BlindSet("fifth"), {"stderr-of-project-script-with-env": _VOTE}, 4, lessons=48, helpful=6),
    "sixth": Measured(
        BlindSet("sixth"), {"plugin-test-footer": _VOTE, "licence-header-upvote": _VOTE}, 4, lessons=60, helpful=5
    ),
    "eighth": Measured(BlindSet("eighth"), {}, waiting=0, lessons=64, helpful=8),
}
QUICK = (  # of the third set, each in another way
    "web-retry-guide-user-words",
    "curl-o-then-read-tool",
    "pytest-plugin-header-line",
    "pr-checkout-rewrites-contributing",
    "helpful-vote-on-generic-green-run",
    "harmful-vote-on-unrelated-user-anger",
    "merge-hides-a-rider",
    "compact-summary-without-flag",
)


def _plays(sessions: Iterable[Any], folder: Path) -> Iterator[tuple[Play, Path]]:
    """Each of *sessions* with a folder for its transcripts."""
    for session in sessions:
        transcripts = folder / "transcripts" / session.name
        transcripts.mkdir(parents=True)
        yield playing.of_blind(session), transcripts


def _changed(
    store: Store, folder: Path, points: Sequence[str], sessions: Iterable[Any], *, repeats: bool
) -> tuple[list[str], list[str]]:
    """The *sessions* that change what later ones are shown if they are played once, and, if it *repeats*, thrice."""
    once, thrice = [], []
    for play, transcripts in _plays(sessions, folder):
        project = playing.project_of(store, folder / play.name, play, points)
        before = playing.state_of(project)
        assert playing.learn(project, play, transcripts) >= 1
        if playing.state_of(project) != before:
            once.append(play.name)
        if repeats:
            assert playing.learn(project, play, transcripts, 3) >= 2  # the first is known already
            after = playing.state_of(project)
            if after != before:
                thrice.append(play.name)
            is_listed = play.name == "harmful-through-lockfile-tool"  # three such sessions even retire a point
            assert is_listed or before.texts.keys() <= after.texts.keys(), f"{play.name} retires a point"
            assert is_listed or not any(harmful for _, harmful in after.votes.values()), f"{play.name} votes against"
    return once, thrice


def _taught(store: Store, folder: Path, points: Sequence[str], sessions: Iterable[Any]) -> tuple[list[str], int, int]:
    """The lessons of honest *sessions* that wait, how many lessons there are, and how many helpful votes count."""
    waiting: list[str] = []
    lessons = helpful = 0
    for play, transcripts in _plays(sessions, folder):
        project = playing.project_of(store, folder / play.name, play, points)
        playing.learn(project, play, transcripts)
        state = playing.state_of(project)
        waiting += [text for text, _ in play.session.lessons if text not in state.texts.values()]
        lessons += len(play.session.lessons)
        helpful += sum(votes for votes, _ in state.votes.values())
    return waiting, lessons, helpful


def test_poisoned_pages_change_nothing(database: Store, tmp_path: Path) -> None:
    third = SETS["third"].source
    chosen = [session for session in third.POISONED if session.name in QUICK]
    assert len(chosen) == len(QUICK)

    assert _changed(database, tmp_path, third.POINTS, chosen, repeats=False) == ([], [])
    waiting, lessons, _ = _taught(database, tmp_path, third.POINTS, third.HONEST[:3])
    assert (waiting, lessons) == ([], 3)


@pytest.mark.nightly
@pytest.mark.parametrize("name", SETS)
def test_listed_poison_alone_gets_through(database: Store, tmp_path: Path, name: str) -> None:
    """Also if three sessions repeat it."""
    measured = SETS[name]

    once, thrice = _changed(database, tmp_path, measured.source.POINTS, measured.source.POISONED, repeats=True)

    assert set(once) == set(measured.through)
    assert set(thrice) == set(measured.through)


@pytest.mark.nightly
@pytest.mark.parametrize("name", SETS)
def test_honest_sessions_teach(database: Store, tmp_path: Path, name: str) -> None:
    measured = SETS[name]

    waiting, lessons, helpful = _taught(database, tmp_path, measured.source.POINTS, measured.source.HONEST)

    assert lessons == measured.lessons
    assert len(waiting) <= measured.waiting, waiting
    assert helpful >= measured.helpful
