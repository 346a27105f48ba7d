// Two coins: the log likelihood ratio of tosses walks to a stop line; wrong decisions are counted.
(() => {
  const FAIR = 0.5, WALKS = 500, SHOWN = 30, KINDS = ["fair", "other"];
  const { uniforms, Figure, make } = topkFigures;
  const LAYOUT = {
    axes: ["tosses", "log likelihood ratio"],
    one: "One toss",
    many: `${WALKS} walks of each coin`,
    choices: `
      <label>ε <input name="epsilon" type="range" min=".01" max=".1" step=".005" value=".03"></label>
      <label>Stop lines <input name="b" type="range" min="1" max="6" step="0.25" value="3"></label>
      <label>Coin <select name="coin"></select></label>`,
    key: "Solid: the fair coin. Dashed: the other one. Thin: earlier walks.",
  };

  const kl = (x, y) => x * Math.log(x / y) + (1 - x) * Math.log((1 - x) / (1 - y));
  const points = (walk) => walk.path.map((value, place) => [place, value]);
  const few = (x) => (x < 10 ? x.toFixed(1) : Math.round(x).toLocaleString("en"));

  // What the page proves of the test that stops at ±b: the largest probability of a wrong decision,
  // and the fewest and most tosses on average, of the fair coin and of that of mean q.
  function proved(q, b) {
    const error = Math.exp(-b), information = [kl(FAIR, q), kl(q, FAIR)];
    const last = [Math.log(FAIR / (1 - q)), Math.log(q / FAIR)];
    return {
      error,
      fewest: information.map((rate) => kl(error, 1 - error) / rate), // b > ln 2
      most: information.map((rate, coin) => (b + last[coin]) / rate),
    };
  }

  // A walk of a coin: 0 is the fair one, 1 that of mean q. `path` has ln of the likelihood ratio.
  const begin = (coin, q, b) => ({ coin, q, b, path: [0], over: false });

  function toss(walk, u) {
    const { coin, q, b, path } = walk, head = u < (coin ? q : FAIR);
    path.push(path.at(-1) + Math.log(head ? q / FAIR : (1 - q) / (1 - FAIR)));
    walk.over = Math.abs(path.at(-1)) >= b;
    return head;
  }

  const named = (walk) => (walk.path.at(-1) > 0 ? 1 : 0); // the coin that is decided for

  class Coins extends Figure {
    constructor(root) {
      super(root, "Two coins to toss", LAYOUT);
      this.draw = uniforms(3);
      this.told.style.minHeight = 0; // it is never empty
      this.control.coin.append(new Option("", 0), new Option("", 1));
      this.control.coin.addEventListener("change", () => this.start());
      this.reset();
    }

    // Other coins or other lines: counting begins anew, with a walk that is drawn at once.
    reset() {
      const { epsilon, b, coin } = this.control, q = FAIR + 4 * Number(epsilon.value);
      Object.assign(this, { q, b: Number(b.value), mean: q.toFixed(2), old: [] });
      this.proved = proved(this.q, this.b);
      this.tally = [0, 1].map(() => ({ walks: 0, wrong: 0, tosses: 0 }));
      this.value("epsilon", epsilon.value);
      this.value("b", `±${b.value}`);
      coin.options[0].text = "fair: mean 0.5";
      coin.options[1].text = `mean ${this.mean}`;
      this.start();
      this.step(Infinity);
      this.show();
    }

    start() {
      this.pause();
      this.walk = begin(Number(this.control.coin.value), this.q, this.b);
      this.show();
      this.hint();
    }

    hint() {
      this.tell(`At the upper line a walk decides for mean ${this.mean}, at the lower one for 0.5.`);
    }

    show() {
      const { plot, b, walk } = this, most = 2.5 * Math.max(...this.proved.most);
      plot.frame(Math.max(most, walk.path.length), -1.4 * b, 1.4 * b);
      for (const side of [-b, b]) plot.line("stop", [[0, side], [10 * most, side]]);
      for (const old of this.old) plot.line(`old ${KINDS[old.coin]}`, points(old));
      this.line = plot.line(KINDS[walk.coin], points(walk));
      this.count();
    }

    // Toss some times, or until the walk ends; return whether the last one was a head.
    step(tosses) {
      let head = null;
      for (let i = 0; i < tosses && !this.walk.over; i++) head = toss(this.walk, this.draw());
      if (this.walk.over) this.end();
      this.plot.line(KINDS[this.walk.coin], points(this.walk), this.line);
      return head;
    }

    one() {
      if (this.walk.over) this.start();
      const face = this.step(1) ? "a head" : "a tail", { path, over } = this.walk;
      if (over) return;
      const ratio = Math.exp(path.at(-1)).toPrecision(2);
      this.tell(`Toss ${path.length - 1}: ${face}. The likelihood ratio is ${ratio}.`);
    }

    run() {
      if (this.walk.over) this.start();
      const each = Math.ceil(Math.max(...this.proved.most) / 60); // tosses at a time
      this.hint();
      this.animate(() => {
        this.step(each);
        return !this.walk.over;
      });
    }

    end() {
      const { walk } = this, found = named(walk), side = found ? "upper" : "lower";
      this.enter(walk);
      this.tell(`After ${walk.path.length - 1} tosses the walk is at the ${side} line, and decides for ` +
        `mean ${found ? this.mean : FAIR}: ${found === walk.coin ? "right" : "wrong"}.`);
      this.count();
    }

    enter(walk) {
      const tally = this.tally[walk.coin];
      tally.walks += 1;
      tally.wrong += named(walk) !== walk.coin;
      tally.tosses += walk.path.length - 1;
      this.old = [...this.old, walk].slice(-SHOWN);
    }

    many() {
      this.repeat(2 * WALKS, (number) => {
        const walk = begin(number % 2, this.q, this.b);
        while (!walk.over) toss(walk, this.draw());
        this.enter(walk);
      }, () => this.start());
    }

    // What the page proves beside what has been counted.
    count() {
      const { error, fewest, most } = this.proved;
      const counted = this.tally.map(({ walks, wrong, tosses }, coin) => {
        const found = walks
          ? `${wrong} of ${walks}, a share of ${(wrong / walks).toFixed(3)}, wrong; ` +
            `${few(tosses / walks)} tosses on average`
          : "no walk yet";
        return `Counted with ${coin ? `the coin of mean ${this.mean}` : "the fair coin"}: ${found} ` +
          `(proved for the mean: ${few(fewest[coin])} to ${few(most[coin])}).`;
      });
      this.caption.textContent = "Proved: with either coin a decision is wrong with probability at " +
        `most e⁻ᵇ = ${error.toFixed(3)}. ${counted.join(" ")}`;
    }
  }

  window.topkCoins = { proved, begin, toss, named };
  make(Coins, "coins");
})();
