"""Who is asked, and what that costs."""

from pathlib import Path

import pytest

from playbook_db.errors import NoModelError, SettingError
from playbook_db.llm.anthropic_api import AnthropicModel
from playbook_db.llm.choose import describe_access, find_model
from playbook_db.llm.claude_cli import ClaudeCli
from playbook_db.llm.prices import cost_usd, price_per_mtok

KEYS = ("AGENTIC_CONTEXT_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY")


@pytest.fixture
def claude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A `claude` on the PATH."""
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    return str(program)


@pytest.mark.parametrize("name", KEYS)
def test_a_key_is_used_before_the_client(claude: str, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Whichever variable holds it; the description names the variable, not the key."""
    monkeypatch.setenv(name, "sk-secret")

    assert isinstance(find_model(), AnthropicModel)
    assert describe_access() == f"claude-sonnet-5-5 at https://api.anthropic.com, key from {name}"


def test_without_a_key_the_users_own_client_is_asked(claude: str) -> None:
    """As found on the PATH."""
    assert find_model() == ClaudeCli(claude)
    assert describe_access() == f"sonnet through Claude Code ({claude} -p)"


def test_the_client_may_be_named(claude: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """PLAYBOOK_CLAUDE wins over the PATH; one that isn't there is none."""
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("PLAYBOOK_CLAUDE", claude)
    assert find_model() == ClaudeCli(claude)
    monkeypatch.chdir(Path(claude).parent)
    monkeypatch.setenv("PLAYBOOK_CLAUDE", "./claude")
    assert find_model() == ClaudeCli(claude)
    monkeypatch.setenv("PLAYBOOK_CLAUDE", "/nowhere/claude")
    with pytest.raises(NoModelError):
        find_model()


def test_with_neither_there_is_no_model() -> None:
    """The error says what would help."""
    with pytest.raises(NoModelError, match=r"ANTHROPIC_API_KEY.*PLAYBOOK_CLAUDE"):
        find_model()
    with pytest.raises(NoModelError):
        describe_access()


@pytest.mark.parametrize("empty", ["", "  "])
def test_an_empty_key_is_none(monkeypatch: pytest.MonkeyPatch, empty: str) -> None:
    """Shells export variables that hold nothing."""
    for name in KEYS:
        monkeypatch.setenv(name, empty)

    with pytest.raises(NoModelError):
        find_model()


def test_the_backend_can_be_forced(claude: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """cli with a key, api without one, and nonsense."""
    monkeypatch.setenv("AGENTIC_CONTEXT_BACKEND", "api")
    with pytest.raises(NoModelError, match="no key"):
        find_model()
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    assert isinstance(find_model(), AnthropicModel)
    monkeypatch.setenv("AGENTIC_CONTEXT_BACKEND", "CLI")
    assert find_model() == ClaudeCli(claude)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(NoModelError, match="no Claude Code"):
        find_model()
    monkeypatch.setenv("AGENTIC_CONTEXT_BACKEND", "bedrock")
    with pytest.raises(SettingError, match="bedrock"):
        find_model()


@pytest.mark.parametrize(
    ("model", "price"),
    [
        ("claude-opus-5-5", (4, 20)),
        ("claude-opus-5", (5, 25)),
        ("claude-opus-4-5-20251101", (5, 25)),
        ("claude-opus-4-1-20250805", (15, 75)),
        ("claude-sonnet-5-5", (2, 10)),
        ("claude-sonnet-4-5-20250929", (3, 15)),
        ("claude-haiku-5-5", (0.1, 0.5)),
        ("claude-haiku-4-5", (1, 5)),
        ("claude-3-5-haiku-latest", (0.8, 4)),
        ("claude-3-haiku-20240307", (0.25, 1.25)),
        ("us.anthropic.claude-sonnet-4-5-v1:0", (3, 15)),
        ("llama-4", None),
        ("", None),
    ],
)
def test_known_families_have_a_price(model: str, price: tuple[float, float] | None) -> None:
    """Unknown ones have none, rather than a wrong one."""
    assert price_per_mtok(model) == price
    assert (cost_usd(model, input_tokens=1, output_tokens=1) is None) == (price is None)


def test_what_is_read_from_the_cache_costs_a_tenth() -> None:
    """And what is put into it a quarter more."""
    assert cost_usd("claude-sonnet-5-5", input_tokens=0, output_tokens=0, cached_tokens=10**6) == pytest.approx(0.2)
    assert cost_usd("claude-sonnet-5-5", input_tokens=0, output_tokens=0, written_tokens=10**6) == pytest.approx(2.5)


def test_a_long_prompt_costs_more_where_it_does() -> None:
    """From 100,000 tokens on, cached ones included."""
    assert cost_usd("claude-haiku-5-5", input_tokens=100_000, output_tokens=0) == pytest.approx(0.01)
    assert cost_usd("claude-haiku-5-5", input_tokens=1, cached_tokens=10**6, output_tokens=0) == pytest.approx(
        0.05, 0.01
    )


def test_the_price_can_be_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """For any model; what can't be read is refused."""
    monkeypatch.setenv("PLAYBOOK_PRICE_PER_MTOK", "1, 2.5")
    assert price_per_mtok("llama-4") == (1, 2.5)
    for odd in ("1", "1,2,3", "a,b", "-1,2", "nan,1", "inf,1"):
        monkeypatch.setenv("PLAYBOOK_PRICE_PER_MTOK", odd)
        with pytest.raises(SettingError):
            price_per_mtok("llama-4")
