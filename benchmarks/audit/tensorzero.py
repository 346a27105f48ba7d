"""Run TensorZero's top-k evaluator, by its own Rust code, and write the record that page 28 shows.

``python -m benchmarks.audit.tensorzero CLONE`` needs rustc (1.85 or newer) and a clone of
github.com/tensorzero/tensorzero with its history: the evaluator was in the open repository from
December 2025 to January 2026.
"""

import json
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

COMMIT = "f1042825aeb84b5fe71304e7d782ca71c7701284"  # 14 January 2026, the last with the evaluator
RESULT = Path(__file__).resolve().parents[1] / "results" / "tensorzero.json"
SEED = 28
PLACES = {  # name: means, number of items, size of the set, runs
    "20 equal variants": ([0.5] * 20, 600, 3, 100),
    "5 equal variants": ([0.5] * 5, 600, 1, 200),
    "2 equal variants": ([0.5] * 2, 600, 1, 200),
    "20 variants, 3 better by .2": ([0.7] * 3 + [0.5] * 17, 600, 3, 100),
    "20 variants, 3 better by .02": ([0.52] * 3 + [0.5] * 17, 600, 3, 100),
    "two accuracies": ([0.95, 0.92], 1_000, 1, 200),
}


def streams(place: str, runs: int | None = None) -> np.ndarray:
    """Return 0/1 scores, runs by variants by items; with fewer runs the first of them."""
    means, items, _, count = PLACES[place]
    random = np.random.default_rng([SEED, list(PLACES).index(place)])
    shape = count, len(means), items
    return (random.random(shape) < np.array(means)[:, None]).astype(float)[:runs]


def theirs(clone: str) -> str:
    """Return the parts of their sources that decide, without what only stores and logs."""
    sources = [subprocess.run(
        ["git", "-C", clone, "show", f"{COMMIT}:evaluations/src/{file}"],
        check=True, capture_output=True, text=True,
    ).stdout for file in ("betting_confidence_sequences.rs", "topk/mod.rs")]
    bets, rule = sources[0].partition("#[cfg(test)]")[0], sources[1]
    starts = ["fn get_rank_based_hedge_weight", "fn compute_hedge_weights",
              "fn non_failed_variants", "struct VariantStatusParams", "fn update_variant_statuses",
              "pub fn check_topk_stopping", "pub struct TopKStoppingResult",
              "pub enum VariantStatus {"]
    items = [rule[(at := rule.index(start)):rule.index("\n}\n", at) + 3] for start in starts]
    items[-1] = "#[derive(Clone, Copy, PartialEq)]\n" + items[-1]
    constants = re.findall(r"^const (?:DEFAULT_[BCA]|MIN).*;$", rule, re.M)
    text = "\n".join([re.sub("^//!.*\n", "", bets, flags=re.M), *constants, *items])
    for gone in ("use anyhow::{Result, bail};", "use serde::{Deserialize, Serialize};",
                 ", Serialize, Deserialize", "anyhow::"):
        text = text.replace(gone, "")
    return re.sub(r"#\[(serde|expect).*\]", "", text)


def play(program: Path, scores: np.ndarray, k: int) -> list[list[str]]:
    """Return what the program says of each run: scores used, variants named, intervals."""
    data = struct.pack("<4I", *scores.shape, k) + scores.astype("<f8").tobytes()
    said = subprocess.run([program], input=data, check=True, capture_output=True).stdout
    return [line.split(" ") for line in said.decode().splitlines()]


def counted(place: str, rows: list[list[str]]) -> dict:
    """Count runs that name a set, that name a wrong one, and in which some interval misses."""
    means, _, k, _ = PLACES[place]
    mean = np.array(means)
    sets = [[int(x) for x in named.split(",")] for _, named, *_ in rows if named != "-"]
    ends = np.array([[x.split(":") for x in ends] for _, _, *ends in rows], dtype=float)
    missed = (ends[..., 0] > mean) | (ends[..., 1] < mean)
    return {"runs": len(rows), "named": len(sets),
            "wrong": sum(bool(mean[x].min() < np.sort(mean)[-k]) for x in sets),
            "some interval missed": int(missed.any(1).sum()), "intervals missed": int(missed.sum()),
            "scores": round(float(np.mean([int(used) for used, *_ in rows])), 1)}


def main() -> None:
    """Compile, run every place, and write the counts with the first five runs of each."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        (here / "theirs.rs").write_text(theirs(sys.argv[1]))
        (here / "main.rs").write_text(Path(__file__).with_name("harness.rs").read_text())
        subprocess.run(["rustc", "--edition", "2024", "-A", "warnings", "-O", "-o", here / "run",
                        here / "main.rs"], check=True)
        compiler = subprocess.run(["rustc", "--version"], capture_output=True, text=True).stdout
        found = {place: play(here / "run", streams(place), k)
                 for place, (_, _, k, _) in PLACES.items()}
    record = {"commit": COMMIT, "compiler": compiler.split(" (")[0], "numpy": np.__version__,
              "seed": SEED,
              "places": {place: counted(place, rows) for place, rows in found.items()},
              "first runs": {place: [" ".join(row) for row in rows[:5]]
                             for place, rows in found.items()}}
    RESULT.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
