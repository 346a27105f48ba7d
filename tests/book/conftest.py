"""Chromium fixtures, for the tests of the site and of the interactive panel."""

import os
from pathlib import Path

import pytest

CHROMIUM = os.environ.get("TOPK_CHROMIUM", "/usr/bin/chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]
FLAGS += ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]  # reaches this machine only


@pytest.fixture(scope="module")
def browser():
    """Start Chromium; skip the tests without it, unless CI requires it."""
    if not Path(CHROMIUM).exists() and not os.environ.get("TOPK_SITE_REQUIRED"):
        pytest.skip("no Chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


def opened(browser, **options):
    """Open a browser context with a timeout long enough for a busy machine."""
    context = browser.new_context(**options)
    context.set_default_timeout(300_000)
    yield context
    context.close()


@pytest.fixture(scope="module")
def window(browser):
    """A browser context shared by pages that do not change it."""
    yield from opened(browser)


@pytest.fixture
def own_window(browser):
    """A browser context for one test.

    A clock that stands still does so in all pages of a window, and a search has the next page of
    its window mark the words.
    """
    yield from opened(browser)


@pytest.fixture
def plain_window(browser):
    """A browser context without scripts."""
    yield from opened(browser, java_script_enabled=False)
