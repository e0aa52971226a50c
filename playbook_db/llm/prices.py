"""Estimating what a call to a model costs. Prices are in US dollars per million tokens, by model family.

Source: the published prices of 2026-10.
"""

import math
import os
import re

from playbook_db.errors import SettingError

CACHE_READ_SHARE = 0.1  # of the input price
CACHE_WRITE_SHARE = 1.25  # of the input price
LONG_PROMPT_TOKENS = 100_000  # above it, some families cost more
_FAMILIES = (  # a pattern for the model's name, the prices of input and output, the factor of both for a long prompt
    (r"opus-5-5", 4, 20, 1),
    (r"opus-(5|4-[5-9])", 5, 25, 1),
    (r"opus", 15, 75, 1),
    (r"sonnet-5", 2, 10, 1),
    (r"sonnet", 3, 15, 1),
    (r"haiku-5-5", 0.1, 0.5, 5),
    (r"3-5-haiku|haiku-3-5", 0.8, 4, 1),
    (r"3-haiku|haiku-3", 0.25, 1.25, 1),
    (r"haiku", 1, 5, 1),
    (r"fable", 10, 50, 1),
)


def cost_usd(
    model: str, *, input_tokens: int, output_tokens: int, cached_tokens: int = 0, written_tokens: int = 0
) -> float | None:
    """Return the cost of a call in US dollars, or None if the model's price is unknown. Raises SettingError.

    `cached_tokens` were read from the cache, `written_tokens` written to the cache. `input_tokens` includes neither.
    """
    prompt_tokens = input_tokens + cached_tokens + written_tokens
    price = price_per_mtok(model, prompt_tokens=prompt_tokens)
    if price is None:
        return None
    full = input_tokens + CACHE_READ_SHARE * cached_tokens + CACHE_WRITE_SHARE * written_tokens
    return (full * price[0] + output_tokens * price[1]) / 1_000_000


def price_per_mtok(model: str, *, prompt_tokens: int = 0) -> tuple[float, float] | None:
    """Return the prices of a million input tokens and of a million output tokens, or None if they are unknown.

    `PLAYBOOK_PRICE_PER_MTOK="in,out"` overrides the built-in prices. Raises SettingError if it isn't two prices.
    """
    value = os.environ.get("PLAYBOOK_PRICE_PER_MTOK", "").strip()
    if value:
        return _read(value)
    for name, input_usd, output_usd, long_factor in _FAMILIES:
        if re.search(rf"(?:{name})(?![0-9])", model):
            factor = long_factor if prompt_tokens > LONG_PROMPT_TOKENS else 1
            return input_usd * factor, output_usd * factor
    return None


def _read(value: str) -> tuple[float, float]:
    try:
        price_in, price_out = (float(part) for part in value.split(","))
    except ValueError:
        price_in = price_out = math.nan
    if not (0 <= price_in < math.inf and 0 <= price_out < math.inf):
        raise SettingError(f'PLAYBOOK_PRICE_PER_MTOK is {value!r}; it must be two prices in dollars, such as "3,15".')
    return price_in, price_out
