"""Streams of candidates through the gate, and tiers looked at after every item.

Run ``python -m evidence.gates`` in the folder tests (some minutes).  ``gates.json`` in this
folder stores the counts; the tests repeat the first ones.
"""

from pathlib import Path

import numpy as np
from evidence.plays import in_lines

import topk_eval

RESULT = Path(__file__).with_name("gates.json")
SEED, STREAMS, CANDIDATES, DELTA = 38, 250, 200, 0.05
PLAYS, ITEMS, WIDE_DELTA = 80, 60, 0.3
FOLLOWED = {"streams": 2, "tiers": 3}  # that the tests repeat
SETTINGS = {  # of the gate; discordant items, and the size of batches
    "equal": ({"smallest_gain": 0.05, "most_items": 400}, 0.2, 50),
    "equal, abandoned at half the capital": ({"delta": 0.3}, 0.9, 20),
}


def stream(setting, number):
    """Return how many of 200 candidates equal to the champion are accepted, and their items."""
    options, discordant, size = SETTINGS[setting]
    rng = np.random.default_rng([SEED, [*SETTINGS].index(setting), number])
    gate, accepted, items = topk_eval.Gate(**{"delta": DELTA} | options), 0, 0
    for candidate in range(CANDIDATES):
        trial = gate.offer(candidate)
        while trial.status == "open":
            u = rng.random(size)
            d = (u < discordant / 2).astype(float) - (u > 1 - discordant / 2)
            trial.tell((1 - d) / 2, (1 + d) / 2)
            far = "smallest_gain" not in options and trial.status == "open"
            if far and (trial.items >= 2000 or trial.e_value <= 0.5):
                trial.abandon()
        accepted, items = accepted + (trial.status == "accepted"), items + trial.items
    return accepted, items


def cells(kind, rng):
    """Return results of 4 models on 60 items of a random population, and the true values."""
    if kind == "no difference, independent":
        values = np.full(4, rng.uniform(0.2, 0.8))
        return (rng.random((4, ITEMS)) < values[:, None]).astype(float), values
    if kind == "no difference, one right on each item":
        return np.eye(4)[rng.integers(4, size=ITEMS)].T, np.full(4, 0.25)
    if kind == "near ties":
        values = 0.5 + 0.02 * rng.permutation(4)
        return (rng.random((4, ITEMS)) < values[:, None]).astype(float), values
    if kind == "skewed grades":
        values = np.array([0.1, 0.1, 0.12, 0.08])
        large = rng.random((4, ITEMS)) < values[:, None] / 0.9
        return np.where(large, 0.9, 0.0), values
    hard = rng.random(ITEMS) < 0.3
    if kind == "worse on hard items only":
        values = np.array([0.3, 0.3, 0.25, 0.2])  # on hard items, which decide the order
        chance = np.where(hard, values[:, None], 0.9)
        return (rng.random((4, ITEMS)) < chance).astype(float), values
    same = (rng.random(ITEMS) < 0.6).astype(float)  # identical but for the last model
    last = np.where(hard, 1 - same, same)
    return np.array([same, same, same, last]), np.array([0.6, 0.6, 0.6, 0.42 + 0.12])


KINDS = ("no difference, independent", "no difference, one right on each item", "near ties",
         "skewed grades", "worse on hard items only", "identical but for one")  # fmt: skip


def tiers_err(kind, number):
    """Return whether tiers, or a set for one k, are ever wrong; looked at after every item."""
    rng = np.random.default_rng([SEED, KINDS.index(kind), number])
    table, values = cells(kind, rng)
    order = sorted(range(4), key=lambda a: (-values[a], a))
    rank, k, wrong = np.argsort(order) + 1, 1 + number % 3, np.zeros(2, dtype=bool)
    for t in range(1, ITEMS + 1):
        found = topk_eval.tiers(table[:, :t], WIDE_DELTA)
        frame = found.frame()
        at = rank[frame.model.to_numpy()]
        wrong[0] |= ((at < frame.rank_low) | (at > frame.rank_high)).any()
        frame = topk_eval.tiers(table[:, :t], WIDE_DELTA, k=k).frame()
        at = rank[frame.model.to_numpy()]
        wrong[1] |= (((frame.tier == "in") & (at > k)) | ((frame.tier == "out") & (at <= k))).any()
    return wrong


def streams_row(setting, count=STREAMS):
    """Return the row of a setting of the gate."""
    found = np.array([stream(setting, number) for number in range(count)])
    false = found[:, 0] > 0
    return {"setting": setting, "streams with a false acceptance": int(false.sum()),
            "false acceptances": int(found[:, 0].sum()),
            "items per candidate": round(float(found[:, 1].mean()) / CANDIDATES, 1),
            "first": found[: FOLLOWED["streams"]].tolist()}  # fmt: skip


def tiers_row(kind, count=PLAYS):
    """Return the row of a kind of table."""
    found = np.array([tiers_err(kind, number) for number in range(count)])
    return {"kind": kind, "ranks or sets wrong": int(found[:, 0].sum()),
            "in or out wrong": int(found[:, 1].sum()),
            "first": found[: FOLLOWED["tiers"]].astype(int).tolist()}  # fmt: skip


def main():
    """Make all runs and write the file."""
    found = {"seed": SEED, "streams": STREAMS, "candidates": CANDIDATES, "plays": PLAYS,
             "items": ITEMS, "gates": [streams_row(setting) for setting in SETTINGS],
             "tiers": [tiers_row(kind) for kind in KINDS]}  # fmt: skip
    text = ",\n".join(f'"{key}": {in_lines(value)}' for key, value in found.items())
    RESULT.write_text("{\n" + text + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
