"""``python -m topk``: the command line."""

from topk.commands import main

if __name__ == "__main__":
    main()
