"""The command line: ``topk check``, ``rank``, ``next`` and ``plan``, with files of results.

All state is in the files.  Each command writes its answer to standard output, and to standard error
all else: what was read, and one line on what is wrong with a file or an option; then it ends with
the code 2.
"""

import sys

INTERRUPTED = 130  # exit code, as typer's


def main() -> None:
    """Run a command; it is imported here, so that an interrupt meanwhile is no traceback."""
    try:
        from topk_eval.commands.app import run

        run()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
