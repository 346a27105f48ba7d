"""The settings of ``_config.yml`` for plain Sphinx, without Jupyter Book; see `book.rendering`.

Jupyter Book 1 is in maintenance and holds Sphinx at 7.4. Every week a workflow renders the executed
pages with the newest versions, so that it is known whether this way out is open.
"""

from pathlib import Path

import yaml

_config = yaml.safe_load(Path(__file__).with_name("_config.yml").read_text(encoding="utf-8"))
globals().update(_config["sphinx"]["config"])

project = html_title = _config["title"]
author, copyright = _config["author"], _config["copyright"]
extensions = [x for x in _config["sphinx"]["config"]["extensions"] if x != "jupyter_book"]
external_toc_path, external_toc_exclude_missing = "book/_toc.yml", True
html_theme, html_favicon = "sphinx_book_theme", _config["html"]["favicon"]
# What Jupyter Book sets by itself.
html_theme_options = {"home_page_in_toc": False, "use_download_button": True,
                      **_config["sphinx"]["config"]["html_theme_options"]}
myst_enable_extensions = _config["parse"]["myst_enable_extensions"]
myst_url_schemes = ["mailto", "http", "https"]
nb_execution_mode = "off"
suppress_warnings = ["myst.domains"]
