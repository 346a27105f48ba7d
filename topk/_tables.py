"""The one door for labelled data: names, columns of numbers, tables, and the joining of labels.

All that takes a table goes through here.  Tables are pandas DataFrames (nullable, Arrow and object
columns included), polars DataFrames or pyarrow Tables:

* `as_labels`: names as a list of Python values, from whatever holds them in an order;
* `joined`: columns of numbers in the order of common labels, or a refusal; labels are never
  ignored;
* `read_tidy`: a table with one row per result, as lists of labels and arrays of numbers;
* `read_wide`: a table with one row per model, as a matrix with the names of models and items.

Numbers from array-likes and columns are `topk._checks.as_numbers`, which names the place of the
first entry that is none.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topk._checks import (
    Where,
    Words,
    as_numbers,
    as_objects,
    entry,
    in_words,
    is_absent,
    refuse,
    shortened,
)
from topk._types import Floats, Integers
from topk._warnings import TopkWarning

TABLE = "a pandas or polars DataFrame, or a pyarrow Table"
MANY = 20  # rows of models from which a table may be transposed
MODEL = "model"  # the column that names the models of a wide table
WHOLE = re.compile(r"([-+]?)0*(\d+)(?:\.0*)?")  # its sign, and its digits after zeros
VARIANTS = {*map(chr, range(0xFE00, 0xFE10))}  # selectors of a form of the letter before
NAMELESS = re.compile(r"|Unnamed: \d+")  # columns without names in a CSV file
TALL = 3  # times as many rows as columns, from which it probably is


def is_series(values: Any) -> bool:
    """Return whether values are a pandas Series, which has labels."""
    return hasattr(values, "index") and hasattr(values, "iloc") and np.ndim(values) == 1


def is_table(values: Any) -> bool:
    """Return whether values are a data frame: pandas, polars, pyarrow or of the same kind."""
    kinds = ("collect", "columns", "column_names")
    return not isinstance(values, type) and any(hasattr(values, kind) for kind in kinds)


def numbers_rows(values: Any) -> bool:
    """Return whether values are a pandas Series with the index that pandas gives to rows."""
    return is_series(values) and _labels(values.index) is None


def labels_of(values: Any) -> list[Any] | None:
    """Return the labels of the entries of a dict, a pandas Series or an array of xarray, or None.

    An array of xarray without coordinates has no labels.
    """
    if isinstance(values, Mapping):
        return list(values)
    index = values.index if is_series(values) else _coordinates(values)
    return None if index is None else index.tolist()


def _coordinates(values):
    """Return the index of a vector of xarray; None if it has none, or is none."""
    dims: Any = getattr(values, "dims", ())
    return values.indexes.get(dims[0]) if len(dims) == 1 and hasattr(values, "indexes") else None


def reading(label: Any) -> str:
    """Return a label without case, blanks, forms of letters and dashes, and what is not seen.

    Whole numbers read alike with other zeros, 07, 7 and 7.0, but 1.1 and 1.10 may be versions.
    """
    text = str(label)
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        kinds = zip(text, map(unicodedata.category, text), strict=True)
        text = "".join("-" if kind == "Pd" else letter for letter, kind in kinds
                       if kind != "Cf" and letter not in VARIANTS)
    text = "".join(text.casefold().split())
    if number := WHOLE.fullmatch(text):
        text = "{}{}".format(*number.groups())
    return text


def told_alike(noun: str, labels: Sequence[Any]) -> str | None:
    """Return a note on different labels that read alike, as 7 and 7.0; None if there are none."""
    first: dict[str, Any] = {}
    pairs = [(other, label) for label in labels
             if (other := first.setdefault(reading(label), label)) != label]
    if not pairs:
        return None
    more = f" ({len(pairs):,} such pairs)" if len(pairs) > 1 else ""
    one, other = map(in_words, pairs[0])
    return f"{one} and {other} read alike and are different {noun}{more}; write one name if they " \
           "are one"


def warn_of_alike(noun: str, labels: Sequence[Any], stacklevel: int = 3) -> None:
    """Warn of different names that read alike."""
    if (told := told_alike(noun, labels)) is not None:
        warnings.warn(told, TopkWarning, stacklevel=stacklevel)


def as_labels(values: Any, name: str, allowed: str) -> list[Any]:
    """Return names as a list of Python values, in their order; refuse a set, which has none.

    Parameters
    ----------
    values : iterable
        A list, array, dict (its keys), generator, pandas Index or Series, polars Series or pyarrow
        array.
    name, allowed : str
        Name of the parameter and its allowed values, for the message.
    """
    if isinstance(values, set | frozenset):
        refuse(name, values, f"{allowed}, in an order: a set has none, use a list")
    if is_table(values) and getattr(values, "ndim", 2) > 1:
        module = type(values).__module__.partition(".")[0]
        refuse(name, f"a {module} {type(values).__name__}", allowed)
    alone = isinstance(values, str | bytes) or getattr(values, "ndim", 1) == 0
    if alone or not isinstance(values, Iterable):
        refuse(name, values, allowed)
    methods = [] if isinstance(values, Mapping) else ["tolist", "to_pylist", "to_list"]
    method = next((method for method in methods if hasattr(values, method)), None)
    labels = list(values if method is None else getattr(values, method)())
    check_text(labels, name)
    return labels


def check_text(labels: Iterable[Any], name: str, where: Where = entry) -> None:
    """Refuse text with half of a letter (a surrogate alone), which no file can hold."""
    for place, label in enumerate(labels):
        if isinstance(label, str) and not label.isascii():
            try:
                label.encode()
            except UnicodeEncodeError:
                refuse(name, label, "text that UTF-8 can encode", where(place))


def joined(**given: Any) -> list[Any]:
    """Return columns of numbers in the order of the labels of the first one that has labels.

    Parameters
    ----------
    **given
        Name of the parameter = its values.  Values without labels (lists, arrays, polars and
        pyarrow columns) and None are returned as they are.

    Returns
    -------
    list
        The values, in the order of the parameters; those with labels as arrays.

    Raises
    ------
    ValueError
        If two of them have different labels, or the same in another order and some twice.
    """
    labelled = [(name, its) for name, x in given.items() if (its := labels_of(x)) is not None]
    for name, its in labelled:
        first, wanted = labelled[0]
        values = given[name]
        array = np.asarray(list(values.values()) if isinstance(values, Mapping) else values)
        if array.dtype.kind in "US":  # a text among numbers
            array = as_objects([*values.values()] if isinstance(values, Mapping) else values)
        given[name] = array if its == wanted else array[places_of(wanted, its, first, name)]
    return list(given.values())


def joined_series(**given: Any) -> list[Any]:
    """Return columns of any values, as `joined` does if at least two of them are pandas Series."""
    several = sum(map(is_series, given.values())) > 1
    return joined(**given) if several else list(given.values())


def joined_columns(**given: Any) -> list[Any]:
    """Return arguments of any kind, as `joined` does if at least two of them have labels."""
    several = sum(labels_of(x) is not None for x in given.values()) > 1
    return joined(**given) if several else list(given.values())


def joined_to(names: Sequence[Any], param: str, /, **given: Any) -> list[Any]:
    """Return columns of numbers in the order of names that are given beside them.

    Parameters
    ----------
    names : sequence
        The name or number of each entry.
    param : str
        Name of the parameter with the names.
    **given
        As in `joined`.

    Returns
    -------
    list
        The values, joined if they have labels.  The index that pandas gives to rows, 0, 1, 2, ...
        without a name, is no label.

    Raises
    ------
    ValueError
        If the labels are not those of ``names``, or are integers in another order, which could be
        either the names or the numbers of rows.
    """
    first, labels = next(((x, its) for x, y in given.items() if (its := labels_of(y)) is not None),
                         ("", None))
    values = joined(**given)
    if labels is None or labels == list(names) or numbers_rows(given[first]):
        return values
    integers = (int, np.integer)
    if all(isinstance(label, integers) for label in labels) and not _has_name(given[first]):
        if labels == [*range(len(names))] and not any(isinstance(x, integers) for x in names):
            return values
        told = f"the labels of {first} are {param} in another order, or others"
        refuse(first, labels[:3], f"in the order of {param}, or without labels (to_numpy): {told}")
    order = places_of(list(names), labels, param, first)
    return [x if given[name] is None or labels_of(given[name]) is None else x[order]
            for name, x in zip(given, values, strict=True)]


def joined_cells(results: Any, /, name: str = "results", **cells: Any) -> tuple[Any, Any, Any]:
    """Return models, items and results of cells in one order.

    Parameters
    ----------
    results : array_like
        The results.  Their labels may be items, models or pairs of both, in either order, and are
        then joined as in `joined_to`.
    name : str
        Name of the parameter with the results.
    **cells
        The models and the items: name of the parameter = its values.
    """
    first, second, results = joined_series(**cells, **{name: results})
    its = labels_of(results)
    if its is None:
        return first, second, results
    model, item = cells
    first, second = (
        as_labels(x, param, f"made of {param}, in their order")
        if np.iterable(x) and not isinstance(x, str) else [x]
        for param, x in zip(cells, (first, second), strict=True)
    )
    kinds = {(item,): second, (model,): first,
             (model, item): [*zip(first, second, strict=False)],
             (item, model): [*zip(second, first, strict=False)]}
    kind = _kind_of_labels(results, its, kinds, (model, item), name)
    return first, second, joined_to(kinds[kind], " and ".join(kind), **{name: results})[0]


def _kind_of_labels(results, its, kinds, pairs, name):
    """Return what the labels of results are: models, items, or pairs in one of two orders.

    The names of the index, or of the dimension of xarray, say it, such as model and item.
    Otherwise only one kind may fit, but for ``pairs`` of model and item in the order of the cells;
    if none does, it is the kind with most of the labels, so that a refusal names a missing one.
    """
    def singular(words):
        return tuple(str(word).casefold().removesuffix("s") for word in words)

    names = results.index.names if is_series(results) else getattr(results, "dims", ())
    said = singular(names)
    if found := [kind for kind in kinds if singular(kind) == said]:
        return found[0]
    fits = [kind for kind, labels in kinds.items() if Counter(labels) == Counter(its)]
    if kinds[pairs] == its:
        return pairs
    if len({tuple(kinds[kind]) for kind in fits}) > 1:
        told = " or of ".join(" and ".join(kind) for kind in fits)
        refuse(name, Words(f"labels that may be those of {told}"), "a Series whose index has names "
               f"that say what it holds: {' and '.join(pairs)}, or one of them")
    among = {kind: len({*labels} & {*its}) for kind, labels in kinds.items()}
    return max(kinds, key=lambda kind: (kind in fits, among[kind]))


def _has_name(values):
    """Return whether labels are those of an index with a name, as of xarray's coordinates."""
    return not isinstance(values, Mapping) and (
        not is_series(values) or any(name is not None for name in values.index.names))


