"""The page on the command line: its commands run, its Python compiles, its numbers are recorded."""

import json
import re
import shlex
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "book/command-line.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.M | re.S)


def test_the_commands_of_the_page_run(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [(model, item, int((model + item) % 7 < model)) for model in range(20)
            for item in range(30)]
    pd.DataFrame(rows, columns=["model", "item", "score"]).to_csv("results.csv", index=False)
    (tmp_path / "items.txt").write_text("\n".join(map(str, range(40))))
    (tmp_path / "models.txt").write_text("\n".join(map(str, range(20))))
    (block,) = blocks("console")
    commands = [text.removeprefix("$ topk ") for text in block.splitlines()]
    for text in blocks("shell")[0].splitlines():
        if re.search(r"\btopk (rank|next)", text):
            command = text.strip().removeprefix("until ").removeprefix("topk ")
            commands.append(command.rstrip("; do"))
    assert len(commands) == 6
    for words in commands:
        said = line(*shlex.split(words), *(["--runs", 1] if words.startswith("plan") else []))
        assert said.code in (0, 3), (words, said.err)


def test_the_options_of_the_page_exist(line):
    helps = "".join(line(name, "--help").out for name in ("check", "rank", "next", "plan"))
    text = re.sub(r"^```shell.*?^```", "", PAGE, flags=re.M | re.S)
    named = {*re.findall(r"(?<![\w-])--[a-z]+", text)}
    other = {"--help", "--install", "--samples", "--log"}
    assert {option for option in named if option not in helps} <= other


def test_the_python_of_the_page_compiles():
    for code in blocks("python"):
        assert len(code.splitlines()) <= 10
        compile(code, "page", "exec")


def test_the_numbers_of_the_page_are_those_of_the_last_run():
    found = json.loads((ROOT / "tests/evaluation/adapters/last_run.json").read_text())
    text = " ".join(PAGE.split())
    inspect, gepa = found["inspect_ai"], found["gepa"]
    assert f"a third of {inspect['all_samples']} samples" in text  # it depends on what is in time
    assert 0.25 < inspect["samples"] / inspect["all_samples"] < 0.42
    assert f"paid {gepa['cells']:,} of {gepa['all_cells']:,} cells" in text
