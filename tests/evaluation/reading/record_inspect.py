"""Run inspect_ai with its mock model, and keep its logs in logs/inspect.

    python tests/reading/record_inspect.py       # with inspect_ai installed; no network is needed
"""

import os
import shutil
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "logs" / "inspect"
WORDS = ["one", "two", "three"]


def model(name, known):
    """Return a mock model that knows the first ``known`` words."""
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    def answer(messages, tools, tool_choice, config):
        number = int(messages[-1].text)
        output = ModelOutput.from_content(name, WORDS[number] if number < known else "a word")
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # else it counts
        return output

    return get_model(f"mockllm/{name}", custom_outputs=answer)


def main():
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.scorer import exact, includes

    shutil.rmtree(FOLDER, ignore_errors=True)
    os.chdir(tempfile.mkdtemp())  # outside of a repository, whose address a log would name
    samples = [Sample(str(number), target=word, id=f"word-{number}")
               for number, word in enumerate(WORDS)]
    one = Task(samples, name="words", scorer=includes(), epochs=2)
    two = Task(samples, name="scored_twice", scorer=[includes(), exact()])
    for task, form in ((one, "eval"), (one, "json"), (two, "eval")):
        for name, known in (("good", 3), ("poor", 1)):
            (log,) = eval(task, model=model(name, known), log_dir=str(FOLDER), log_format=form,
                          display="none")
            path = Path(log.location.removeprefix("file://"))
            path.rename(FOLDER / f"{task.name}_{name}.{form}")  # without date and random letters


if __name__ == "__main__":
    main()