def places_of(wanted: list[Any], labels: list[Any], param: str, name: str) -> NDArray[np.int64]:
    """Return the places of ``wanted`` among labels; refuse others, and labels that occur twice."""
    places = {label: place for place, label in enumerate(labels)}
    allowed = f"labelled as {param} is, each label once"
    for label in wanted:
        if label not in places:
            twin = next((x for x in labels if reading(x) == reading(label)), None)
            but = "" if twin is None else f", but {in_words(twin)}, which reads alike"
            refuse(name, f"no entry labelled {in_words(label)}, which {param} has{but}", allowed)
    if len(places) < len(labels) or len({*wanted}) < len(wanted):
        refuse(name, "the same labels in another order, some of them twice", allowed)
    if len(wanted) < len(labels):
        known = {*wanted}
        other = next(label for label in labels if label not in known)
        refuse(name, f"an entry labelled {in_words(other)}, which {param} has not", allowed)
    return np.array([places[label] for label in wanted], dtype=np.int64)


def places_among(entries: Any, name: str, values: Any, param: str) -> Any:
    """Return the places of entries among the labels of a Series or dict, in the entries' shape.

    Parameters
    ----------
    entries : array_like
        Labels.  They are returned as they are if ``values`` has no labels, or its labels are the
        places themselves.
    name : str
        Name of the parameter with the entries.
    values, param
        The Series or dict, and the name of its parameter.

    Raises
    ------
    ValueError
        If an entry is no label, or a label occurs twice.
    """
    labels = labels_of(values)
    if labels is None or labels == list(range(len(labels))):
        return entries
    if isinstance(entries, set | frozenset):
        refuse(name, entries, "a list of labels")
    places = {label: place for place, label in enumerate(labels)}
    if len(places) < len(labels):
        refuse(param, "a Series with labels that occur twice", "a Series with different labels")
    given = np.asarray(entries)
    for label in given.ravel().tolist():
        if label not in places:
            refuse(name, label, f"made of labels of {param}, such as {in_words(labels[0])}")
    found = [places[label] for label in given.ravel().tolist()]
    return np.array(found, dtype=np.int64).reshape(given.shape)


