"""Make the pages of the site light, and keep their text where it is while they load.

The theme loads 1.5 MB of icons as a script, of which a page shows some twenty, and reads every
script before it shows anything. Here the icons become a font of those that the site shows, and
scripts wait until the page has been read. Images say their size and formulas about theirs, so that
text does not move when they arrive.
"""

from __future__ import annotations

import base64
import html
import io
import re
import shutil
from importlib.metadata import distribution
from pathlib import Path
from urllib.parse import unquote

from fontTools import subset
from fontTools.ttLib import TTFont
from PIL import Image

FONTS = {"Free": ("fa-solid-900.ttf", 900), "Brands": ("fa-brands-400.ttf", 400)}
GLYPHS = re.compile(r'((?:\.fa-[\w-]+:+before,?)+)\{content:"\\([0-9a-f]+)"\}')  # names, their code
MATHJAX = ("tex-chtml-full.js", "tex-svg-full.js")  # over HTTP, and from a file; see load.js
UNUSED = ("_static/vendor/fontawesome", "_static/scripts/fontawesome.js", "searchindex.js",
          "_static/searchtools.js", "_static/language_data.js")
HEAVY = re.compile(r'\s*<script[^>]* src="[^"]*'
                   r'(?:fontawesome|searchindex|searchtools|language_data)\.js[^"]*"[^>]*></script>')
# Not the options, which scripts inside the page read.
PLAIN_SCRIPT = re.compile(r'<script src="(?!(?:\.\./)*_static/documentation_options)')
PART = r"\s*(\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}|\\[A-Za-z]+|.)"
FRACTION = re.compile(r"\\[dt]?frac" + PART + PART, re.S)
FORMULA = re.compile(r'<(div|span) class="math notranslate nohighlight"([^>]*)>(.*?)</\1>', re.S)
IMAGE = re.compile(r'<img (?![^>]*\bwidth=)([^>]*\bsrc="([^":]+\.png)"[^>]*)>')


def copy_mathjax(folder: Path) -> None:
    """Copy what the site needs of MathJax, so that formulas need no network."""
    wanted = {*MATHJAX}
    for file in distribution("sphinx-mathjax-offline").files or ():
        parts = file.parts
        if file.name in wanted or (file.suffix == ".woff" and "chtml" in parts):
            target = folder.joinpath(*parts[parts.index("mathjax") + 1 :])
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file.locate(), target)
            wanted.discard(file.name)
    if wanted:
        raise SystemExit(f"sphinx-mathjax-offline has no {', '.join(sorted(wanted))}")


def lighten(site: Path) -> None:
    """Change every page of the site, and remove what no page loads any more."""
    pages = {path: path.read_text(encoding="utf-8") for path in sorted(site.rglob("*.html"))}
    write_icons(site, pages.values())
    sizes: dict[Path, str] = {}
    for path, text in pages.items():
        text = PLAIN_SCRIPT.sub('<script defer src="', HEAVY.sub("", text))
        text = FORMULA.sub(with_place, text)
        text = IMAGE.sub(lambda found, here=path: sized(found, here.parent, sizes), text)
        path.write_text(text, encoding="utf-8")
    for name in UNUSED:
        path = site / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    style = site / "_static/styles/pydata-sphinx-theme.css"
    text = style.read_text(encoding="utf-8")
    style.write_text(re.sub(r"@font-face\{[^}]*fontawesome[^}]*\}", "", text), encoding="utf-8")


def write_icons(site: Path, pages) -> None:
    """Add the icons that the pages show to the site's style sheet, as fonts."""
    theme = site / "_static/styles/pydata-sphinx-theme.css"
    codes = {name: code for names, code in GLYPHS.findall(theme.read_text(encoding="utf-8"))
             for name in re.findall(r"fa-[\w-]+", names)}
    styles = [path.read_text(encoding="utf-8") for path in sorted(site.glob("_static/**/*.css"))]
    used = {name for text in pages for name in re.findall(r"\bfa-[\w-]+", text)}
    wanted = {int(codes[name], 16) for name in used & codes.keys()}
    for style in (GLYPHS.sub("", style) for style in styles):  # as a code, or as the character
        wanted |= {int(code, 16) for code in re.findall(r'"\\(f[0-9a-f]{3})"', style)}
        wanted |= {ord(character) for character in re.findall("[\ue000-\uf8ff]", style)}
    rules = []
    for family, (file, weight) in FONTS.items():
        font = TTFont(site / "_static/vendor/fontawesome/webfonts" / file)
        if not wanted & font.getBestCmap().keys():
            continue
        chosen = subset.Subsetter(subset.Options(notdef_outline=True))
        chosen.populate(unicodes=wanted)
        chosen.subset(font)
        font.flavor, found = "woff", io.BytesIO()
        font.save(found)
        data = base64.b64encode(found.getvalue()).decode()
        source = f"url(data:font/woff;base64,{data}) format('woff')"
        rules.append(f'@font-face {{ font-family: "Font Awesome 6 {family}"; '
                     f"font-weight: {weight};\n  src: {source}; }}\n")
    style = site / "_static/topk.css"
    style.write_text("".join(rules) + style.read_text(encoding="utf-8"), encoding="utf-8")


def sized(found: re.Match[str], folder: Path, sizes: dict[Path, str]) -> str:
    """Return the tag of an image with its width and height in pixels."""
    path = (folder / unquote(found[2])).resolve()
    if path not in sizes:
        with Image.open(path) as image:
            sizes[path] = 'width="{}" height="{}"'.format(*image.size)
    return f"<img {sizes[path]} {found[1]}>"


def with_place(found: re.Match[str]) -> str:
    """Return a formula that says about how wide it will be in its line, or how high by itself."""
    kind, attributes, content = found.groups()
    tex = re.sub("<[^>]*>", "", html.unescape(content))
    if kind == "span":
        place = f"--width:{width(tex):.1f}em;--height:{1.9 if 'frac' in tex else 1.2}em"
    else:
        place = f"--height:{height(tex):.1f}em"
    attributes = f'class="math notranslate nohighlight"{attributes} style="{place}"'
    return f"<{kind} {attributes}>{content}</{kind}>"


def width(tex: str) -> float:
    """Estimate the width of a formula, in em of the text around it: more for a relation."""
    while (found := FRACTION.search(tex)):
        tex = tex[: found.start()] + max(found[1], found[2], key=len) + tex[found.end() :]
    tex = re.sub(r"\\(?:[,;:! ]|big|Big|left|right|math\w+|text|quad)|[{}$&~]|\\[()\[\]]", "", tex)
    relations = len(re.findall(r"\\(?:le|ge|to|in|ne|sim|approx)\b|[=<>+]", tex))
    tokens = re.findall(r"([_^]?)(\\[A-Za-z]+|[^\s_^\\])", tex)
    return sum(map(letter, tokens)) + 0.7 * relations


def letter(token: tuple[str, str]) -> float:
    """Estimate the width of a letter or a named function, in em; less in an index."""
    small, name = token
    letters = len(name) - 1 if name[1:] in ("ln", "log", "max", "min", "exp", "Pr", "quad") else 1
    return letters * (0.45 if small else 0.66)


def height(tex: str) -> float:
    """Estimate the height of a displayed formula, in em: its rows, which fractions make higher."""
    rows = re.split(r"\\\\(?![A-Za-z])", tex)
    high = re.compile(r"\\[dt]?frac|\\sum|\\prod|\\int|\\max_|\\min_|\\binom")
    return sum(3.2 if high.search(row) else 1.9 for row in rows) + 2.4
