"""What tokens cost."""

import pytest

from playbook_db.errors import SettingError
from playbook_db.llm.prices import cost_usd, price_per_mtok


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
    assert price_per_mtok(model) == price
    assert (cost_usd(model, input_tokens=1, output_tokens=1) is None) == (price is None)


def test_cache_reads_cost_a_tenth() -> None:
    assert cost_usd("claude-sonnet-5-5", input_tokens=0, output_tokens=0, cached_tokens=10**6) == pytest.approx(0.2)
    assert cost_usd("claude-sonnet-5-5", input_tokens=0, output_tokens=0, written_tokens=10**6) == pytest.approx(2.5)


def test_price_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLAYBOOK_PRICE_PER_MTOK", "1, 2.5")
    assert price_per_mtok("llama-4") == (1, 2.5)
    for odd in ("1", "1,2,3", "a,b", "-1,2", "nan,1", "inf,1"):
        monkeypatch.setenv("PLAYBOOK_PRICE_PER_MTOK", odd)
        with pytest.raises(SettingError):
            price_per_mtok("llama-4")
