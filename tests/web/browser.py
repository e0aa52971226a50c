"""A real Chromium, its driver, and axe-core, which audits pages: what the tests need of them, and how it is had.

`python -m tests.web.browser FOLDER` takes a picture of each page of a filled playbook, wide and narrow, dark and light;
with `--ready` in place of the folder it only fetches what misses.
"""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

Scheme = Literal["light", "dark"]
AXE = "4.14.1"
WIDTHS = (380, 800, 1400)
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
PAGES = (
    "", "points", "points?state=retired", "points/pat-002", "forget/pat-002", "history", "history/50", "history/at/20",
    "history/diff?from=10&to=50", "review", "review?proposal=p2&edit=1", "sessions", "numbers", "projects",
)  # fmt: skip
_APT = ("chromium", "chromium-driver")
_APT_WAIT_S, _NPM_WAIT_S, _PAGE_WAIT_S = 600.0, 600.0, 300.0
_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps",
    "--disable-extensions", "--no-default-browser-check", "--disable-domain-reliability", "--disable-breakpad",
    "--disable-features=OptimizationHints,MediaRouter,Translate,AutofillServerCommunication", "--hide-scrollbars",
)  # fmt: skip


class BrowserMissingError(Exception):
    """The browser, or what the tests need beside it, can't be had here; the text says what is missing and why."""


def ensure_chromium() -> tuple[str, str]:
    """The paths of Chromium and of its driver; installed where that is Debian's and we may. Raises
    BrowserMissingError."""
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
    for command in (
        ["apt-get", "update", "-qq"],
        ["apt-get", "install", "-qq", "-y", "--no-install-recommends", *_APT],
    ):
        try:
            done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=_APT_WAIT_S)
        except subprocess.TimeoutExpired as late:
            raise BrowserMissingError(f"{' '.join(command)} took longer than {_APT_WAIT_S:.0f} s.") from late
        if done.returncode:
            raise BrowserMissingError(f"{' '.join(command)} failed: {done.stderr.strip()[-300:]}")


def ensure_axe() -> str:
    """The text of axe-core, from a cache among the machine's temporary files, else fetched into it by npm. It is under
    the MPL, and never committed. Raises BrowserMissingError."""
    cache = Path(tempfile.gettempdir()) / f"axe-core-{AXE}-{os.getuid()}"
    script = cache / "node_modules" / "axe-core" / "axe.min.js"
    cache.mkdir(exist_ok=True)
    with FileLock(cache / "install.lock"):
        if not script.exists():
            npm = shutil.which("npm")
            if npm is None:
                raise BrowserMissingError("npm is missing, which fetches axe-core; install Node.js, which brings it.")
            command = [npm, "install", "--no-audit", "--no-fund", "--no-save", "--ignore-scripts", "--prefix"]
            try:
                done = subprocess.run(
                    [*command, str(cache), f"axe-core@{AXE}"], capture_output=True, text=True, timeout=_NPM_WAIT_S
                )
            except subprocess.TimeoutExpired as late:
                raise BrowserMissingError(f"npm took longer than {_NPM_WAIT_S:.0f} s to fetch axe-core.") from late
            if done.returncode or not script.exists():
                raise BrowserMissingError(f"npm could not fetch axe-core: {done.stderr.strip()[-300:]}")
    return script.read_text(encoding="utf-8")


@contextlib.contextmanager
def browser(*, javascript: bool = True) -> Iterator[webdriver.Chrome]:
    """A Chromium of our own, which has seen nothing yet. Raises BrowserMissingError."""
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
    """Let the page be as wide as that, and dark or light."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    opened.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    wanted = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
    features = [{"name": name, "value": value} for name, value in wanted.items()]
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def take_picture(opened: webdriver.Chrome, path: Path, width: int, scheme: Scheme = "light", most: int = 2400) -> None:
    """Keep as a PNG what the browser shows at that width: the whole page, up to *most* pixels of its height."""
    resize(opened, width, scheme=scheme)
    height = min(most, int(opened.execute_script("return document.documentElement.scrollHeight")))
    resize(opened, width, max(height, 300), scheme)
    opened.save_screenshot(str(path))


def requested(opened: webdriver.Chrome) -> list[str]:
    """The addresses that the browser has asked for since this was called last."""
    messages = (json.loads(entry["message"])["message"] for entry in opened.get_log("performance"))
    return [
        message["params"]["request"]["url"] for message in messages if message["method"] == "Network.requestWillBeSent"
    ]


def audit(opened: webdriver.Chrome, axe: str, *rules: str) -> list[str]:
    """What axe-core finds on the page that the browser shows, serious or worse; by some *rules* or by all."""
    opened.execute_cdp_cmd("Runtime.evaluate", {"expression": axe})  # the page's policy would forbid a script of ours
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
    """The address that `playbook web` prints for the project in *folder*, as a user with that *home* starts it."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("CLAUDE_", "PLAYBOOK_"))}
    command = [sys.executable, "-m", "playbook_db", "--project", str(folder), "web", "--no-open", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**clean, "HOME": str(home)}) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
            process.wait(300)


def main(folder: Path, pages: Sequence[str] = PAGES) -> None:
    """Pictures of *pages* in *folder*."""
    from playbook_db.services.opening import open_project
    from tests.web.filled_playbook import fill

    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        home, project = Path(made) / "home", Path(made) / "work" / "hafen"
        (project / ".claude").mkdir(parents=True)
        home.mkdir()
        with open_project(f"sqlite:///{home}/.claude/playbook/playbook.db", str(project), notify=print) as opened:
            fill(opened)
        with serving(project, home) as address, browser() as driver:
            driver.get(address)
            root = driver.current_url.partition("?")[0].rstrip("/")
            for page in pages:
                driver.get(f"{root}/{page}")
                name = re.sub("[^a-z0-9]+", "-", page) or "home"
                for scheme in SCHEMES:
                    for width in WIDTHS:
                        take_picture(driver, folder / f"{name}-{width}-{scheme}.png", width, scheme)


def make_ready() -> None:
    """Have what the tests need before they begin, which would wait for it one after the other; say what is missing."""
    for ensure in (ensure_chromium, ensure_axe):
        try:
            ensure()
        except BrowserMissingError as missing:
            print(f"The tests of the pages in a browser will be skipped: {missing}")  # noqa: T201


if __name__ == "__main__":
    if sys.argv[1:] == ["--ready"]:
        make_ready()
    else:
        main(Path(sys.argv[1]), sys.argv[2:] or PAGES)
