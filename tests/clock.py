"""Time that does not pass while other work has the processors."""

from pathlib import Path


def waited(process="thread-self"):
    """Return for how many seconds a process has been ready to run without a processor.

    What a limit in seconds is about is the time apart from these.  Only Linux counts them.

    Parameters
    ----------
    process : int or str, optional
        Whose first thread; the calling thread by default.
    """
    try:
        return int(Path(f"/proc/{process}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0