def native(table: Any, name: str) -> Any:
    """Return a table as a narwhals DataFrame; refuse what is none."""
    import narwhals

    if hasattr(table, "collect"):
        refuse(name, type(table).__name__, f"{TABLE}; use its collect()")
    try:
        return narwhals.from_native(table, eager_only=True)
    except (TypeError, ValueError) as reason:
        if "unique column names" in str(reason):
            refuse(name, "two columns with one name", "a table with different columns")
        raise ValueError(
            f"{name} must be {TABLE}, got {shortened(in_words(type(table).__name__), 60)}"
        ) from reason


def columns_of(table: Any, name: str) -> list[Any]:
    """Return the names of the columns of a table, in their order."""
    pandas = hasattr(table, "iloc") and hasattr(table, "columns")
    return list(table.columns if pandas else native(table, name).columns)


def row(place: int) -> str:
    """Return the place of a row in words."""
    return f"row {place}, counted from 0"


def read_tidy(
    table: Any,
    labels: Mapping[str, Any],
    numbers: Mapping[str, Any],
    name: str = "frame",
    missing: bool = False,
) -> dict[str, Any]:
    """Read columns of a table with one row per result.

    Parameters
    ----------
    table : pandas or polars DataFrame, or pyarrow Table
        The table.
    labels, numbers : dict
        Parameter -> name of its column; of labels, and of numbers.
    name : str
        The parameter with the table, for messages.
    missing : bool
        Whether a number may be missing, and is then nan.

    Returns
    -------
    dict
        Parameter -> list of Python values for labels, float array for numbers, one entry per row.

    Raises
    ------
    ValueError
        If ``table`` is none, a column does not exist, or an entry is missing or no number, with
        the parameter, the row and the value.
    """
    wanted = {**labels, **numbers}
    found: dict[str, Any] = {}
    columns = columns_of(table, name)
    for param, column in wanted.items():
        listed = isinstance(column, list | tuple | set | dict) or np.ndim(column)
        if listed or sum(_equal(x, column) for x in columns) != 1:
            refuse(param, column, f"the name of one of the columns {in_words(columns)}")
    places = {column: column for column in wanted.values()}
    if hasattr(table, "iloc"):  # other columns may have one name
        table = table[list(dict.fromkeys(wanted.values()))]
        table = table.set_axis([*map(str, range(table.shape[1]))], axis=1)  # any names
        places = {column: str(x) for x, column in enumerate(dict.fromkeys(wanted.values()))}
    frame = native(table, name)
    for param, column in wanted.items():
        values = frame[places[column]]
        empty = np.asarray(values.is_null().to_numpy(), dtype=bool)
        whole = param in labels or not missing
        if param not in labels:
            allowed = f"a column of numbers (column {in_words(column)})"
            values = _numbers_of(values, empty, param, allowed)
            empty = np.isnan(values)
        if whole and empty.any():
            allowed = "a column without missing values"
            place = row(int(np.flatnonzero(empty)[0]))
            refuse(param, f"column {in_words(column)} with one", allowed, place)
        found[param] = values if param in numbers else _hashable(values.to_list(), param, column)
    return found


