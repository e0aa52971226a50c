"""The names that a file defines, and those that a text writes as code."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.domain.code_names import MOST_NAMES, defined, has, has_path, shared, written

SOURCES = {
    "Python": (
        "def parse_header(x):\nclass UserStore(Base):\n  def __init__(self): ...\n"
        "  async def fetch_all(self):\n        return total_of(x)\n",
        "parse_header UserStore fetch_all",
    ),
    "TypeScript": (
        "export default async function handleLogin(a) {\n  if (isReady(a)) {\n  items.forEach((each) => {\n"
        "export class TokenCache<T> {\n  private async refreshToken(id: string): Promise<X> {\n"
        "export const makeClient = () => {\n  const innerThing = 5\nexport interface Options {\n} else if (later) {\n",
        "handleLogin TokenCache refreshToken makeClient Options",
    ),
    "Go": (
        "func (r *Worker) DrainQueue(ctx context.Context) error {\nfunc NewWorker() *Worker {\n"
        "type workerPool struct {\n\tif err := r.doThings(); err != nil {\n",
        "DrainQueue NewWorker workerPool",
    ),
    "Rust": (
        "pub(crate) fn seal_frame(x: u8) {\nstruct FrameCodec<'a> {\n"
        "impl Read for FrameCodec<'a> {\n  fn close() {\nmacro_rules! ensure_ok {\n  match parse_it(x) {\n",
        "seal_frame FrameCodec close ensure_ok",
    ),
    "Java": (
        "public final class LedgerService {\n  public Map<String, List<X>> rebuildIndex(int a) throws E {\n"
        "    for (int step = 0; ; ) {\n      return new Thing(a) {\n",
        "LedgerService rebuildIndex",
    ),
    "C": (
        "static int frob_widget(struct foobar *x)\n{\n  struct foo *bar;\nstruct ring_buffer {\n"
        "void Foo::barbaz(int x) {\n  call_it(x);\n",
        "frob_widget ring_buffer barbaz",
    ),
    "Ruby": ("  def self.import_rows\n  module Billing::Invoices\n", "import_rows Billing"),
    "prose": ("The class of this function returns what we type.\nA struct {\n{\n(\n", ""),
}


@pytest.mark.parametrize("language", SOURCES)
def test_definitions_of_a_file_are_found(language: str) -> None:
    source, expected = SOURCES[language]
    assert defined(source, lambda: False) == expected.split()


def test_number_and_time_limit_definitions() -> None:
    source = "".join(f"def name_{number}(): ...\n" for number in range(1000))
    assert len(defined(source, lambda: False)) == MOST_NAMES
    assert defined("\n" * 255 + source, lambda: True) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("call `save`, not `save now`, before parse_header.", {"save", "save now", "parse_header"}),
        ("store.flush() in Foo::barBaz, then flush()", {"Foo", "barBaz", "flush("}),
        ("RetryPolicy, not Retry nor HTTP", {"RetryPolicy"}),
        ("Nothing here. It is 42.", set()),
    ],
)
def test_names_written_as_code_are_found(text: str, expected: set[str]) -> None:
    assert written(text) == expected


def test_common_word_counts_only_as_a_call() -> None:
    assert has(written("`gearbox`"), "gearbox")
    assert not has(written("`gearbox`"), "Gearbox")
    assert not has(written("`rsync --gearbox`"), "gearbox")
    assert not has(written("`update`"), "update")
    assert has(written("`update()`"), "update")
    assert not has(written("`other.update()`"), "update")
    assert has(written("`Gearbox::update()`"), "Gearbox")


def test_shared_name_is_in_question_and_text() -> None:
    """It has five letters or more."""
    texts = ["`parse_header` and `gearbox` and `x`", "send_header, `Gearbox.run`"]
    assert shared("parse_header, `x`, gearbox", texts) == ["parse_header"]
    assert shared("send_header `gearbox`", texts) == ["gearbox", "send_header"]
    assert shared("Gearbox.stop()", texts) == ["Gearbox"]
    assert shared("parse_header", []) == []


@pytest.mark.parametrize(
    ("text", "end", "expected"),
    [
        ("src/api/users.py: bytes", "api/users.py", True),
        ("my_api/users.py", "api/users.py", False),
        ("other/api/users.py", "api/users.py", False),
        ("api/users.pyi", "api/users.py", False),
        ("users.py.bak, users.py/x, then users.py", "users.py", True),
    ],
)
def test_end_of_a_path_names_a_file(text: str, end: str, expected: bool) -> None:
    assert has_path(text, end, "src/api/users.py") is expected


def test_file_named_like_a_word_must_be_code() -> None:
    assert [has_path(text, "build", "build") for text in ("the build", "run `build`")] == [False, True]
    assert has_path("the Makefile", "Makefile", "Makefile")


@given(st.text(max_size=300), st.text(max_size=20))
def test_no_text_fails(text: str, path: str) -> None:
    assert all(name in text for name in defined(text, lambda: False))
    assert isinstance(written(text), set)
    assert isinstance(has_path(text, path, path), bool)
