"""Chromium, for the tests of the site and of the panel in which a reader plays."""

import os
from pathlib import Path

import pytest

CHROMIUM = os.environ.get("TOPK_CHROMIUM", "/usr/bin/chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]
FLAGS += ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]  # reaches this machine only


@pytest.fixture(scope="module")
def browser():
    """Start Chromium; without it there is nothing to test, unless CI asks for it."""
    if not Path(CHROMIUM).exists() and not os.environ.get("TOPK_SITE_REQUIRED"):
        pytest.skip("no Chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


def opened(browser, **options):
    """Open a window whose waits end, but not because the machine is busy."""
    context = browser.new_context(**options)
    context.set_default_timeout(120_000)
    yield context
    context.close()


@pytest.fixture(scope="module")
def window(browser):
    """A window for pages that leave nothing behind; they share what the browser has cached."""
    yield from opened(browser)


@pytest.fixture
def own_window(browser):
    """A window for one test.

    A clock that stands still does so in all pages of a window, and a search has the next page of
    its window mark the words.
    """
    yield from opened(browser)


@pytest.fixture
def plain_window(browser):
    """A window in which no script runs."""
    yield from opened(browser, java_script_enabled=False)
