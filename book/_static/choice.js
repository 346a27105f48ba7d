// Three choices that lead to one row of the page's table of algorithms, which is shown as it stands
// there. A row carries its name in an empty element with the attribute data-row. While the best one is
// chosen, the code in the table has k=1.
(() => {
  const QUESTIONS = {
    result: ["What is a result?", {
      numbered: "0 or 1, the arms' results numbered",
      coin: "0 or 1, without numbers",
      score: "a score, grade or time",
      win: "which of two wins",
      test: "right or wrong, on a fixed test set",
      graded: "a grade, on a fixed test set",
      new: "an answer, to judge new questions",
      trials: "several trials of one question",
      candidate: "a candidate against a champion",
      data: "counts and sums, collected already",
    }],
    arms: ["How many arms, and which are wanted?", {
      few: "up to 20, the best K",
      some: "21 to 50, the best K",
      one: "21 to 100, the best one",
      hundreds: "51 to some hundreds, the best K",
      thousands: "thousands, the best K",
      groups: "several groups, the best one of each",
    }],
    promise: ["A guarantee or a budget?", {
      sure: "a guarantee",
      batches: "a guarantee, pulls in batches",
      budget: "a number of pulls, one after the other",
      rounds: "a number of pulls, in a few rounds",
    }],
  };
  // The first line that fits: result, arms, promise (* for any), and the row.
  const RULES = `
    candidate * * stream
    data * * data
    win * * wins
    new * * new
    trials * * trials
    test * * test
    graded * * graded
    * groups budget groups
    * groups rounds groups
    * groups sure each
    * * budget budget
    * * rounds rounds
    * * batches batches
    score * * scores
    * thousands * thousands
    numbered few * pairs
    numbered some * pairs
    numbered one * race
    * * * coins`.trim().split("\n").map((line) => line.trim().split(" "));

  const { element, make } = topkFigures;
  const row = (...chosen) =>
    RULES.find((rule) => chosen.every((x, place) => ["*", x].includes(rule[place])))[3];

  // What a choice adds to a row that was written for another promise.
  const LIMIT = "This guarantee has no given number of pulls: with budget= a run ends there at the " +
    "latest, and has the guarantee only if it was decided before.";
  const BATCHES = "ask(size) takes a batch of pulls at a time.";
  const CANDIDATES = "A gate takes no number of pulls: most_items= limits the items of one " +
    "candidate, and the stream may end at any time.";
  const ITEMS = "trial.start(25) starts a batch of items, whose results may come in any order.";
  const NOTHING = "Nothing is pulled, so that batches and numbers of pulls play no part.";
  const PROMISES = {
    stream: { batches: ITEMS, budget: CANDIDATES, rounds: `${CANDIDATES} ${ITEMS}` },
    data: { batches: NOTHING, budget: NOTHING, rounds: NOTHING },
    groups: { rounds: "It can take nearly as many rounds as there are arms." },
    batches: {},
    budget: {},
    rounds: {},
    other: { batches: BATCHES, budget: LIMIT, rounds: `${LIMIT} ${BATCHES}` },
  };
  const SIMILAR = "Take it if the means are expected to differ. If they form two groups of similar " +
    "means, take KL-LUCB for K of at most a tenth of the arms, and TopTwo from a fifth on.";
  const ALONE = "Take each group by itself, with δ divided by the number of groups.";

  const note = (arms, promise, name) => [
    name === "pairs" && arms === "some" && SIMILAR,
    arms === "groups" && !["groups", "each"].includes(name) && ALONE,
    (PROMISES[name] ?? PROMISES.other)[promise],
  ].filter(Boolean).join(" ");

  class Choice {
    constructor(root) {
      this.table = document.getElementById(root.dataset.table);
      this.codes = [];
      for (const code of this.table.querySelectorAll("code")) {
        const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
        while (walker.nextNode()) this.codes.push([walker.currentNode, walker.currentNode.data]);
      }
      this.selects = Object.entries(QUESTIONS).map(([name, [, options]]) => {
        const select = element("select", { name });
        select.append(...Object.entries(options).map(([value, text]) => new Option(text, value)));
        select.addEventListener("change", () => this.show());
        return select;
      });
      const labels = Object.values(QUESTIONS).map(([question], place) =>
        element("label", {}, question, this.selects[place]));
      this.row = element("dl", { class: "topk-touch-row", "aria-live": "polite" });
      root.setAttribute("role", "group");
      root.setAttribute("aria-label", "Three questions that choose a row of the table");
      root.replaceChildren(element("div", { class: "topk-panel-choices" }, ...labels), this.row);
      this.show();
      window.MathJax?.startup?.promise.then(() => this.show()); // with formulas as the table has them
    }

    show() {
      const chosen = this.selects.map((select) => select.value), name = row(...chosen);
      const one = ["one", "groups"].includes(chosen[1]);
      for (const [text, data] of this.codes) text.data = one ? data.replace(/\bk=\d+/, "k=1") : data;
      const cells = [...this.table.querySelector(`[data-row="${name}"]`).closest("tr").cells];
      const heads = [...this.table.querySelectorAll("th")].map((head) => head.textContent.trim());
      const copy = (cell) => [...cell.cloneNode(true).childNodes];
      const [has, use, cost, other, code] = cells.map(copy);
      const rows = { [heads[1]]: use, [heads[4]]: code, [heads[2]]: cost, "It assumes": has };
      if (cells[3].textContent.trim()) rows[heads[3]] = other;
      const more = note(chosen[1], chosen[2], name);
      if (more) rows["Your choice"] = [more];
      this.row.replaceChildren(...Object.entries(rows).map(([term, content]) =>
        element("div", {}, element("dt", {}, term), element("dd", {}, ...content))));
    }
  }

  window.topkChoice = { QUESTIONS, row };
  make(Choice, "choice");
})();
