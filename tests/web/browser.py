"""A real Chromium and axe-core, which audits pages; `python -m tests.web.browser` installs both."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

Scheme = Literal["light", "dark"]
AXE = "4.14.1"
WIDTHS = (380, 800, 1400)
_APT = ("chromium", "chromium-driver")
_INSTALL_WAIT_S, _PAGE_WAIT_S = 600.0, 300.0
_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps",
    "--disable-extensions", "--no-default-browser-check", "--disable-domain-reliability", "--disable-breakpad",
    "--disable-features=OptimizationHints,MediaRouter,Translate,AutofillServerCommunication", "--hide-scrollbars",
)  # fmt: skip


class BrowserMissingError(Exception):
    """The browser or axe-core is missing; the message says why."""


def ensure_chromium() -> tuple[str, str]:
    """The paths of Chromium and its driver, which root installs on Debian."""
    if _paths() is None and shutil.which("apt-get") and os.geteuid() == 0:
        with FileLock(f"{tempfile.gettempdir()}/playbook-chromium.lock"):
            if _paths() is None:
                _install()
    found = _paths()
    if found is None:
        raise BrowserMissingError(f"{' and '.join(_APT)} are missing; install them to see the pages in a browser.")
    return found


def _paths() -> tuple[str, str] | None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


def _install() -> None:
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    _run("apt-get", "update", "-qq", env=env)
    _run("apt-get", "install", "-qq", "-y", "--no-install-recommends", *_APT, env=env)


def _run(*command: str, env: Mapping[str, str] | None = None) -> None:
    try:
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=_INSTALL_WAIT_S)
    except subprocess.TimeoutExpired as late:
        raise BrowserMissingError(f"{' '.join(command)} took longer than {_INSTALL_WAIT_S:.0f} s.") from late
    if done.returncode:
        raise BrowserMissingError(f"{' '.join(command)} failed: {done.stderr.strip()[-300:]}")


def ensure_axe() -> str:
    """The text of axe-core, which npm fetches into the folder of temporary files; its license is the MPL."""
    cache = Path(tempfile.gettempdir()) / f"axe-core-{AXE}-{os.getuid()}"
    script = cache / "node_modules" / "axe-core" / "axe.min.js"
    cache.mkdir(exist_ok=True)
    with FileLock(cache / "install.lock"):
        if not script.exists():
            npm = shutil.which("npm")
            if npm is None:
                raise BrowserMissingError("npm is missing, which fetches axe-core; install Node.js, which brings it.")
            options = ("--no-audit", "--no-fund", "--no-save", "--ignore-scripts")
            _run(npm, "install", *options, "--prefix", str(cache), f"axe-core@{AXE}")
    return script.read_text(encoding="utf-8")


@contextlib.contextmanager
def browser(*, javascript: bool = True) -> Iterator[webdriver.Chrome]:
    """A new Chromium without a history."""
    binary, driver = ensure_chromium()
    with tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True) as folder:
        options = Options()
        options.binary_location = binary
        for flag in (*_FLAGS, f"--user-data-dir={folder}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
        options.set_capability("unhandledPromptBehavior", "ignore")
        if not javascript:
            options.add_experimental_option("prefs", {"profile.managed_default_content_settings.javascript": 2})
        env = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
        opened = webdriver.Chrome(options, Service(driver, env={**env, "HOME": folder}))
        try:
            opened.set_page_load_timeout(_PAGE_WAIT_S)
            yield opened
        finally:
            opened.quit()


def resize(opened: webdriver.Chrome, width: int, height: int = 900, scheme: Scheme = "light") -> None:
    """Set the size of the page, and dark or light."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    opened.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    wanted = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
    features = [{"name": name, "value": value} for name, value in wanted.items()]
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def take_picture(opened: webdriver.Chrome, path: Path, width: int, scheme: Scheme = "light", most: int = 2400) -> None:
    """Save the whole page as a PNG, up to *most* pixels high."""
    resize(opened, width, scheme=scheme)
    height = min(most, int(opened.execute_script("return document.documentElement.scrollHeight")))
    resize(opened, width, max(height, 300), scheme)
    opened.save_screenshot(str(path))


def requested(opened: webdriver.Chrome) -> list[str]:
    """The addresses that the browser requested since the last call."""
    messages = (json.loads(entry["message"])["message"] for entry in opened.get_log("performance"))
    return [
        message["params"]["request"]["url"] for message in messages if message["method"] == "Network.requestWillBeSent"
    ]


def audit(opened: webdriver.Chrome, axe: str, *rules: str) -> list[str]:
    """The serious faults that axe-core finds on the current page, by some *rules* or by all."""
    opened.execute_cdp_cmd("Runtime.evaluate", {"expression": axe})  # the page's policy forbids a script element
    script = "const done = arguments[1]; axe.run(document, arguments[0]).then(done)"
    results: dict[str, Any] = opened.execute_async_script(script, {"runOnly": rules} if rules else {})
    return [
        f"{each['impact']}: {each['id']}: {node['html'][:200]}: {node.get('failureSummary', '')[:300]}"
        for each in results["violations"]
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]


@contextlib.contextmanager
def serving(folder: Path, home: Path, *arguments: str) -> Iterator[str]:
    """The address that `playbook web` prints for the project in *folder*."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("CLAUDE_", "PLAYBOOK_"))}
    command = [sys.executable, "-m", "playbook_db", "--project", str(folder), "web", "--no-open", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**clean, "HOME": str(home)}) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
            process.wait(300)


def make_ready() -> None:
    """Install the browser and axe-core before the tests start, and print what is missing."""
    for ensure in (ensure_chromium, ensure_axe):
        try:
            ensure()
        except BrowserMissingError as missing:
            print(f"The tests of the pages in a browser will be skipped: {missing}")  # noqa: T201


if __name__ == "__main__":
    make_ready()
