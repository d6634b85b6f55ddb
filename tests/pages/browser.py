"""A real browser for tests of pages: Debian's Chromium, headless, driven by Selenium; tests skip where it is not."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_WAIT = 60.0


def need_browser() -> tuple[str, str]:
    """The programs, or a reason why the test is skipped."""
    pytest.importorskip("selenium", reason="selenium drives the browser (extra: dev)")
    found = [shutil.which(name) for name in ("chromium", "chromedriver")]
    if not all(found):
        pytest.skip("no chromium and chromedriver on this machine (Debian: apt-get install chromium chromium-driver)")
    return str(found[0]), str(found[1])


@contextmanager
def browser(profile: Path, width: int = 1280, height: int = 900, *flags: str) -> Iterator[Any]:
    """A driver; what the page asks of any other place and what it complains of is in its logs."""
    chromium, driver = need_browser()
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    quiet = ("disable-gpu", "no-first-run", "disable-background-networking", "disable-component-update", "disable-sync")
    size = f"window-size={width},{height}"
    for flag in ("headless=new", "no-sandbox", *quiet, size, f"user-data-dir={profile}", *flags):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    made = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield made
    finally:
        made.quit()


def wait(driver: Any, script: str) -> Any:
    """What a script returns, once that is true; the page works while one waits."""
    end = time.monotonic() + _WAIT
    while time.monotonic() < end:
        found = driver.execute_script(f"return {script}")
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"after {_WAIT:g} s there is still no {script}")


def show(driver: Any, path: Path, more: str = "") -> None:
    """Open a page from its file and wait until its script is done."""
    for log in ("browser", "performance"):  # what was before
        driver.get_log(log)
    driver.get("about:blank")
    driver.get(path.as_uri() + more)
    wait(driver, "'ready' in document.body.dataset")


def complaints(driver: Any) -> list[str]:
    """What stands in the console."""
    return [entry["message"] for entry in driver.get_log("browser")]


def requests(driver: Any) -> list[str]:
    """Addresses that were asked for, but for the file itself and what the page made."""
    sent = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    asked = [each["params"]["request"]["url"] for each in sent if each["method"] == "Network.requestWillBeSent"]
    return [address for address in asked if not address.startswith(("file:", "blob:", "data:", "chrome:"))]
