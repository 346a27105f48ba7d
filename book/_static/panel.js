// The interactive panel: eight arms with means set by the reader, and a strategy. The strategies are
// in panel-rules.js; this file draws and describes them.
(() => {
  const { element } = topkFigures;
  const MEANS = [0.95, 0.85, 0.75, 0.65, 0.6, 0.45, 0.35, 0.2];
  const LIMIT = 50_000; // samples after which a fixed-confidence rule stops without a guarantee
  const PLAYS = 100;
  const CHOICES = {
    strategy: topkRules.names,
    k: [1, 2, 3, 4, 5, 6, 7],
    delta: [0.01, 0.05, 0.1, 0.2],
    epsilon: [0, 0.05, 0.1, 0.2],
  };
  const FIRST = { strategy: "SAR", k: 3, delta: 0.05, epsilon: 0, budget: 320 };
  const FULL = {
    Uniform: "uniform sampling",
    SAR: "successive accepts and rejects",
    OptMAI: "optimal multiple-arm identification",
    LUCB1: "lower and upper confidence bounds",
    KLLUCB: "LUCB with bounds for 0/1 rewards",
    PairedBetting: "bets on pairs, or a race",
  };
  const STATES = {
    a: ["✓", "accepted"],
    r: ["✗", "rejected"],
    c: ["", "in the current set"],
    o: ["", "not in the current set"],
  };
  const LAYOUT = `
    <div class="topk-panel-choices">
      <label>Strategy <select name="strategy"></select></label>
      <label>K <select name="k"></select></label>
      <label data-for="budget">Budget, in samples
        <input name="budget" type="number" min="9" max="5000" required></label>
      <label data-for="guarantee">Risk δ <select name="delta"></select></label>
      <label data-for="guarantee">Tolerance ε <select name="epsilon"></select></label>
      <label><input name="hide" type="checkbox"> Guess first: hide eight new means</label>
    </div>
    <div class="topk-panel-plot">
      <div class="topk-panel-means"></div>
      <svg aria-hidden="true"></svg>
    </div>
    <ol class="topk-panel-arms"></ol>
    <div class="topk-panel-buttons">
      <button type="button" name="one">One decision</button>
      <button type="button" name="run">Run</button>
      <button type="button" name="again"></button>
      <button type="button" name="many"></button>
    </div>
    <dl class="topk-panel-now"></dl>
    <p class="topk-panel-told" aria-live="polite"></p>
    <ul class="topk-panel-tally"></ul>
    <p class="topk-panel-key"></p>`;

  const number = (x) => x.toLocaleString("en");
  const height = (value) => `${((1 - value) * 100).toFixed(2)}%`;
  const comparesPairs = (name) => name === "PairedBetting";
  const isFixedConfidence = (name) => topkRules.fixedConfidence.includes(name);
  const hasBars = (name) => isFixedConfidence(name) && !comparesPairs(name);
  const seen = (s, arm) => s.sums[arm] / s.pulls[arm];

  function list(arms) {
    const names = arms.map((arm) => arm + 1), last = names.pop();
    return names.length ? `${names.join(", ")} and ${last}` : `${last}`;
  }

  const called = (arms) => `${arms.length > 1 ? "arms" : "arm"} ${list(arms)}`;

  function place(line, from, to = from) {
    line.setAttribute("y1", height(from));
    line.setAttribute("y2", height(to));
  }

  // The state of an arm, as a key of STATES.
  function letter(s, chosen, arm) {
    if (s.status[arm]) return s.status[arm] > 0 ? "a" : "r";
    return chosen.includes(arm) ? "c" : "o";
  }

  // Halfway between the lowest mean inside the set and the highest outside, among active arms.
  function boundary(s, chosen) {
    const ranked = s.total ? topkRules.rank(s) : [];
    const last = ranked.findLast((arm) => chosen.includes(arm));
    const first = ranked.find((arm) => !chosen.includes(arm));
    return last === undefined || first === undefined ? null : (seen(s, last) + seen(s, first)) / 2;
  }

  // What PairedBetting does next: it tries to decide a claim or, in a race, to make an arm leave.
  function claim(s) {
    const level = s.level.toFixed(1), capital = (e) => `${e.toPrecision(3)} of the ${level} needed`;
    if (s.h !== undefined) {
      if (s.stopped === "rule") return "All claims across the boundary are decided.";
      const weakest = `arm ${s.h + 1} is better than arm ${s.l + 1}`;
      return `The weakest claim is that ${weakest}: capital ${capital(s.largest[s.h][s.l])}.`;
    }
    if (s.stopped === "rule") return "A single arm is left in the race.";
    const left = topkRules.rank(s), [next] = [...left].sort((a, b) => s.largest[b] - s.largest[a]);
    return `In the race are ${called(left.sort((a, b) => a - b))}; nearest to leaving it is arm ` +
      `${next + 1}, with a capital of ${capital(s.largest[next])}.`;
  }

  // Describe a decision: the arms sampled and the result. `before` is the status before it.
  function story(s, batch, before) {
    const tried = batch.map(([arm]) => arm);
    if (comparesPairs(s.name)) {
      return `It sampled ${tried.length === s.n ? "every arm" : called(tried)}. ${claim(s)}`;
    }
    if (isFixedConfidence(s.name)) {
      const shown = topkRules.bounds(s); // as drawn: cut to [0, 1]
      const overlap = Math.max(0, shown[s.l][1] - shown[s.h][0] - s.epsilon).toFixed(3);
      const so = s.stopped === "rule" ? "they no longer overlap" : `they overlap by ${overlap}`;
      return (
        `It sampled ${tried.length === s.n ? "every arm once" : called(tried)}. The lowest bar ` +
        `inside is now that of arm ${s.h + 1}, the highest outside that of arm ${s.l + 1}: ${so}.`
      );
    }
    const came = [[1, "accepted"], [-1, "rejected"]].flatMap(([status, word]) => {
      const settled = tried.filter((arm) => s.status[arm] === status && before[arm] === 0);
      return settled.length ? [`${called(settled)} ${word}`] : [];
    });
    const each = `${number(batch[0][1])} more ${batch[0][1] > 1 ? "samples" : "sample"}`;
    return `${each} each of ${called(tried)}; ${came.join(", ") || "no arm is settled"}.`;
  }

  class Panel {
    constructor(root) {
      root.innerHTML = LAYOUT;
      root.setAttribute("role", "group");
      root.setAttribute("aria-label", "Interactive simulation");
      this.root = root;
      this.at = (name) => root.querySelector(`.topk-panel-${name}`);
      const named = [...root.querySelectorAll("[name]")];
      this.control = Object.fromEntries(named.map((control) => [control.name, control]));
      this.means = [...MEANS];
      this.seed = 1;
      this.timer = null;
      this.fill();
      this.listen();
      this.reset();
    }

    fill() {
      const { control } = this;
      for (const [name, values] of Object.entries(CHOICES)) {
        const label = (value) => (FULL[value] ? `${value}: ${FULL[value]}` : value);
        control[name].append(...values.map((value) => new Option(label(value), value)));
      }
      for (const [name, value] of Object.entries(FIRST)) control[name].value = value;
      this.parts = this.means.map((_, arm) => this.parted(arm));
      this.boundary = element("line", { class: "boundary", x1: 0, x2: "100%" });
      const svg = this.root.querySelector("svg");
      for (const tick of [0, 0.5, 1]) {
        const grid = element("line", { class: "grid", x1: 0, x2: "100%" });
        place(grid, tick);
        const where = { x: -6, y: height(tick), dy: 4, "text-anchor": "end" };
        svg.append(grid, element("text", where, tick));
      }
      svg.append(...this.parts.map((part) => part.group), this.boundary);
      this.at("means").append(...this.parts.map((part) => part.slider));
      this.at("arms").append(...this.parts.map((part) => part.item));
    }

    // Create an arm's bar and dot, its list item, and the slider that sets its mean.
    parted(arm) {
      const x = `${((arm + 0.5) / MEANS.length) * 100}%`;
      const bar = element("line", { class: "bar", x1: x, x2: x });
      const dot = element("circle", { cx: x, r: 5 });
      const range = { type: "range", min: 0, max: 1, step: 0.01, "aria-orientation": "vertical" };
      const slider = element("input", { ...range, "aria-label": `true mean of arm ${arm + 1}` });
      slider.addEventListener("input", () => {
        this.means[arm] = Number(slider.value);
        this.at("tally").replaceChildren();
        this.reset();
      });
      return { bar, dot, group: element("g", {}, bar, dot), slider, item: element("li") };
    }

    listen() {
      const { control } = this;
      for (const name of Object.keys(FIRST)) {
        control[name].addEventListener("change", () => this.reset());
      }
      control.one.addEventListener("click", () => {
        this.pause();
        if (!this.s.stopped) this.go(1);
      });
      control.run.addEventListener("click", () => {
        if (this.timer !== null) this.pause();
        else if (!this.s.stopped) this.run();
      });
      control.again.addEventListener("click", () => {
        this.seed += 1;
        this.reset();
        this.run();
      });
      control.many.addEventListener("click", () => this.many());
      control.hide.addEventListener("change", () => this.hide());
    }

    parameters() {
      const { k, budget, epsilon, delta } = this.control, { value: name } = this.control.strategy;
      if (!isFixedConfidence(name)) return { k: Number(k.value), budget: Number(budget.value) };
      const guarantee = { epsilon: Number(epsilon.value), delta: Number(delta.value) };
      return { k: Number(k.value), ...guarantee, budget: LIMIT };
    }

    // A new run, before its first sample.
    reset() {
      this.pause();
      const { control } = this, { value: name } = control.strategy, fixed = isFixedConfidence(name);
      for (const choice of this.root.querySelectorAll("[data-for]")) {
        choice.hidden = (choice.dataset.for === "guarantee") !== fixed;
      }
      const valid = fixed || control.budget.checkValidity();
      for (const button of ["one", "run", "again", "many"]) control[button].disabled = !valid;
      if (!valid) {
        const { min, max } = control.budget;
        const text = `The budget must be a whole number from ${number(+min)} to ${number(+max)}.`;
        this.at("told").textContent = text;
        return;
      }
      this.s = topkRules.start(name, this.parameters(), this.means.length);
      this.take = topkRules.rewards(this.means, this.seed);
      this.tried = [];
      control.again.textContent = `Again, seed ${this.seed + 1}`;
      control.many.textContent = `${PLAYS} runs`;
      this.at("key").textContent =
        "Short lines: true means, unknown to the strategy; drag them. Dots: empirical means, " +
        "filled in the set that would be returned now. Dashed: the boundary of that set. " +
        `${hasBars(name) ? "Bars: confidence bounds. " : ""}✓ accepted, ✗ rejected. ` +
        "Below: numbers of samples, underlined for the latest.";
      const { budget, delta, k } = this.s;
      const task = fixed
        ? `${name} samples until the error probability is at most ${delta},`
        : `${name} has ${number(budget)} samples`;
      this.draw(`${task} to find the best ${k} of eight.`);
    }

    // A set is correct if its i-th largest mean is at most ε below the i-th largest of all arms.
    isRight(s) {
      const falling = (values) => values.sort((a, b) => b - a);
      const best = falling([...this.means]), slack = (s.epsilon ?? 0) + 1e-9;
      const chosen = falling(topkRules.selected(s).map((arm) => this.means[arm]));
      return chosen.every((mean, place) => mean >= best[place] - slack);
    }

    draw(told) {
      const { s, control } = this, chosen = s.total ? topkRules.selected(s) : [];
      const intervals = topkRules.bounds(s);
      this.parts.forEach((part, arm) => this.drawArm(part, arm, chosen, intervals[arm]));
      const middle = boundary(s, chosen);
      this.boundary.style.visibility = middle === null ? "hidden" : "";
      place(this.boundary, middle ?? 0);
      this.at("means").style.visibility = control.hide.checked ? "hidden" : "";
      const rows = Object.entries(this.now(chosen)).map(([term, text]) =>
        element("div", {}, element("dt", {}, term), element("dd", {}, text)));
      this.at("now").replaceChildren(...rows);
      for (const name of ["one", "run"]) {
        control[name].setAttribute("aria-disabled", s.stopped !== null);
      }
      this.at("told").textContent = told;
    }

    drawArm(part, arm, chosen, [low, high]) {
      const { s } = this, state = letter(s, chosen, arm), [mark, word] = STATES[state];
      const pulls = number(s.pulls[arm]), mean = s.pulls[arm] ? seen(s, arm) : 0;
      part.group.setAttribute("class", s.pulls[arm] ? state : "unseen");
      part.bar.style.visibility = hasBars(s.name) ? "" : "hidden";
      place(part.bar, low, high);
      part.dot.setAttribute("cy", height(mean));
      part.slider.value = this.means[arm];
      part.item.className = state + (this.tried.includes(arm) ? " tried" : "");
      const [a, b, c] = [mean, low, high].map((x) => x.toFixed(2));
      const between = hasBars(s.name) ? `, between ${b} and ${c}` : "";
      const read = s.pulls[arm]
        ? `${word}, ${pulls} samples, mean ${a}${between}`
        : "not sampled yet";
      const shown = [["b", arm + 1], ["i", mark], ["span", pulls]].map(([name, text]) =>
        element(name, { "aria-hidden": true }, text));
      const reader = element("span", { class: "topk-panel-read" }, `Arm ${arm + 1}: ${read}`);
      part.item.replaceChildren(...shown, reader);
    }

    // The state of the run.
    now(chosen) {
      const { s } = this, fixed = isFixedConfidence(s.name);
      const spent = fixed ? "limit reached" : "yes: budget spent";
      const ended = { rule: "yes: by its rule", budget: spent };
      const judged = this.isRight(s) ? "✓ yes" : "✗ no";
      return {
        Samples: fixed ? number(s.total) : `${number(s.total)} of ${number(s.budget)}`,
        "Current set": chosen.length ? list(chosen) : "none yet",
        Stopped: ended[s.stopped] ?? "not yet",
        Correct: !chosen.length ? "–" : this.control.hide.checked ? "hidden" : judged,
      };
    }

    ending() {
      const set = `The set is ${list(topkRules.selected(this.s))}`;
      if (this.control.hide.checked) return `${set}. Untick “guess first” to see the means.`;
      return `${set}: ${this.isRight(this.s) ? "correct" : "wrong"}.`;
    }

    // Make the given number of decisions, and describe the last one.
    go(steps) {
      const { s } = this;
      let told = "";
      for (let i = 0; i < steps && !s.stopped; i++) {
        const { batch } = s, before = [...s.status];
        topkRules.tell(s, batch.map(([arm, count]) => this.take(arm, count)));
        this.tried = batch.map(([arm]) => arm);
        told = story(s, batch, before);
      }
      if (s.stopped) this.pause();
      this.draw(s.stopped ? `${told} ${this.ending()}` : told);
    }

    // Fixed-confidence rules make thousands of decisions, so their steps grow.
    run() {
      if (matchMedia("(prefers-reduced-motion: reduce)").matches) return this.go(Infinity);
      const fixed = isFixedConfidence(this.s.name);
      this.control.run.textContent = "Pause";
      this.at("told").setAttribute("aria-live", "off"); // too fast for a screen reader
      const step = () => this.go(fixed ? 1 + Math.floor(this.s.rounds / 25) : 1);
      this.timer = setInterval(step, fixed ? 60 : 900);
      return this.go(1);
    }

    // Stop the timers.
    pause() {
      clearTimeout(this.counting);
      clearInterval(this.timer);
      this.timer = null;
      this.control.run.textContent = "Run";
      this.at("told").setAttribute("aria-live", "polite");
    }

    // Run with seeds 1, 2, ..., a few at a time, so that the page stays responsive.
    many() {
      this.reset();
      const { name } = this.s, settings = this.parameters(), found = [];
      const some = () => {
        const until = performance.now() + 40;
        while (found.length < PLAYS && performance.now() < until) {
          const take = topkRules.rewards(this.means, found.length + 1);
          found.push(topkRules.play(name, settings, this.means.length, take));
        }
        if (found.length < PLAYS) {
          this.control.many.textContent = `${found.length} of ${PLAYS}`;
          this.counting = setTimeout(some);
          return;
        }
        this.control.many.textContent = `${PLAYS} runs`;
        this.at("tally").append(element("li", {}, this.summary(found)));
        this.s = found.at(-1);
        this.draw(`Run ${PLAYS} of ${PLAYS} is shown. ${this.ending()}`);
      };
      some();
    }

    summary(plays) {
      const [{ name, k, epsilon, delta, budget }] = plays, fixed = isFixedConfidence(name);
      const asked = fixed ? `δ = ${delta}, ε = ${epsilon}` : `budget ${number(budget)}`;
      const right = plays.filter((s) => this.isRight(s)).length;
      const tries = plays.reduce((sum, s) => sum + s.total, 0) / plays.length;
      const limited = fixed ? plays.filter((s) => s.stopped !== "rule").length : 0;
      return (
        `${name}, K = ${k}, ${asked}: correct in ${right} of ${plays.length} runs, ` +
        `${number(Math.round(tries))} samples on average` +
        `${limited ? `; ${limited} reached the limit` : ""}.`
      );
    }

    // Draw new hidden means, or show them.
    hide() {
      if (!this.control.hide.checked) {
        this.draw(this.s.stopped ? this.ending() : this.at("told").textContent);
        return;
      }
      this.means = this.means.map(() => Math.round(Math.random() * 100) / 100);
      this.at("tally").replaceChildren();
      this.reset();
    }
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll(".topk-panel").forEach((root) => new Panel(root));
  });
})();
