// What the panel and the figures that a reader operates have in common: elements, random numbers,
// the bets of topk.confidence.paired, and a plot of lines.
(() => {
  const halves = [...Array(7).keys()].map((j) => 0.012 / 2 ** j);
  const BETS = [0.9, 0.6, 0.4, 0.25, 0.15, 0.09, 0.05, 0.025, ...halves];
  const WEIGHTS = BETS.map((_, j) => (j < 9 ? 0.1 : 0.1 / 6));
  const MOST = 1e250; // capitals are cut off here

  const stake = () => BETS.map(() => 1);

  // Bet the parts of a capital, each at its own rate, and return the weighted sum that they become.
  function bet(parts, gain) {
    let e = 0;
    for (let j = 0; j < parts.length; j++) {
      parts[j] = Math.min(parts[j] * (1 + gain * BETS[j]), MOST);
      e += parts[j] * WEIGHTS[j];
    }
    return e;
  }

  // Return a function that draws uniform numbers in [0, 1): mulberry32.
  function uniforms(seed) {
    let state = seed | 0;
    return () => {
      state = (state + 0x6d2b79f5) | 0;
      let x = Math.imul(state ^ (state >>> 15), state | 1);
      x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
      return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
    };
  }

  function element(name, attributes = {}, ...content) {
    const svg = ["svg", "line", "circle", "text", "g", "path"].includes(name);
    const space = svg ? "http://www.w3.org/2000/svg" : "http://www.w3.org/1999/xhtml";
    const made = document.createElementNS(space, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...content);
    return made;
  }

  // At most six round numbers from low to high.
  function ticks(low, high) {
    const rough = (high - low) / 5, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].find((m) => m * power >= rough * 0.999) * power;
    const found = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9; i++) found.push(i * step + 0);
    return found;
  }

  // Lines over [0, most] and [low, high], in an svg whose size is given by its style.
  class Plot {
    constructor(svg, ...labels) {
      Object.assign(this, { svg, labels });
    }

    frame(most, low, high) {
      const part = (y) => (high - y) / (high - low);
      this.x = (value) => `${(100 * value) / most}%`;
      this.y = (value) => `${100 * part(value)}%`;
      this.scale = ([x, y]) => `${x / most} ${part(y)}`;
      this.lines = element("svg", {
        viewBox: "0 0 1 1", preserveAspectRatio: "none", width: "100%", height: "100%",
      });
      const text = (x, y, content, more) => element("text", { x, y, ...more }, content);
      const across = ticks(low, high).flatMap((y) => [
        element("line", { class: "grid", x1: 0, x2: "100%", y1: this.y(y), y2: this.y(y) }),
        text(-6, this.y(y), +y.toFixed(2), { dy: 4, class: "end" }),
      ]);
      const along = ticks(0, most).map((x) =>
        text(this.x(x), "100%", x.toLocaleString("en"), { dy: 16, class: "middle" }));
      this.svg.replaceChildren(...across, ...along, this.lines, text(0, 0, this.labels[1], { dy: -8 }),
        text("100%", "100%", this.labels[0], { dy: 32, class: "end" }));
    }

    // Draw a line through points, or draw it anew, and return its path.
    line(kind, points, path = element("path")) {
      path.setAttribute("class", kind);
      path.setAttribute("d", `M${points.map(this.scale).join("L")}`);
      this.lines.append(path);
      return path;
    }

    dot(kind, [x, y]) {
      this.svg.append(element("circle", { class: kind, cx: this.x(x), cy: this.y(y), r: 4 }));
    }
  }

  // A figure with sliders, a plot, the buttons One, Run and Many, and a caption that counts.
  class Figure {
    constructor(root, label, { choices, axes, key, one, many }) {
      root.innerHTML = `
        <div class="topk-panel-choices">${choices}</div>
        <div class="topk-touch-plot"><svg aria-hidden="true"></svg></div>
        <p class="topk-touch-key">${key}</p>
        <div class="topk-panel-buttons">
          <button name="one">${one}</button> <button name="run">To the end</button>
          <button name="many">${many}</button>
        </div>
        <p class="topk-touch-told" aria-live="polite"></p>
        <figcaption aria-live="polite"></figcaption>`;
      root.setAttribute("aria-label", label);
      this.control = {};
      for (const control of root.querySelectorAll("[name]")) this.control[control.name] = control;
      this.plot = new Plot(root.querySelector("svg"), ...axes);
      [this.told, this.caption] = root.querySelectorAll("[aria-live]");
      for (const slider of root.querySelectorAll("[type=range]")) {
        slider.after(element("output"));
        slider.addEventListener("input", () => this.reset());
      }
      for (const button of root.querySelectorAll("button")) {
        button.addEventListener("click", () => {
          this.pause();
          this[button.name]();
        });
      }
    }

    tell(text) {
      this.told.textContent = text;
    }

    // Show the value of a slider, and read it out.
    value(name, text) {
      this.control[name].nextElementSibling.textContent = text;
      this.control[name].setAttribute("aria-valuetext", text);
    }

    pause() {
      clearTimeout(this.timer);
    }

    // Call `step` until it returns false, every 40 ms or, if motion is to be reduced, at once.
    animate(step) {
      if (matchMedia("(prefers-reduced-motion: reduce)").matches) while (step());
      else if (step()) this.timer = setTimeout(() => this.animate(step), 40);
    }

    // Call `play` some times, for 40 ms at a time, so that the page stays responsive.
    repeat(times, play, done, made = 0) {
      const until = performance.now() + 40;
      for (; made < times && performance.now() < until; made++) play(made);
      done(made === times);
      if (made < times) this.timer = setTimeout(() => this.repeat(times, play, done, made));
    }
  }

  // Make the figures of a kind, which is a class, once the page is there.
  function make(kind, name) {
    document.addEventListener("DOMContentLoaded", () => {
      document.querySelectorAll(`[data-figure=${name}]`).forEach((root) => new kind(root));
    });
  }

  window.topkFigures = { stake, bet, uniforms, element, Figure, make };
})();
