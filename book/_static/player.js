// Animate the runs recorded by topk_book.recording, by moving the parts of the static drawings.
(() => {
  const TOP = 14, SPAN = 190; // as in book/topk_book/recording.py
  const y = (value) => (TOP + (1 - value) * SPAN).toFixed(1);
  const marks = { a: "✓", r: "✗" };

  // Draw a run as it was after the given number of pulls.
  function draw(stage, play, made) {
    const frame = play.frames.findLast((one) => one[0] <= made) || play.frames[0];
    const [pulls, means, low, high, state, boundary] = frame;
    stage.querySelectorAll("g.arm").forEach((arm, i) => {
      arm.setAttribute("class", `arm ${state[i]}`);
      const bar = arm.querySelector(".bar");
      bar.setAttribute("y1", y(low[i]));
      bar.setAttribute("y2", y(high[i]));
      arm.querySelector("circle").setAttribute("cy", y(means[i]));
      arm.querySelector(".mark").textContent = marks[state[i]] || "";
    });
    const line = stage.querySelector(".boundary");
    line.setAttribute("class", boundary === null ? "boundary hidden" : "boundary");
    line.setAttribute("y1", y(boundary ?? 1));
    line.setAttribute("y2", y(boundary ?? 1));
    const inside = [...state].flatMap((letter, i) => ("ac".includes(letter) ? [i + 1] : []));
    const text = `${pulls.toLocaleString("en")} pulls`;
    stage.querySelector(".count").textContent = text;
    const end = frame === play.frames.at(-1) ? `; ${play.ended}` : "";
    const arms = `arm${inside.length > 1 ? "s" : ""} ${inside.join(", ")}`;
    const told = `${play.name} after ${text}; its set is ${arms}${end}`;
    stage.querySelector("svg").setAttribute("aria-label", told);
    return told;
  }

  function button(label, text, act) {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.setAttribute("aria-label", label);
    made.addEventListener("click", act);
    return made;
  }

  function start(player) {
    const plays = JSON.parse(player.querySelector("script").textContent);
    const stages = player.querySelectorAll(".topk-player-stage");
    // Use the moments of the longest run, from the first that all runs have.
    const first = Math.max(...plays.map((play) => play.frames[0][0]));
    const long = plays.reduce((a, b) => (a.frames.at(-1)[0] < b.frames.at(-1)[0] ? b : a));
    const moments = long.frames.map(([pulls]) => pulls).filter((pulls) => pulls >= first);
    const last = moments.length - 1;
    const still = matchMedia("(prefers-reduced-motion: reduce)");
    let moment = 0, timer = null;

    const slider = document.createElement("input");
    Object.assign(slider, { type: "range", min: 0, max: last, value: 0 });
    slider.setAttribute("aria-label", "moment of the run");
    const told = document.createElement("span");
    told.className = "topk-player-told";
    told.setAttribute("aria-live", "polite");

    function show(next) {
      moment = Math.max(0, Math.min(last, next));
      const texts = plays.map((play, i) => draw(stages[i], play, moments[moment]));
      slider.value = moment;
      slider.setAttribute("aria-valuetext", texts.join(". "));
      told.textContent = `${texts.join(". ")}.`;
    }
    function pause() {
      clearInterval(timer);
      timer = null;
      told.setAttribute("aria-live", "polite");
      run.textContent = "▶";
      run.setAttribute("aria-label", "play");
      show(moment);
    }
    function play() {
      if (moment === last) moment = 0;
      told.setAttribute("aria-live", "off"); // too fast for a screen reader
      run.textContent = "❚❚";
      run.setAttribute("aria-label", "pause");
      timer = setInterval(() => {
        show(moment + 1);
        if (moment === last) pause();
      }, still.matches ? 1000 : 150);
      show(moment);
    }
    const run = button("play", "▶", () => (timer === null ? play() : pause()));
    const to = (change) => { if (timer !== null) pause(); show(change()); };
    slider.addEventListener("input", () => to(() => Number(slider.value)));
    const controls = player.querySelector(".topk-player-controls");
    controls.append(
      run,
      button("one step back", "‹", () => to(() => moment - 1)),
      button("one step forward", "›", () => to(() => moment + 1)),
      slider,
      told,
    );
    controls.hidden = false;
    show(0);
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll(".topk-player").forEach(start);
  });
})();
