"""The picture of the landing page: what a file of scores settles, with the numbers of the file."""

from __future__ import annotations

from html import escape
from pathlib import Path

# The answers of the chapter on data, and how many models are wanted of them.
ANSWERS, QUESTIONS, BEST = "notebooks/data/answers.csv", "notebooks/data/questions.txt", 2
WORDS = {"in": "among the two best", "open": "open: more answers will tell",
         "out": "not among them"}


def picture(root: Path) -> str:
    """Return a figure as HTML: models with their mean scores, marked by what is settled."""
    import topk_eval  # here, so that pages of arms alone are built without it

    results = topk_eval.read_results(root / ANSWERS, order=root / QUESTIONS)
    models = topk_eval.tiers(results, k=BEST).frame()
    found = [f'<li class="topk-{tier}"><span>{mark(tier)} {word}</span></li>'
             for tier, word in WORDS.items()]
    rows = [
        f'<li class="topk-{row.tier}"><span>{escape(row.model)}</span><span class="topk-track">'
        f'<span class="topk-place" style="left: {row.mean:.1%}">{mark(row.tier)}</span></span>'
        f"<span>{100 * row.mean:.0f} %</span><span>{row.tier}</span></li>"
        for row in models.itertuples()
    ]
    asked = f"{len(models)} models answered {len(results.items)} questions."
    title = f"{asked} Which two are the best on such questions? (95 % sure)"
    lines = ['<figure class="topk-landing">', f"<figcaption>{title}</figcaption>",
             '<ul>', *found, "</ul>", "<ol>", *rows, "</ol>",
             '<p class="topk-landing-axis"><span>0 %</span><span>right answers</span>'
             "<span>100 %</span></p>", "</figure>"]
    return "\n".join(["```{raw} html", *lines, "```"])


def mark(tier: str) -> str:
    """Return the mark of what is settled, which differs by its shape as well as by its colour."""
    return f'<span class="topk-mark topk-mark-{tier}" aria-hidden="true"></span>'
