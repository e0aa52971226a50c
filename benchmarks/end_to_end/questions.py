"""Questions to people, as files. In FOLDER, `q/NNN.txt` is a question and `a/NNN.txt` is its answer.

    python -m benchmarks.end_to_end.questions FOLDER [I/N]

This prints the path of the next question without an answer, and waits for one for up to 9 minutes. It prints DONE when
no question will follow. With I/N (such as 2/3), it prints only every N-th question, so N people can share a folder.

Write your answer to a temporary name, such as `a/NNN.new`, then rename it to `a/NNN.txt`. So nobody reads half of it.
"""

import sys
import time
from pathlib import Path

_WAIT_S = 540.0
_PAUSE_S = 0.3


class UnansweredError(Exception):
    """A question has no answer yet."""


class Questions:
    """The questions in *folder*. A text that is asked again is the same question, so it keeps its answer."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("q", "a"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        self._names = {path.read_text("utf-8"): path.stem for path in _listed(folder)}

    @property
    def is_closed(self) -> bool:
        """Whether no question will follow."""
        return (self.folder / "done").exists()

    def put(self, text: str) -> str:
        """Ask *text*, if nobody asked it before. Return the name of the question."""
        if text not in self._names:
            name = f"{len(self._names) + 1:03}"
            _write(self.folder / "q" / f"{name}.txt", text)
            self._names[text] = name
        return self._names[text]

    def answer(self, name: str) -> str | None:
        """Return the answer to the question *name*, or None."""
        path = self.folder / "a" / f"{name}.txt"
        return path.read_text("utf-8") if path.exists() else None

    def ask(self, text: str) -> str:
        """Return the answer to *text*. Raises UnansweredError if there is none yet."""
        answer = self.answer(self.put(text))
        if answer is None:
            raise UnansweredError(text)
        return answer

    def refuse(self, name: str, why: str) -> None:
        """Set the answer to the question *name* aside, with the reason. The question is then open again."""
        path = self.folder / "a" / f"{name}.txt"
        _write(path.with_suffix(".why"), f"{why}\n")
        path.rename(path.with_suffix(".refused"))

    def close(self) -> None:
        """Say that no question will follow."""
        _write(self.folder / "done", "")


def _listed(folder: Path) -> list[Path]:
    return sorted((folder / "q").glob("[0-9]*.txt"))


def _write(path: Path, text: str) -> None:
    new = path.with_name(f".{path.name}")
    new.write_text(text, "utf-8")
    new.rename(path)


def following(folder: Path, share: str = "1/1") -> str:
    """Return the path of the next open question of this *share*, DONE if none will follow, or `""` if none is open."""
    first, count = map(int, share.split("/"))
    is_closed = (folder / "done").exists()  # read first: a question may follow until then
    for path in _listed(folder)[first - 1 :: count]:
        if not (folder / "a" / path.name).exists():
            return str(path)
    return "DONE" if is_closed else ""


def main() -> None:
    """Print the next question that the command line asks for."""
    if len(sys.argv) not in (2, 3):
        raise SystemExit("usage: python -m benchmarks.end_to_end.questions FOLDER [I/N]")
    end = time.monotonic() + _WAIT_S
    while not (found := following(Path(sys.argv[1]), *sys.argv[2:])) and time.monotonic() < end:
        time.sleep(_PAUSE_S)
    print(found or "No question is open. Run the command again.")


if __name__ == "__main__":
    main()
