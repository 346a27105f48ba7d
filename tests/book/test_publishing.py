"""The repository's address: set in one place by one command; without it there are no dead links."""

import re

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


def test_without_an_address_there_are_no_links_to_it(root):
    assert publishing.address(root) == publishing.tree(root) == ""
    config = yaml.safe_load(CONFIG)
    publishing.remove_unset_links(config)
    assert config == {"html": dict.fromkeys(publishing.BUTTONS, False) | {"other": 1}}
    assert publishing.fill_address(TEXT, "") == "a\nb\n"
    name = '<code class="docutils literal notranslate">a_<wbr>b.py::<wbr>c</code>'
    assert records.test_link("tests/a_b.py::c", "") == name


def test_one_command_sets_it(root):
    url = "https://github.com/someone/topk"
    publishing.publish_at("https://example.org/first/name", root)
    publishing.publish_at(url, root)
    assert (root / "_config.yml").read_text() == CONFIG.replace("url:\n", f"url: {url}\n", 1)
    assert publishing.address(root) == url and publishing.tree(root) == f"{url}/blob/main"
    config = yaml.safe_load((root / "_config.yml").read_text())
    publishing.remove_unset_links(config)
    assert config["repository"]["url"] == url and "launch_buttons" in config
    assert publishing.fill_address(TEXT, url) == f"a\nclone {url}, see https://someone.github.io/topk\nb\n"
    link = records.test_link("tests/a.py::b", publishing.tree(root))
    assert link.startswith("[<code ") and link.endswith(f"]({url}/blob/main/tests/a.py)")


@pytest.mark.parametrize("url", ["", "github.com/a/b", "https://github.com/a", "https://x/a/b.git",
                                 "https://github.com/a/b/", "https://github.com/a/b c"])
def test_an_invalid_address_is_refused(url, root):
    with pytest.raises(SystemExit, match="form"):
        publishing.publish_at(url, root)
    assert (root / "_config.yml").read_text() == CONFIG


WORKFLOWS = sorted((publishing.ROOT / ".github/workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_has_no_more_rights_than_it_needs(path):
    """Actions are pinned to commits, keep no credentials, and write only where needed."""
    text = path.read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {"contents": "read"}
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    used = [step for step in steps if "uses" in step]
    assert used and all(re.search(r"@[0-9a-f]{40}$", step["uses"]) for step in used)
    copies = [step for step in used if step["uses"].startswith("actions/checkout@")]
    assert copies and all(step["with"]["persist-credentials"] is False for step in copies)
    lines = [line for step in steps for line in step.get("run", "").splitlines()]
    assert path.stem == "book" or not [line for line in lines if "${{" in line]
    assert all("timeout-minutes" in job for job in workflow["jobs"].values()) or path.stem == "book"


def test_a_release_is_published_after_its_tests_without_a_password():
    (path,) = [path for path in WORKFLOWS if path.stem == "release"]
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    build, publish, announce = (workflow["jobs"][x] for x in ("build", "publish", "announce"))
    assert publish["needs"] == "build" and announce["needs"] == "publish"
    assert publish["permissions"] == {"id-token": "write"} and "environment" in publish
    ran = " ".join(step.get("run", "") for step in build["steps"])
    assert ran.index("--notes") < ran.index("make test") < ran.index("make dist")
    assert "password" not in path.read_text(encoding="utf-8").replace("without a\n# password", "")
    targets = (publishing.ROOT / "Makefile").read_text(encoding="utf-8")
    assert all(f"\n{name}:" in targets for name in re.findall(r"make (\w+)", ran))