def _hashable(values, param, column):
    """Return labels; refuse the first one that cannot be compared with others, such as a list."""
    try:
        set(values)
    except TypeError:
        place, bad = next((i, x) for i, x in enumerate(values) if not _has_hash(x))
        refuse(param, bad, f"a column of names (column {in_words(column)})", row(place))
    check_text(values, param, row)
    if (twin := alike(values)) is not None:
        told = f"a column of names that differ in more than their type (column {in_words(column)})"
        refuse(param, values[twin], told, row(twin))
    return values


def alike(labels: list[Any]) -> int | None:
    """Return the place of the first label that reads as an earlier one of another type, or None.

    Files that are read in parts make 1 and "1" of one name.
    """
    if len({*map(type, labels)}) < 2:
        return None
    earlier: dict[str, Any] = {}
    for place, label in enumerate(labels):
        if earlier.setdefault(str(label), label) != label:
            return place
    return None


def _has_hash(value):
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _equal(one, other):
    """Return whether two names of columns are equal; pandas' NA equals none."""
    found = one == other
    return isinstance(found, bool | np.bool_) and bool(found)


def _numbers_of(values, empty, param, allowed):
    """Return a column as a float array, nan where it is empty."""
    import narwhals

    plain = values.dtype.is_numeric() or values.dtype == narwhals.Boolean
    if plain and not empty.any():
        return as_numbers(values.to_numpy(), param, allowed, row)
    entries = as_objects(values.to_list())
    entries[empty] = np.nan
    return as_numbers(entries, param, allowed, row)


