"""Where the repository is published, if it is: ``repository: url`` of ``_config.yml`` says it.

python -m book.publishing https://github.com/owner/name   sets it for every page
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import yaml

from book.execution import write_atomic

ROOT = Path(__file__).resolve().parent.parent
URL = re.compile(r"https://(?P<host>[\w.-]+)/(?P<owner>[\w.-]+)/(?P<name>[\w.-]+)")
BUTTONS = ("use_repository_button", "use_edit_page_button", "use_issues_button")
BLOCK = re.compile(r"<!-- published -->\n(.*?)<!-- /published -->\n", re.S)


def address(root: Path) -> str:
    """Return the address of the repository, or nothing where it has none yet."""
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    return config["repository"].get("url") or ""


def tree(root: Path) -> str:
    """Return the address under which the repository's files can be read, or nothing."""
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))["repository"]
    return f"{config['url']}/blob/{config['branch']}" if config.get("url") else ""


def configure(config: dict) -> None:
    """Take out of a configuration without an address every button that needs one."""
    if not config["repository"].get("url"):
        del config["repository"], config["launch_buttons"]
        config["html"] |= dict.fromkeys(BUTTONS, False)


def fill(text: str, url: str) -> str:
    """Fill the address into what a page says between the marks, or leave that out without one."""
    if not url:
        return BLOCK.sub("", text)
    host, owner, name = URL.fullmatch(url).groups()
    site = f"https://{owner}.github.io/{name}" if host == "github.com" else f"https://{host}"
    return BLOCK.sub(lambda m: m[1].replace("{repository}", url).replace("{site}", site), text)


def publish_at(url: str, root: Path = ROOT) -> None:
    """Set the address."""
    if not URL.fullmatch(url) or url.endswith(".git"):
        raise SystemExit(f"{url!r} is not of the form https://github.com/owner/name")
    path = root / "_config.yml"
    text = path.read_text(encoding="utf-8")
    write_atomic(path, re.sub(r"^  url:.*$", f"  url: {url}", text, count=1, flags=re.M))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    publish_at(sys.argv[1])
