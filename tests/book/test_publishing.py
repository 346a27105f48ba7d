"""The repository's address: in one place, set by one command, and nothing dead without it."""

import pytest
import yaml

from book import publishing, records

CONFIG = """\
# Where it is.
repository:
  url:
  branch: main
launch_buttons: {colab_url: x}
html: {use_repository_button: true, use_edit_page_button: true, use_issues_button: true, other: 1}
"""
TEXT = "a\n<!-- published -->\nclone {repository}, see {site}\n<!-- /published -->\nb\n"


@pytest.fixture
def root(tmp_path):
    (tmp_path / "_config.yml").write_text(CONFIG)
    return tmp_path


def test_without_an_address_nothing_needs_one(root):
    assert publishing.address(root) == publishing.tree(root) == ""
    config = yaml.safe_load(CONFIG)
    publishing.configure(config)
    assert config == {"html": dict.fromkeys(publishing.BUTTONS, False) | {"other": 1}}
    assert publishing.fill(TEXT, "") == "a\nb\n"
    name = '<code class="docutils literal notranslate">a_<wbr>b.py::<wbr>c</code>'
    assert records.test_link("tests/a_b.py::c", "") == name


def test_one_command_sets_it(root):
    url = "https://github.com/someone/topk"
    publishing.publish_at("https://example.org/first/name", root)
    publishing.publish_at(url, root)
    assert (root / "_config.yml").read_text() == CONFIG.replace("url:\n", f"url: {url}\n", 1)
    assert publishing.address(root) == url and publishing.tree(root) == f"{url}/blob/main"
    config = yaml.safe_load((root / "_config.yml").read_text())
    publishing.configure(config)
    assert config["repository"]["url"] == url and "launch_buttons" in config
    assert publishing.fill(TEXT, url) == f"a\nclone {url}, see https://someone.github.io/topk\nb\n"
    link = records.test_link("tests/a.py::b", publishing.tree(root))
    assert link.startswith("[<code ") and link.endswith(f"]({url}/blob/main/tests/a.py)")


@pytest.mark.parametrize("url", ["", "github.com/a/b", "https://github.com/a", "https://x/a/b.git",
                                 "https://github.com/a/b/", "https://github.com/a/b c"])
def test_what_is_no_address_is_refused(url, root):
    with pytest.raises(SystemExit, match="form"):
        publishing.publish_at(url, root)
    assert (root / "_config.yml").read_text() == CONFIG