class Wide(NamedTuple):
    """A table with one row per model and one column per item.

    Attributes
    ----------
    cells : ndarray of float, shape (n, N)
        The table; nan where a cell is missing, if that is allowed.
    models, items : list or None
        Names of rows and columns; None where they have none.
    """

    cells: Floats
    models: list[Any] | None
    items: list[Any] | None


def read_wide(
    table: Any, name: str = "matrix", allowed: str = TABLE, missing: bool = False,
) -> Wide:
    """Read a table, or a matrix, with one row per model and one column per item.

    Parameters
    ----------
    table : pandas or polars DataFrame, pyarrow Table, or array_like, shape (n, N)
        The table.  A pandas index of text names the models; otherwise a column "model" does, or
        any pandas index, and in a polars or pyarrow table the first column, if it holds text.  A
        default range of numbers is no name.  The keys of a dict of rows name the models, and rows
        with labels are joined.
    name, allowed : str
        Name of the parameter and its allowed values, for messages.
    missing : bool
        Whether cells may be missing, and are then nan.

    Raises
    ------
    ValueError
        If a cell is no number, or is missing, with its model, item and value; if two columns have
        one name.

    Warns
    -----
    TopkWarning
        If a table with labels has far more rows than columns: models are rows.
    """
    if not is_table(table):
        rows, models, items = _rows(table, name)
        cells = as_numbers(rows, name, allowed, missing=missing)
        return Wide(checked_cells(cells, name, allowed, models, items, missing), models, items)
    columns = columns_of(table, name)
    if len({*columns}) < len(columns):
        twice = next(x for x, times in Counter(columns).items() if times > 1)
        refuse(name, f"two columns {in_words(twice)}", "a table with different columns")
    if hasattr(table, "iloc"):  # pandas: narwhals would have to visit each column
        models = _labels(table.index)
        named = bool(models) and all(isinstance(label, str) for label in models)
        if MODEL in columns and not named:  # otherwise it is an item of this name
            models, table = table[MODEL].tolist(), table.drop(columns=MODEL)
        items, cells = _labels(table.columns), table.to_numpy()
    else:
        frame, models = native(table, name), None
        first = MODEL if MODEL in columns else next(iter(columns), None)
        if first is not None and (first == MODEL or frame[first].dtype in _texts()):
            models, frame = frame[first].to_list(), frame.drop(first)
        items = list(frame.columns)
        cells = np.empty(frame.shape, dtype=object)
        for place, column in enumerate(items):
            cells[:, place] = frame[column].to_list()
    for kind, labels in (("model", models), ("item", items)):
        for place, label in enumerate(labels or ()):
            if is_absent(label) or label != label:
                refuse(name, label, f"a table whose {kind}s have names", f"{kind} {place}, counted "
                       "from 0")
        check_text(labels or (), name)
        if labels and (twin := alike(labels)) is not None:
            told = f"a table whose {kind}s have names that differ in more than their type"
            refuse(name, labels[twin], told, f"{kind} {twin}, counted from 0")
    for label in items or ():
        if isinstance(label, str) and NAMELESS.fullmatch(label):
            refuse(name, f"a column {label!r}, which may number the rows", "a table whose columns "
                   "have names (see index_col=0 of pandas.read_csv)")
    if cells.dtype.kind == "O":
        cells = cells.copy()
        cells[_is_missing(cells)] = np.nan

    def where(place):
        return cell_of(place, cells.shape, models, items)

    found = checked_cells(as_numbers(cells, name, allowed, where), name, allowed, models, items,
                          missing)
    n, size = found.shape if found.ndim == 2 else (0, 0)
    if n >= MANY and n >= TALL * size:
        told = f"{name}: {n} rows (models) by {size} columns (items); models are rows"
        warnings.warn(f"{told}: transpose the table if its rows are items", TopkWarning,
                      stacklevel=4)
    return Wide(found, models, items)


