// A stream of candidates through a gate, and past a champion that whatever scores better replaces.
// The gate is topk_eval.Gate with the page's settings, a batch of items at a time.
(() => {
  const START = 0.6, DISCORDANT = 0.2, HIGHEST = 0.95; // of the page's loops
  const CANDIDATES = 200, SAME = 100, STREAMS = 50;
  const SPEND = 0.02, MOST = 1000, GAIN = 0.05, BATCH = 100, FUTILE = 10;
  const LEVELS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5];
  const { stake, bet, uniforms, Figure, make } = topkFigures;
  const LAYOUT = {
    axes: ["candidates", "score of the champion"],
    one: "One candidate",
    many: `${STREAMS} streams`,
    choices: `
      <label>Better candidates <input name="better" type="range" min="0" max="30" value="5"></label>
      <label>Level δ <input name="level" type="range" min="0" max="5" value="2"></label>`,
    key: "Solid: true score of the gate's champion. Dashed: true score of the " +
      "greedy rule's; dotted: the score that it reports. Dots: false acceptances.",
  };
  const number = (x) => x.toLocaleString("en");
  const mean = (results) => results.reduce((sum, result) => sum + result, 0) / results.length;

  // The trial of a candidate: next() returns its result minus the champion's on the next item. It
  // takes a share of what is left of delta, and gives some back if it is abandoned.
  function trial(gate, next) {
    const level = SPEND * gate.left, rise = stake(), fall = stake();
    let e = 1, largest = 1, items = 0, status = null;
    gate.left -= level;
    while (status === null) {
      let against = 1;
      for (let i = 0; i < BATCH; i++) {
        const d = next();
        e = bet(rise, d);
        largest = Math.max(largest, e);
        against = Math.max(against, bet(fall, (GAIN - d) / (1 - GAIN)));
      }
      items += BATCH;
      if (largest * level >= 1) status = "accepted";
      else if (against >= FUTILE || items === MOST) status = "abandoned";
    }
    if (status === "abandoned") gate.left += level * Math.min(1, e);
    return { status, items, level, largest };
  }

  // How much better than the champion a candidate is: 70 % are worse, `better` of them are better.
  function gain(better, draw) {
    const u = draw(), size = draw();
    return u < 0.7 ? -0.1 * size : u > 1 - better ? 0.08 * size : 0;
  }

  function begin(better, delta, seed) {
    const draw = uniforms(Math.imul(seed, 0x9e3779b1));
    const same = Array.from({ length: SAME }, () => Number(draw() < START));
    const path = () => ({ true: [START], false: [] });
    return { better, draw, same, gate: { left: delta, ...path() }, greedy: path(), offered: 0,
             items: 0, reported: [mean(same)] };
  }

  // Add the gain of an accepted candidate to the score; note whether the acceptance is false.
  function enter(rule, accepted, g, offered) {
    rule.true.push(rule.true.at(-1) + (accepted ? g : 0));
    if (accepted && g <= 0) rule.false.push(offered);
  }

  // Offer one candidate to the gate and to the greedy rule.
  function offer(s) {
    const g = gain(s.better, s.draw);
    const capped = (rule) => Math.min(g, HIGHEST - rule.true.at(-1));
    s.offered += 1;
    const ours = capped(s.gate), found = trial(s.gate, () => {
      const u = s.draw();
      return u < (DISCORDANT + ours) / 2 ? 1 : u > 1 - (DISCORDANT - ours) / 2 ? -1 : 0;
    });
    s.items += found.items;
    const theirs = capped(s.greedy), now = s.greedy.true.at(-1);
    const gained = (DISCORDANT + theirs) / (2 * (1 - now)), lost = (DISCORDANT - theirs) / (2 * now);
    const flips = (result) => s.draw() < (result ? lost : gained);
    const candidate = s.same.map((result) => (flips(result) ? 1 - result : result));
    const kept = mean(candidate) > mean(s.same);
    if (kept) s.same = candidate;
    s.reported.push(mean(s.same));
    enter(s.gate, found.status === "accepted", ours, s.offered);
    enter(s.greedy, kept, theirs, s.offered);
    return { ...found, g, kept };
  }

  class Stream extends Figure {
    constructor(root) {
      super(root, "A stream of candidates", LAYOUT);
      this.seed = 1;
      this.reset();
    }

    // Counting begins anew, with a stream that is drawn at once.
    reset() {
      const { better, level } = this.control;
      this.better = Number(better.value) / 100;
      this.delta = LEVELS[Number(level.value)];
      // Of each rule: false acceptances, and streams with one.
      this.tally = { streams: 0, gate: [0, 0], greedy: [0, 0] };
      this.value("better", `${better.value} %`);
      this.value("level", this.delta);
      this.whole();
      this.show();
    }

    start() {
      this.begin();
      this.show();
      this.tell("");
    }

    begin() {
      this.pause();
      this.s = begin(this.better, this.delta, this.seed++);
    }

    whole() {
      this.begin();
      while (!this.over()) this.step();
    }

    show() {
      const { plot, s } = this;
      const line = (kind, scores) => plot.line(kind, scores.map((y, x) => [x, y]));
      plot.frame(CANDIDATES, 0.4, 1);
      line("greedy reported", s.reported);
      for (const name of ["greedy", "gate"]) {
        line(name, s[name].true);
        for (const at of s[name].false) plot.dot(name, [at, s[name].true[at]]);
      }
      if (this.over()) this.end();
    }

    // Offer the next candidate; a stream that is over is counted.
    step() {
      const found = offer(this.s);
      if (this.over()) this.count();
      return found;
    }

    over() {
      return this.s.offered === CANDIDATES;
    }

    // What the page proves beside what is counted.
    count() {
      const { s, tally } = this, streams = ++tally.streams;
      const counted = ["gate", "greedy"].map((name) => {
        const wrong = s[name].false.length, all = tally[name][0] += wrong;
        const some = tally[name][1] += wrong > 0;
        return `${name} ${(all / streams).toFixed(2)} a stream, in ${some} of ${streams} streams`;
      });
      this.caption.textContent = "Proved: in a whole stream the gate accepts on average at most " +
        `δ = ${this.delta} candidates that are not better. Counted: ${counted.join("; ")}.`;
    }

    one() {
      if (this.over()) this.start();
      const { status, items, level, largest, g, kept } = this.step();
      this.show();
      const is = g ? `${g > 0 ? "better" : "worse"} by ${Math.abs(g).toFixed(3)}` : "equal";
      const needed = number(Math.ceil(1 / level));
      this.tell(`Candidate ${this.s.offered} is ${is}. The gate has ${status} it after ` +
        `${number(items)} items: capital ${largest.toPrecision(3)} of the ${needed} needed. ` +
        `The greedy rule ${kept ? "keeps" : "drops"} it.`);
    }

    run() {
      if (this.over()) this.start();
      this.tell("");
      this.animate(() => {
        this.step();
        this.show();
        return !this.over();
      });
    }

    end() {
      const { gate, greedy, reported, items } = this.s, last = (scores) => scores.at(-1).toFixed(2);
      this.tell(`The gate ends at a true score of ${last(gate.true)}, after ${number(items)} items; ` +
        `greedy ends at ${last(greedy.true)} and reports ${last(reported)}. False acceptances: ` +
        `${gate.false.length} and ${greedy.false.length}.`);
    }

    many() {
      this.repeat(STREAMS, () => this.whole(), () => this.show());
    }
  }

  window.topkGate = { trial, begin, offer };
  make(Stream, "gate");
})();
