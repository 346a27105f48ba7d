"""Find the code that a page can run, from its imports, so that no other change executes it again.

No tool does this for a package whose public names are loaded lazily, from a stub: the stub says
which module has a name.  Modules are read, never imported.  What is not understood counts as used:
a page that passes ``topk`` on, as in ``getattr(topk, name)``, uses every public name, and one that
does not parse, or starts a program by the package's name, uses every module.

`topk.store` leaves out whole parts of the library, since they decide nothing about a run.  Here
they count where a page imports them: hardness measures and plots are what pages show.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import jupytext
import nbformat

from topk_book import SHARED_MODULES

PACKAGES = {"topk": "topk", "topk_eval": "topk_eval", "topk_book": "book/topk_book"}
DATA = {".csv", ".mplstyle"}
# A page that calls one of these shows the text of its arguments, with comments and docstrings.
SHOWING = {"getdoc", "getsource", "getsourcelines", "help", "rule_of"}
DYNAMIC = {"__import__", "eval", "exec", "import_module", "run_module", "run_path"}
DOTTED = re.compile(r"\btopk\w*(?:\.\w+)+")
PROGRAM = re.compile(r"topk(?:_eval)?(?:\s|$)|.*(?:\bfrom\s+|-m\s*)topk", re.S)


class Code:
    """Code without docstrings: the names that it imports and uses, its words and its strings."""

    def __init__(self, text: str, package: str = ""):
        self.tree = ast.parse(text)
        nodes = [*_walk(self.tree)]
        self.bound = _bound(nodes, package)
        if "typer" not in self.bound:  # which shows docstrings as the help of a program
            _remove_docstrings(nodes)
        self.used, self.values = _used(nodes, self.bound, package)
        self.words = {getattr(node, "attr", getattr(node, "id", "")) for node in nodes}
        self.strings = {node.value for node in nodes
                        if isinstance(node, ast.Constant) and isinstance(node.value, str)}
        self.calls = [node for node in nodes if isinstance(node, ast.Call)]
        self.definitions = {node.name for node in nodes
                            if isinstance(node, ast.FunctionDef | ast.ClassDef)}

    @functools.cached_property
    def digest(self) -> str:
        """Return a hash of the code, without comments and docstrings."""
        return _hash(ast.dump(self.tree, annotate_fields=False))


code = functools.cache(Code)  # a text is parsed once


@functools.cache
def notebook_of(source: str) -> nbformat.NotebookNode:
    """Return a page as a notebook, parsed once: all who ask share it, so nobody may change it."""
    return jupytext.reads(source, fmt="md:myst")


@functools.cache
def code_of(source: str) -> Code | None:
    """Return the code of a page, or None if it is not plain Python."""
    cells = notebook_of(source).cells
    try:
        return Code("\n".join(cell.source for cell in cells if cell.cell_type == "code"))
    except SyntaxError:
        return None


class Library:
    """The modules of the packages below a folder, by name."""

    def __init__(self, root: Path):
        self.modules: dict[str, Code] = {}
        self.texts: dict[str, str] = {}
        self.stubs: dict[str, dict[str, str]] = {}  # package -> public name -> full name
        data = []
        for package, place in PACKAGES.items():
            for path in (root / place).rglob("*.*"):
                parts = (package, *path.relative_to(root / place).with_suffix("").parts)
                name = ".".join(parts).removesuffix(".__init__")
                if path.suffix == ".py":
                    inside = name if path.stem == "__init__" else name.rpartition(".")[0]
                    self.texts[name] = path.read_text(encoding="utf-8")
                    self.modules[name] = code(self.texts[name], inside)
                elif path.name == "__init__.pyi":
                    public = code(path.read_text(encoding="utf-8"), name).bound
                    self.stubs[name] = {own: full for own, (full,) in public.items()}
                elif path.suffix in DATA:
                    data.append(path)
        self.data = files_digest(data, root)
        # A package used as a value is not followed here: a test lists who does so, and why.
        self.imports = {name: self._found({name, *own.used, *own.values, *_full(own.strings)})
                        for name, own in self.modules.items()}

    def digest(self, source: str) -> str:
        """Hash what a page depends on: code without docstrings, shown texts, and all data files."""
        page = code_of(source)
        modules = self.reached(page)
        lines = [f"{name} {self.modules[name].digest}" for name in modules]
        lines += [f"{name} {_hash(self.texts[name])}" for name in self.shown(page)]
        lines += [f"{package}.{name} {full}" for package, names in self.stubs.items()
                  for name, full in names.items() if full.rpartition(".")[0] in modules]
        return _hash("\n".join([self.data, *sorted(lines)]))

    def reached(self, page: Code | None) -> set[str]:
        """Return the modules of which a page can run code."""
        if page is None or DYNAMIC & page.words or any(map(PROGRAM.match, page.strings)):
            return {*self.modules}
        said = {name for text in page.strings for name in DOTTED.findall(text)}
        # What is done with a value is not known; a public name in a string may be looked up.
        values = {f"{name}.*" for name in page.values | said}
        public = {full for names in self.stubs.values() for name, full in names.items()
                  if name in page.strings}
        return self.closure(page.used | values | public)

    def closure(self, names: set[str], without: tuple[str, ...] = ()) -> set[str]:
        """Return the modules of names and all that these import, but through none of `without`."""
        found: set[str] = set()
        new = self._found(names)
        while new:
            found |= new
            new = {module for one in new for module in self.imports[one]
                   if not (without and module.startswith(without))} - found
        return found

    def shown(self, page: Code | None) -> set[str]:
        """Return the modules of which a page shows the source or the docstrings."""
        if page is None or "__doc__" in page.words:
            return {*self.modules}
        found: set[str] = set()
        for call in page.calls:
            shows = getattr(call.func, "attr", getattr(call.func, "id", ""))
            if shows not in SHOWING:
                continue
            for argument in call.args:
                if isinstance(argument, ast.Name) and argument.id in page.definitions:
                    continue
                reached = self._found(_full_names(argument, page.bound))
                if not reached:
                    return {*self.modules}
                ends = {module for module in reached
                        if not any(other.startswith(f"{module}.") for other in reached)}
                # `rule_of` shows functions of other modules as well, but of none that is shared.
                found |= self.closure(ends, SHARED_MODULES) if shows == "rule_of" else ends
        return {name for name in found if self.modules[name].definitions}

    def _found(self, names: Iterable[str]) -> set[str]:
        """Return the modules that are loaded for full names, such as ``topk.strategies.SAR``."""
        return {module for name in names for module in self._loaded(name.split("."), set())}

    def _loaded(self, parts: list[str], seen: set[tuple[str, str]]) -> Iterator[str]:
        module = parts[0]
        if module not in self.modules:
            return
        yield module
        for place, part in enumerate(parts[1:], start=1):
            stub, child = self.stubs.get(module, {}), f"{module}.{part}"
            # The name may be a public one, a module, or what the package has imported.
            elsewhere = {*stub.values()} if part == "*" else {stub[part]} if part in stub else set()
            if child not in self.modules:
                elsewhere |= self.modules[module].bound.get(part, set())
            if (module, part) not in seen:  # as it is if a module has the name of its function
                seen.add((module, part))
                for full in elsewhere - {child}:
                    yield from self._loaded([*full.split("."), *parts[place + 1:]], seen)
            if child not in self.modules:
                return
            module = child
            yield module


def _walk(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a tree, each before its parts, without what only type checkers read."""
    nodes = [tree]
    for node in nodes:
        yield node
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            nodes += node.orelse
        else:
            nodes += ast.iter_child_nodes(node)


