"""``python -m topk_eval``: the command line."""

from topk_eval.commands import main

if __name__ == "__main__":
    main()
