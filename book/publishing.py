"""The repository's address, ``repository: url`` in ``_config.yml``, and the texts that contain it.

MyST substitutes values, but leaves the paragraph or the button around a missing one: here these go.

python -m book.publishing https://github.com/owner/name   sets the address for every page
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
OTHERWISE = re.compile(r"<!-- unpublished -->\n(.*?)<!-- /unpublished -->\n", re.S)


def address(root: Path) -> str:
    """Return the address of the repository, or "" if none is set."""
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    return config["repository"].get("url") or ""


def tree(root: Path) -> str:
    """Return the address of the repository's files, or "" if none is set."""
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))["repository"]
    return f"{config['url']}/blob/{config['branch']}" if config.get("url") else ""


def remove_unset_links(config: dict) -> None:
    """Remove the buttons that need an address from a configuration without one."""
    if not config["repository"].get("url"):
        del config["repository"], config["launch_buttons"]
        config["html"] |= dict.fromkeys(BUTTONS, False)


def fill_address(text: str, url: str) -> str:
    """Insert the address into the marked blocks of a page, or remove them if there is none.

    Blocks that are marked as *unpublished* stay where there is no address, and only there.
    """
    text = OTHERWISE.sub("" if url else r"\1", text)
    if not url:
        return BLOCK.sub("", text)
    host, owner, name = URL.fullmatch(url).groups()
    site = f"https://{owner}.github.io/{name}" if host == "github.com" else f"https://{host}"
    return BLOCK.sub(lambda m: m[1].replace("{repository}", url).replace("{site}", site), text)


def publish_at(url: str, root: Path = ROOT) -> None:
    """Set the address in ``_config.yml``."""
    if not URL.fullmatch(url) or url.endswith(".git"):
        raise SystemExit(f"{url!r} is not of the form https://github.com/owner/name")
    path = root / "_config.yml"
    text = path.read_text(encoding="utf-8")
    write_atomic(path, re.sub(r"^  url:.*$", f"  url: {url}", text, count=1, flags=re.M))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    publish_at(sys.argv[1])