def _bound(nodes: list[ast.AST], package: str) -> dict[str, set[str]]:
    """Return the names that imports bind, each with its full names."""
    bound: dict[str, set[str]] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for name in node.names:
                full = name.name if name.asname else name.name.partition(".")[0]
                bound.setdefault(name.asname or full, set()).add(full)
        elif isinstance(node, ast.ImportFrom):
            for name in node.names:
                full = f"{_origin(node, package)}.{name.name}"
                bound.setdefault(name.asname or name.name, set()).add(full)
    return bound


def _origin(node: ast.ImportFrom, package: str) -> str:
    """Return the full name of the module from which names are imported."""
    above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
    return ".".join([*above, *filter(None, [node.module])])


def _used(nodes: list[ast.AST], bound: dict[str, set[str]], package: str):
    """Return the full names that code imports, and those that it uses as a value."""
    used, values, bases = set(), set(), set()
    for node in nodes:
        if isinstance(node, ast.Import):
            used |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            used |= {f"{_origin(node, package)}.{name.name}" for name in node.names}
        elif isinstance(node, ast.Attribute | ast.Name) and node not in bases:
            values |= _full_names(node, bound)
            while isinstance(node, ast.Attribute):
                node = node.value
                bases.add(node)
    return used, values


def _full_names(node: ast.AST, bound: dict[str, set[str]]) -> set[str]:
    """Return the full names of an expression such as ``plots.BLUE``, if an import bound it."""
    rest = ""
    while isinstance(node, ast.Attribute):
        node, rest = node.value, f".{node.attr}{rest}"
    names = bound.get(node.id, set()) if isinstance(node, ast.Name) else set()
    return {f"{name}{rest}" for name in names}


def _full(strings: set[str]) -> set[str]:
    """Return the strings that are full names of the library."""
    return {text for text in strings if DOTTED.fullmatch(text)}


def _remove_docstrings(nodes: list[ast.AST]) -> None:
    """Remove the docstrings from modules, classes and functions, and from the list of nodes."""
    removed = set()
    for node in nodes:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if ast.get_docstring(node, clean=False) is not None:
                removed |= {node.body[0], node.body[0].value}
                node.body = node.body[1:] or [ast.Pass()]
    nodes[:] = [node for node in nodes if node not in removed]


def _hash(text: str) -> str:
    """Return the digest of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def files_digest(files: Iterable[Path], folder: Path, known: str = "") -> str:
    """Hash the paths, relative to a folder, and the contents of files, and the text `known`."""
    found = hashlib.sha256(known.encode())
    for path in sorted(files):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        found.update(f"{path.relative_to(folder).as_posix()} {content}\n".encode())
    return found.hexdigest()
