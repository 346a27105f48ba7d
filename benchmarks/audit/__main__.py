"""Install each package of the audit by itself, run its rule on the streams, write the record.

``python -m benchmarks.audit`` needs uv; ``--newest`` takes the newest versions in place of those
named, and ``--only WORD`` the rules whose names contain a word. The page draws the record.
"""

import argparse
import json
import math
import os
import re
import subprocess
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.audit import streams
from benchmarks.audit.rules import RULES, Rule

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "_build" / "audit"
RESULT = ROOT / "benchmarks" / "results" / "audit.json"


def environment(rule: Rule, newest: bool) -> Path | None:
    """Return the Python of the rule's environment, made at need; None where it does not install."""
    wanted = [re.sub("==.*", "", item) if newest else item for item in rule.requires]
    folder = BUILD / re.sub(r"\W+", "-", " ".join([*wanted, rule.python]))
    python = folder / "bin" / "python"
    if (folder / "whole").exists():
        return python
    steps = [["uv", "venv", "--quiet", "--clear", "--python", rule.python, str(folder)],
             ["uv", "pip", "install", "--quiet", "--prerelease",
              "if-necessary-or-explicit", "--python", str(python), *wanted]]
    if any(subprocess.run(step).returncode for step in steps):
        return None
    (folder / "whole").touch()
    return python


def measured(rule: Rule, newest: bool) -> dict:
    """Run a rule; return its row of the record, with the reason where it did not run."""
    row = {"rule": rule.name, "package": rule.package, "script": rule.script,
           "promise": rule.promise, "level": rule.level, "gate": rule.gate,
           "options": rule.options, "cure_of": rule.cure_of}
    if rule.why_not:
        return row | {"missing": rule.why_not}
    python = environment(rule, newest)
    if python is None:
        return row | {"missing": f"does not install with Python {rule.python}"}
    if rule.download and not (file := BUILD / "sources" / Path(rule.download).name).exists():
        file.parent.mkdir(exist_ok=True)
        urllib.request.urlretrieve(rule.download, file)
    task = BUILD / (re.sub(r"\W+", "-", rule.name) + ".json")
    task.write_text(json.dumps({
        "reports": str(ROOT / "book" / "reports"), "sources": str(BUILD / "sources"),
        "script": rule.script, "source": rule.source, "package": rule.package, "gate": rule.gate,
        "options": rule.options, "runs": {place: rule.count(place) for place in rule.places}}))
    task.with_suffix(".out").unlink(missing_ok=True)
    if subprocess.run([python, ROOT / "benchmarks" / "audit" / "inside.py", task],
                      cwd=BUILD, env={**os.environ, "PYTHONPATH": ""}).returncode:
        return row | {"missing": "does not run"}
    found = json.loads(task.with_suffix(".out").read_text())
    rows = found.pop("rows")
    kept = {place: rows[place][:200] for place in rule.keep}
    return row | found | {"places": {place: counted(place, rows[place]) for place in rows},
                          "decisions": kept}


def counted(place: str, rows: list) -> dict:
    """Count the runs that name an arm, and those that are wrong to name it."""
    wrong = sum(arm >= 0 and streams.is_wrong(place, streams.stream(place, run)[0], arm)
                for run, (arm, _) in enumerate(rows))
    return {"runs": len(rows), "named": sum(arm >= 0 for arm, _ in rows), "wrong": int(wrong),
            "scores": round(sum(used for _, used in rows) / len(rows), 1)}


def changes(old: list, new: list) -> list[str]:
    """Return a line for each rule whose version, reason not to run or counts of errors changed.

    Counts may differ by chance, four standard deviations, since AgentOpt breaks ties by the clock.
    """
    before = {row["rule"]: row for row in old}
    lines = []
    for row in new:
        was = before.get(row["rule"], {})
        lines += [f"{row['rule']}: {key} was {was.get(key)}, is {row.get(key)}"
                  for key in ("missing", "version") if row.get(key) != was.get(key)]
        for place, counts in row.get("places", {}).items():
            now, then = counts["wrong"], was.get("places", {}).get(place, {}).get("wrong", -1)
            if then < 0 or abs(now - then) > 4 * math.sqrt(now + then):
                lines.append(f"{row['rule']}, {place}: {then} wrong before, {now} now")
    return lines


def main() -> None:
    """Run the audit and write its record; print what changed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--newest", action="store_true", help="the newest versions")
    parser.add_argument("--only", default="", help="only rules whose names contain this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="rules at the same time")
    options = parser.parse_args()
    BUILD.mkdir(parents=True, exist_ok=True)
    old = json.loads(RESULT.read_text())["rules"] if RESULT.exists() else []
    rows = {row["rule"]: row for row in old}
    asked = [rule for rule in RULES if options.only in rule.name]
    for rule in asked:  # one after another, since rules of one package share an environment
        if not rule.why_not:
            environment(rule, options.newest)
    with ThreadPoolExecutor(options.jobs) as pool:
        for row in pool.map(lambda rule: measured(rule, options.newest), asked):
            rows[row["rule"]] = row
            print(row["rule"], row.get("missing", "ran"), flush=True)
    new = [rows[rule.name] for rule in RULES if rule.name in rows]
    digests = {place: streams.digest(place) for place in (*streams.INSTANCES, *streams.NEAR)}
    text = json.dumps({"seed": streams.SEED, "streams": digests, "rules": new}, indent=1,
                      ensure_ascii=False)
    text = re.sub(r"\[\s+(-?\d+),\s+(\d+)\s+\]", r"[\1, \2]", text)
    RESULT.write_text(text + "\n", encoding="utf-8")
    print("\n".join(changes(old, new)) or "nothing changed")


if __name__ == "__main__":
    main()
