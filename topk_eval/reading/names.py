"""Lists of names in files, one on each line."""

from pathlib import Path

from topk_eval.reading.table import Unreadable, as_label, decoded, refuse


def names_in(path: Path, hint: str) -> list[str]:
    """Return the names in a file, one on each line; blank lines do not count."""
    try:
        text = decoded(path, path.read_bytes())
    except OSError as error:
        refuse(path, f": {error.strerror}; {hint}")
    names: dict[str, int] = {}
    for line, name in enumerate(text.splitlines(), 1):
        if not name.strip():
            continue
        try:
            label = as_label(name)
        except Unreadable as error:
            refuse(path, f", line {line}: {error}")
        if label in names:
            refuse(path, f", line {line}: {label!r} is already in line {names[label]}; remove one "
                         "of them")
        names[label] = line
    return [*names]