def cell_means(
    rows: Integers, columns: Integers, values: Floats, shape: tuple[int, int],
) -> tuple[Integers, Floats]:
    """Return the number of values of each cell, and their mean, of the given shape.

    The mean is nan where there is no value or a value is nan; otherwise it is between the smallest
    and the largest value, whatever the rounding errors.
    """
    counts, sums = np.zeros(shape, dtype=np.int64), np.zeros(shape)
    least, most = np.full(shape, np.inf), np.full(shape, -np.inf)
    np.add.at(counts, (rows, columns), 1)
    for found, merge in ((sums, np.add), (least, np.minimum), (most, np.maximum)):
        merge.at(found, (rows, columns), values)
    means = np.full(shape, np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    return counts, np.minimum(np.maximum(means, least), most)


def _rows(table, name):
    """Return the rows of a matrix, a list of rows or a dict of them, with models and items."""
    models = as_labels(table, name, TABLE) if isinstance(table, Mapping) else None
    rows = table if models is None else list(table.values())
    if not isinstance(rows, list | tuple) or all(labels_of(row) is None for row in rows):
        return rows, models, None
    named = models or range(len(rows))
    params = [f"{name} of model {in_words(model)}" for model in named]
    items = next(its for row in rows if (its := labels_of(row)) is not None)
    rows = joined(**dict(zip(params, rows, strict=True)))
    return rows, models, None if items == list(range(len(items))) else items


def _texts():
    """Return the data types of names."""
    import narwhals

    return (narwhals.String, narwhals.Categorical, narwhals.Enum)


def _is_missing(cells):
    """Return which objects are None, pandas' NA, or not equal to themselves."""
    return np.array([is_absent(x) or x != x for x in cells.flat], dtype=bool).reshape(cells.shape)


def checked_cells(cells, name, allowed, models, items, missing):
    """Return cells; refuse a missing one unless that is allowed."""
    if not missing and (bad := np.isnan(cells)).any():
        place = int(np.flatnonzero(bad)[0])
        where = cell_of(place, cells.shape, models, items) if cells.ndim == 2 else entry(place)
        refuse(name, "a missing cell", allowed, where)
    return cells


def cell_of(place: int, shape: Any, models: list[Any] | None, items: list[Any] | None) -> str:
    """Return the model and the item of an entry of a matrix in words."""
    model, item = divmod(place, shape[1]) if len(shape) == 2 else (place, 0)
    named = in_words(models[model]) if models else model, in_words(items[item]) if items else item
    return f"model {shortened(str(named[0]), 30)}, item {shortened(str(named[1]), 30)}"


def _labels(index):
    """Return the labels in an index of a DataFrame; None if it is a default range, unnamed."""
    numbered = (type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1
                and index.name is None)
    return None if numbered else index.tolist()
