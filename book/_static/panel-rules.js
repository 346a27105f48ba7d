// Six strategies of topk/strategies and topk/engine, for the interactive panel, with the same rules
// for ties. This file does not use the page: tests/book/test_panel.py runs it and the library on the
// same rewards and compares the results.
(() => {
  const ACTIVE = 0, ACCEPTED = 1, REJECTED = -1;
  const EVERYTHING = -1; // a share: the rest of the budget, distributed evenly

  const range = (n) => [...Array(n).keys()];
  const mean = (s, arm) => s.sums[arm] / s.pulls[arm];
  const active = (s) => range(s.n).filter((arm) => s.status[arm] === ACTIVE);

  // The active arms in decreasing order of sign * mean; ties by lower index. A race counts the
  // rewards of its whole rounds.
  function rank(s, sign = 1) {
    const seen = s.whole ?? s;
    const key = (arm) => (seen.pulls[arm] > 0 ? -sign * mean(seen, arm) : Infinity);
    return active(s).sort((a, b) => key(a) - key(b) || a - b);
  }

  function settle(s, arm, status) {
    s.status[arm] = status;
    if (status === s.sign) s.wanted -= 1; // sign is the status of the arms sought
  }

  // Rounds: all active arms are pulled equally often, then some are accepted or rejected.

  // Return whether rank `first` is settled before rank `last`: the one with the larger gap to the
  // boundary is, then the one with the larger distance in rank, then `last`.
  function firstLeaves(s, ranked, first, last) {
    const wanted = s.wanted, size = last - first + 1;
    if (wanted === 0 || wanted === size) return wanted === size;
    const sum = (place) => s.sign * s.sums[ranked[place]];
    const above = sum(first) - sum(first + wanted);
    const below = sum(first + wanted - 1) - sum(last);
    return above === below ? wanted > size - wanted : above > below;
  }

  const Uniform = {
    share: () => EVERYTHING,
    decide(s) {
      for (const arm of rank(s)) settle(s, arm, s.wanted > 0 ? ACCEPTED : REJECTED);
      s.stopped = "budget";
    },
  };

  // n_1, n_2, ...: the pulls of an active arm of SAR after each phase. Integer arithmetic, so that an
  // integer quotient is not rounded up.
  function phaseLengths(n, budget) {
    const unit = 1n << 256n;
    const up = (over, under) => (over + under - 1n) / under;
    let total = up(unit, 2n);
    for (let i = 2n; i <= n; i++) total += up(unit, i);
    return range(n - 1).map((j) => Number(up(BigInt(budget - n) * unit, total * BigInt(n - j))));
  }

  const phase = (s, size) => s.lengths[Math.min(s.n - size, s.n - 2)];

  const SAR = {
    constants: (s) => ({ lengths: phaseLengths(s.n, s.budget) }),
    share: (s) => phase(s, active(s).length) - s.pulls[active(s)[0]],
    decide(s) {
      const ranked = rank(s);
      let first = 0, last = ranked.length - 1;
      while (first <= last && phase(s, last - first + 1) === s.pulls[ranked[0]]) {
        if (firstLeaves(s, ranked, first, last)) settle(s, ranked[first++], ACCEPTED);
        else settle(s, ranked[last--], REJECTED);
      }
    },
  };

  const OptMAI = {
    // The worst n - K arms are sought if these are fewer than half.
    constants(s) {
      const sign = 2 * s.k < s.n ? 1 : -1, target = sign > 0 ? s.k : s.n - s.k;
      const inflated = s.budget / (1 - s.beta ** (Math.log(s.n) / Math.log(4 / 3)));
      return { sign, target, wanted: target, inflated, carried: 0 };
    },
    share(s) {
      const size = active(s).length, left = s.budget - s.total;
      const due = s.beta ** (s.rounds - 1) * (1 - s.beta) * s.inflated + s.carried;
      let pulls = Math.trunc(due / size + 1e-9);
      if (s.rounds === 1 && pulls === 0) pulls = 1;
      pulls = Math.max(0, Math.min(pulls, Math.floor(left / size)));
      s.carried = due - pulls * size;
      return pulls;
    },
    // Settle a quarter: the last ranks or, with few arms left, those with the largest gaps.
    decide(s) {
      const ranked = rank(s, s.sign), size = ranked.length;
      let first = 0, last = size - 1;
      while (s.wanted > 0 && 4 * (last - first + 1) > 3 * size) {
        if (size < 4 * s.target && firstLeaves(s, ranked, first, last)) {
          settle(s, ranked[first++], s.sign);
        } else {
          settle(s, ranked[last--], -s.sign);
        }
      }
      if (s.wanted === 0) s.stopped = "budget";
    },
  };

  const Rounds = {
    open(s) {
      while (!s.stopped) {
        const arms = active(s), left = s.budget - s.total;
        if (arms.length === 0 || left === 0) {
          s.stopped = "budget";
          return;
        }
        s.rounds += 1;
        const each = s.rule.share(s);
        if (each === EVERYTHING) {
          const more = (place) => (place < left % arms.length ? 1 : 0);
          s.batch = arms.map((arm, place) => [arm, Math.floor(left / arms.length) + more(place)]);
          s.batch = s.batch.filter(([, count]) => count > 0);
          return;
        }
        s.batch = arms.map((arm) => [arm, each]);
        if (each > 0) return;
        s.rule.decide(s); // a round with a share below one pull decides without new rewards
      }
    },
    update(s) {
      s.rule.decide(s);
      Rounds.open(s);
    },
    // For display only: these rules use no bounds. Hoeffding's, with 95 % simultaneous coverage.
    bounds(s, arm) {
      const u = s.pulls[arm], error = (3 * 0.05) / (Math.PI ** 2 * s.n * u * u);
      return around(mean(s, arm), Math.sqrt(-Math.log(error) / (2 * u)));
    },
  };

  // Indices: the critical pair is pulled, chosen by confidence bounds.

  const KEPT = 0.9, SLACK = 1e-6; // the share of delta without a reserve; see topk.sides
  const around = (middle, radius) => [middle - radius, middle + radius];

  const LUCB1 = {
    bounds(s, arm) {
      const scale = Math.sqrt((Math.log((1.25 * s.n) / s.delta) + 4 * Math.log(s.rounds)) / 2);
      return around(mean(s, arm), scale * (1 / Math.sqrt(s.pulls[arm])));
    },
  };

  // The largest q with u kl(ones / u, q) <= level, where u = ones + zeros.
  function highest(ones, zeros, level) {
    const u = ones + zeros;
    if (zeros === 0) return 1;
    if (ones === 0) return -Math.expm1(-level / u);
    const kl = (q) => ones * Math.log(ones / u / q) + zeros * Math.log(zeros / u / (1 - q));
    let low = ones / u, high = 1;
    for (let i = 0; i < 60; i++) {
      const middle = (low + high) / 2;
      if (kl(middle) <= level) low = middle;
      else high = middle;
    }
    return low;
  }

  // ln Gamma(x) for x > 0, by Stirling's series after steps to x >= 10.
  function logGamma(x) {
    let shift = 0;
    for (; x < 10; x += 1) shift += Math.log(x);
    const r = 1 / x, series = r * (1 / 12 - r * r * (1 / 360 - r * r * (1 / 1260 - (r * r) / 1680)));
    return (x - 0.5) * Math.log(x) - x + Math.log(2 * Math.PI) / 2 + series - shift;
  }

  // The logarithm of the largest likelihood over that of the mixture with density Beta(1/2, 1/2).
  function mixtureCost(ones, zeros) {
    const u = ones + zeros, part = (c) => (c ? c * Math.log(c / u) : 0);
    const mixture = logGamma(ones + 0.5) + logGamma(zeros + 0.5) - logGamma(u + 1) - Math.log(Math.PI);
    return part(ones) + part(zeros) - mixture;
  }

  // A one-sided upper bound at the level 1 / alpha = exp(level); see topk.sides.
  function above(ones, zeros, level) {
    const cost = mixtureCost(ones, zeros);
    let bound = highest(ones, zeros, cost + level);
    for (let i = 0; i < 2; i++) {
      const share = (2 / Math.PI) * Math.atan2(Math.sqrt(bound), Math.sqrt(1 - bound));
      bound = highest(ones, zeros,
        cost + level + Math.log(share + (1 - share) * Math.exp(-level)));
    }
    return bound;
  }

  const KLLUCB = {
    ownClocks: true, // an interval changes only when its arm is pulled
    bySides: true, // a floor on pulls if epsilon is 0, and only arms whose pulls help
    constants(s) {
      const c = Math.sqrt(s.n - s.k) / (Math.sqrt(s.k) + Math.sqrt(s.n - s.k));
      const level = (share, arms) => SLACK - Math.log((KEPT * share * s.delta) / arms);
      return { levelAbove: level(c, s.k), levelBelow: level(1 - c, s.n - s.k) };
    },
    bounds(s, arm) {
      const ones = s.sums[arm], zeros = s.pulls[arm] - ones;
      return [1 - above(zeros, ones, s.levelBelow), above(ones, zeros, s.levelAbove)];
    },
  };

  // The arms of the pair h, l whose pulls help to end the run, or an arm with too few pulls.
  function picked(s) {
    const fewest = strongest(range(s.n), (arm) => -s.pulls[arm]);
    if (s.epsilon === 0 && s.pulls[fewest] < Math.sqrt(s.total / s.n) / 2) return [fewest];
    const chosen = new Set(rank(s).slice(0, s.k)), { h, l, pulls } = s;
    const weight = (arm) => (chosen.has(arm) ? 1 : -1) * pulls[arm] ** 1.5;
    const surplus = range(s.n).reduce((sum, arm) => sum + weight(arm), 0);
    const few = 2 * s.k <= s.n;
    if (few && pulls[h] > pulls[l] && surplus > 0) return [l];
    if (!few && pulls[l] > pulls[h] && surplus < 0) return [h];
    return [h, l];
  }

  const Indices = {
    open(s) {
      s.batch = range(s.n).map((arm) => [arm, 1]);
      s.lines = [];
    },
    update(s) {
      s.rounds += 1;
      const moved = s.rounds > 1 && s.rule.ownClocks ? s.batch.map(([arm]) => arm) : range(s.n);
      for (const arm of moved) s.lines[arm] = s.rule.bounds(s, arm);
      const ranked = rank(s);
      s.h = strongest(ranked.slice(0, s.k), (arm) => -s.lines[arm][0]);
      s.l = strongest(ranked.slice(s.k), (arm) => s.lines[arm][1]);
      s.overlap = s.lines[s.l][1] - s.lines[s.h][0];
      if (s.overlap < s.epsilon) s.stopped = "rule";
      else if (s.total === s.budget) s.stopped = "budget";
      else {
        const pair = s.rule.bySides ? picked(s) : [s.h, s.l];
        s.batch = pair.map((arm) => [arm, 1]).slice(0, s.budget - s.total);
      }
    },
    bounds: (s, arm) => s.lines[arm],
  };

  // The arm with the largest key; ties by lower index.
  function strongest(arms, key) {
    const before = (a, b) => key(a) > key(b) || (key(a) === key(b) && a < b);
    return arms.reduce((best, arm) => (before(arm, best) ? arm : best));
  }

  // Pairs: claims "a is better than b" bet on the differences of the i-th rewards of a and b.

  const { bet, stake, uniforms } = topkFigures, ROUNDED = 1 + 1e-9;

  const Pairs = {
    open(s) {
      const claims = (value) => range(s.n).map(() => range(s.n).map(value));
      const count = s.epsilon > 0 ? s.k * (s.n - s.k) : (s.n - 1) / KEPT;
      s.level = (count / s.delta) * ROUNDED;
      [s.capitals, s.largest] = [claims(stake), claims(() => 1)];
      s.rewards = range(s.n).map(() => []);
      s.batch = range(s.n).map((arm) => [arm, 1]);
    },
    update(s, sums) {
      s.rounds += 1;
      s.batch.forEach(([arm], place) => Pairs.count(s, arm, sums[place]));
      const arm = Pairs.next(s);
      if (arm === null) s.stopped = "rule";
      else if (s.total === s.budget) s.stopped = "budget";
      else s.batch = [[arm, 1]];
    },
    count(s, arm, reward) {
      const number = s.rewards[arm].push(reward) - 1;
      for (const other of range(s.n)) {
        if (other === arm || s.rewards[other].length <= number) continue;
        const d = s.rewards[arm][number] - s.rewards[other][number];
        if (d === 0 && s.epsilon === 0) continue;
        for (const [a, b, gain] of [[arm, other, d + s.epsilon], [other, arm, s.epsilon - d]]) {
          s.largest[a][b] = Math.max(s.largest[a][b], bet(s.capitals[a][b], gain));
        }
      }
    },
    // The arm of the next pull, or null if all claims across the boundary are decided; h and l are
    // the pair of the weakest claim.
    next(s) {
      const ranked = rank(s), open = [];
      for (const a of ranked.slice(0, s.k)) {
        for (const b of ranked.slice(s.k)) if (s.largest[a][b] < s.level) open.push([a, b]);
      }
      if (open.length === 0) return null;
      [s.h, s.l] = open.reduce((x, y) => (s.largest[y[0]][y[1]] < s.largest[x[0]][x[1]] ? y : x));
      const fewest = strongest(range(s.n), (arm) => -s.pulls[arm]);
      if (s.pulls[fewest] < Math.sqrt(s.total / s.n) / 2) return fewest;
      const floor = Math.max(...s.pulls) / 4; // undecided arms with fewer come first
      const late = open.flat().filter((arm) => s.pulls[arm] < floor);
      if (late.length) return Math.min(...late);
      return s.pulls[s.h] <= s.pulls[s.l] ? s.h : s.l;
    },
  };

  // A race for the best arm, or for the worst: all that are left bet against themselves, and leave.
  const Race = {
    open(s) {
      s.level = ROUNDED / (KEPT * s.delta);
      [s.capitals, s.largest] = [range(s.n).map(stake), Array(s.n).fill(1)];
      s.whole = { pulls: [...s.pulls], sums: [...s.sums] };
      Race.round(s);
    },
    round(s) {
      const left = active(s), [first] = rank(s, s.sign);
      const reads = Math.floor(Math.sqrt(left.length - 1) + 0.5); // of the leader
      let room = s.budget - s.total;
      s.cut = left.length - 1 + reads > room;
      s.batch = left.map((arm) => {
        const count = Math.min(arm === first ? reads : 1, room);
        room -= count;
        return [arm, count];
      }).filter(([, count]) => count > 0);
      if (left.length === 1) s.stopped = "rule";
      else if (s.batch.length === 0) s.stopped = "budget";
    },
    update(s, sums) {
      s.rounds += 1;
      if (s.cut) return Object.assign(s, { stopped: "budget" });
      const left = active(s), [first, second] = rank(s, s.sign), worst = s.sign === REJECTED;
      const found = new Map(s.batch.map(([arm, count], place) => [arm, sums[place] / count]));
      const result = (arm) => (worst ? 1 - found.get(arm) : found.get(arm));
      for (const arm of left) {
        const gain = result(arm === first ? second : first) - result(arm);
        if (gain) s.largest[arm] = Math.max(s.largest[arm], bet(s.capitals[arm], gain));
      }
      s.whole = { pulls: [...s.pulls], sums: [...s.sums] };
      const leaving = left.filter((arm) => s.largest[arm] >= s.level), [best] = rank(s, s.sign);
      if (leaving.length === left.length) leaving.splice(leaving.indexOf(best), 1);
      for (const arm of leaving) settle(s, arm, -s.sign);
      return Race.round(s);
    },
  };

  const PairedBetting = {
    constants: (s) => (s.epsilon > 0 || s.k < s.n - 1 ? {} : { sign: REJECTED, wanted: 1 }),
    shape: (s) => (s.epsilon === 0 && (s.k === 1 || s.k === s.n - 1) ? Race : Pairs),
  };

  const shapes = { Uniform: Rounds, SAR: Rounds, OptMAI: Rounds, LUCB1: Indices, KLLUCB: Indices };
  const rules = { Uniform, SAR, OptMAI, LUCB1, KLLUCB, PairedBetting };

  // Start a run. s.batch has the pulls to be made: pairs of an arm and a number of pulls.
  function start(name, parameters, n) {
    const none = () => Array(n).fill(0);
    const s = { name, n, rule: rules[name], beta: 0.8, ...parameters };
    Object.assign(s, { pulls: none(), sums: none(), status: none(), total: 0, rounds: 0 });
    Object.assign(s, { sign: ACCEPTED, wanted: s.k, stopped: null, batch: [] });
    Object.assign(s, s.rule.constants?.(s));
    s.shape = shapes[name] ?? s.rule.shape(s);
    s.shape.open(s);
    return s;
  }

  // Add the sums of the batch's rewards, in its order, and open the next batch.
  function tell(s, sums) {
    s.batch.forEach(([arm, count], place) => {
      s.pulls[arm] += count;
      s.sums[arm] += sums[place];
      s.total += count;
    });
    s.shape.update(s, sums);
    if (s.stopped) s.batch = [];
  }

  // The set that would be returned now: the accepted arms and the best active ones.
  function selected(s) {
    const ranked = rank(s, s.sign);
    const rest = s.sign > 0 ? ranked.slice(0, s.wanted) : ranked.slice(s.wanted);
    const accepted = range(s.n).filter((arm) => s.status[arm] === ACCEPTED);
    return [...accepted, ...rest].sort((a, b) => a - b);
  }

  // The confidence interval of each arm, cut to [0, 1]; where pairs are compared there is none.
  function bounds(s) {
    const cut = (x) => Math.max(0, Math.min(1, x)), has = s.shape.bounds;
    return range(s.n).map((arm) => (has && s.pulls[arm] ? has(s, arm).map(cut) : [0, 1]));
  }

  // Run to the end; take(arm, count) returns the sum of the arm's next rewards.
  function play(name, parameters, n, take) {
    const s = start(name, parameters, n);
    while (!s.stopped) tell(s, s.batch.map(([arm, count]) => take(arm, count)));
    return s;
  }

  // Bernoulli rewards that depend only on the seed, the arm and its number of pulls, so that all
  // strategies receive the same rewards under one seed.
  function rewards(means, seed) {
    const [a, b] = [0x9e3779b1, 0x85ebca6b];
    const draw = means.map((_, arm) => uniforms(Math.imul(seed, a) ^ Math.imul(arm + 1, b)));
    return (arm, count) => {
      let sum = 0;
      for (let i = 0; i < count; i++) if (draw[arm]() < means[arm]) sum += 1;
      return sum;
    };
  }

  const names = Object.keys(rules);
  const fixedConfidence = names.filter((name) => shapes[name] !== Rounds);
  window.topkRules = { start, tell, selected, bounds, play, rewards, rank, names, fixedConfidence };
})();
