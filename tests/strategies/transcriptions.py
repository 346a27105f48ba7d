"""Literal transcriptions of the papers' pseudo-code, slow and plain, by family of algorithms.

A transcription is a generator.  It is given a strategy, of which it reads the parameters, and the
number n of arms or the pair (M, n).  It yields the pulls that it wants, a list of ``(arm, count)``
with counts of at least 1, is sent the sum of the rewards of each entry (0/1 rewards, so whole
numbers), and returns ``(set of arms, 'rule' or 'budget')``.  Means are fractions, so that nothing
is rounded; nothing is imported from the library.

Where the papers leave it open, this library ranks arms by mean, then by lower index, and ranks
decide.  Of equal gaps the one with the larger rank distance from the boundary counts; if that is
equal, too, the last rank is rejected.
"""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache, wraps
from types import SimpleNamespace

import numpy as np


class Seen:
    """Pulls and rewards so far; arm i of bandit m has index m * n + i."""

    def __init__(self, shape):
        bandits, n = shape if isinstance(shape, tuple) else (1, shape)
        self.pulls, self.sums = [0] * (bandits * n), [0] * (bandits * n)
        self.bandits = [range(m * n, (m + 1) * n) for m in range(bandits)]

    def sample(self, batch):
        """Pull; return the results of this batch alone."""
        own = Seen(len(self.pulls))
        batch = [(arm, count) for arm, count in batch if count > 0]
        sums = (yield batch) if batch else ()
        for (arm, count), total in zip(batch, sums, strict=True):
            for record in (self, own):
                record.pulls[arm] += count
                record.sums[arm] += int(total)
        return own

    def mean(self, arm):
        return Fraction(self.sums[arm], self.pulls[arm])

    def ranked(self, arms):
        return sorted(arms, key=lambda arm: (-self.mean(arm), arm))


def leaves_first(ranks, means, wanted):
    """Of ranked arms, return the one with the largest gap, whether it is accepted, and its gap.

    ``means`` are those of all the arms when the gaps were computed, best first, with
    ``wanted`` of them on the accept side; ``ranks`` maps the arms that are left to their
    ranks among them.  If one side is empty there are no gaps: the end of the other side goes.
    """

    def order(arm):
        rank, accept = ranks[arm], ranks[arm] < wanted
        gap = 0
        if 0 < wanted < len(means):
            gap = means[rank] - means[wanted] if accept else means[wanted - 1] - means[rank]
        return gap, wanted - rank if accept else rank - wanted + 1, not accept

    arm = max(ranks, key=order)
    return arm, ranks[arm] < wanted, order(arm)[0]


def leaver(seen, active, wanted):
    """`leaves_first` of all active arms, by the means that were seen."""
    ranked = seen.ranked(active)
    ranks = {arm: rank for rank, arm in enumerate(ranked)}
    return leaves_first(ranks, [seen.mean(arm) for arm in ranked], wanted)


def uniform(s, n):
    """Uniform sampling, as in Zhou et al. (2014), Remark 4.2; the remainder to low indices."""
    seen = Seen(n)
    yield from seen.sample([(a, s.budget // n + (a < s.budget % n)) for a in range(n)])
    return set(seen.ranked(range(n))[: s.k]), "budget"


def sar_lengths(n, budget):
    """n_0, n_1, ..., n_{n-1} of Bubeck et al. (2013), Figure 1, in exact arithmetic."""
    log_bar = Fraction(1, 2) + sum(Fraction(1, i) for i in range(2, n + 1))
    return [0] + [math.ceil(Fraction(budget - n, n + 1 - j) / log_bar) for j in range(1, n)]


def sar(s, n):
    """Bubeck et al. (2013), Figure 1: steps (1) to (4) of phases 1 to n - 1."""
    seen, lengths = Seen(n), sar_lengths(n, s.budget)
    active, accepted = list(range(n)), set()
    for j in range(1, n):
        # (1) pull every active arm n_j - n_{j-1} times
        yield from seen.sample([(arm, lengths[j] - lengths[j - 1]) for arm in active])
        # (2) and (3) deactivate the arm with the largest gap over all n_j pulls
        arm, accept, _ = leaver(seen, active, s.k - len(accepted))
        active.remove(arm)
        # (4) accept it if it is among the m(j) best
        accepted |= {arm} if accept else set()
    # the arm that is left may be the last one wanted
    return accepted | set(active[: s.k - len(accepted)]), "budget"


def successive_rejects(s, n):
    """Audibert et al. (2010) for n - k phases, as in Bubeck et al. (2013), Section 5."""
    constant = Fraction(s.k, s.k + 1) + sum(Fraction(1, i) for i in range(s.k + 1, n + 1))
    seen, active, before = Seen(n), list(range(n)), 0
    for j in range(1, n - s.k + 1):
        length = math.ceil(Fraction(s.budget - n, n + 1 - j) / constant)
        yield from seen.sample([(arm, length - before) for arm in active])
        active.remove(seen.ranked(active)[-1])
        before = length
    return set(active), "budget"


def sequential_halving(s, n):
    """Karnin et al. (2013), their second algorithm, stopped at k arms; the whole pulls are ours.

    For more than half of the arms it seeks the others, and accepts in place of dropping.
    """
    seen, active, left, few = Seen(n), list(range(n)), s.budget, min(s.k, n - s.k)
    rounds = math.ceil(math.log2(Fraction(n, few)))  # exact enough for n up to some thousands
    for r in range(rounds):
        each = math.floor(Fraction(left, len(active) * (rounds - r)))
        each = max(each, 1) if r == 0 else each
        own = yield from seen.sample([(arm, each) for arm in active])
        shown = seen if s.reuse or each == 0 else own
        left -= each * len(active)
        ranked, kept = shown.ranked(active), max(math.ceil(len(active) / 2), few)
        active = sorted(ranked[:kept] if few == s.k else ranked[len(active) - kept :])
    return set(active) if few == s.k else set(range(n)) - set(active), "budget"


def multi_sar(s, shape):
    """Bubeck et al. (2013), Section 4: multi-bandit SAR."""
    seen, accepted = Seen(shape), set()
    active, size = [list(arms) for arms in seen.bandits], len(seen.pulls)
    lengths = sar_lengths(size, s.budget)
    for j in range(1, size + 1):  # after phase M n - 1 the last active arm is accepted
        if j < size:
            more = lengths[j] - lengths[j - 1]
            yield from seen.sample([(arm, more) for own in active for arm in own])
        single = [own for own in active if len(own) == 1]
        if single:
            accepted.add(single[0].pop())
            continue
        # the largest gap; of equal ones the larger rank, then the higher number
        *_, arm, own = max(
            (seen.mean(ranked[0]) - seen.mean(arm), rank, arm, own)
            for own in active
            for ranked in [seen.ranked(own)]
            for rank, arm in enumerate(ranked)
        )
        own.remove(arm)
    return accepted, "budget"


def optmai(s, n):
    """Zhou et al. (2014), Algorithm 1; for k >= n/2 by the complement (after Theorem 4.5)."""
    if 2 * s.k < n:
        chosen = yield from optmai_small(s, n, s.k)
        return chosen, "budget"
    worst = optmai_small(s, n, n - s.k)
    try:
        batch = next(worst)
        while True:
            sums = yield batch
            flipped = [count - total for (_, count), total in zip(batch, sums, strict=True)]
            batch = worst.send(flipped)  # a reward x is fed as 1 - x
    except StopIteration as end:
        return set(range(n)) - end.value, "budget"


def optmai_small(s, n, k):
    """Algorithm 1, lines 2 to 12, with the budgets of Section 6."""
    seen, active, accepted = Seen(n), list(range(n)), set()  # S_0, T_0
    left, carry, r = s.budget, Decimal(0), 0
    while len(accepted) < k and active:  # line 3
        size = len(active)
        last = s.final == "uniform" and size < 4 * k  # Remark 4.1
        if last:
            batch = [(arm, left // size + (j < left % size)) for j, arm in enumerate(active)]
        else:
            due, share = optmai_share(n, s.budget, s.beta, r, carry, size)
            share = max(0, min(max(share, 1) if r == 0 else share, left // size))
            carry, left = due - share * size, left - share * size
            batch = [(arm, share) for arm in active]
        own = yield from seen.sample(batch)
        shown = seen if s.reuse or not all(count for _, count in batch) else own
        if last:
            return set(shown.ranked(active)[:k])
        if size >= 4 * k:  # lines 4 to 6: exactly ceil(|S|/4) arms leave, ties and all
            active = sorted(shown.ranked(active)[: size - math.ceil(Fraction(size, 4))])
        else:  # line 8
            active, accepted = accept_reject(shown, active, accepted, k)
        r += 1  # line 10
    return accepted


def optmai_share(n, budget, beta, r, carry, size):
    """What round r may spend, and the whole pulls of each arm that this makes."""
    with localcontext(prec=60):
        beta = Decimal(beta)
        rounds = Decimal(n).ln() / (Decimal(4) / Decimal(3)).ln()
        inflated = budget / (1 - (beta.ln() * rounds).exp())
        due = beta**r * (1 - beta) * inflated + carry
        return due, math.floor(due / size + Decimal("1e-9"))


def accept_reject(shown, active, accepted, k):
    """Algorithm 3, lines 3 to 10."""
    wanted, ranked = k - len(accepted), shown.ranked(active)  # line 3: K'
    means = [shown.mean(arm) for arm in ranked]  # gaps are computed once
    ranks, accepted = {arm: rank for rank, arm in enumerate(ranked)}, set(accepted)
    while len(accepted) < k and 4 * len(ranks) > 3 * len(active):  # line 4
        arm, accept, _ = leaves_first(ranks, means, wanted)  # line 5
        del ranks[arm]
        accepted |= {arm} if accept else set()  # lines 6 to 8
    return sorted(ranks), accepted


# Index strategies.  Their indices are sums of fractions and square roots, compared as decimal
# numbers with 60 digits of which 40 count, so that equal ones are equal.


def indexed(decide):
    """Return the transcription of a rule that is asked before every further pull.

    ``decide(s, seen)`` returns the set of arms, those that are pulled next, and whether the
    play ends by the rule; ``seen.t`` counts how often it has been asked.
    """
    @wraps(decide)
    def careful(s, seen):
        with localcontext(prec=60):
            return decide(s, seen)

    @wraps(decide)
    def play(s, shape, rng=None):
        seen = Seen(shape)
        seen.t, seen.kept, seen.rng = 0, [], rng
        first = 2 if getattr(s, "variance", False) else 1
        yield from seen.sample([(arm, first) for arm in range(len(seen.pulls))])
        while True:
            seen.t += 1
            chosen, arms, ended = careful(s, seen)
            left = math.inf if s.budget is None else s.budget - sum(seen.pulls)
            if ended or left == 0:
                return chosen, "rule" if ended else "budget"
            yield from seen.sample([(arm, 1) for arm in arms][: min(2, left)])

    play.decide = careful
    return play


def exact(x):
    x = Fraction(x)
    return Decimal(x.numerator) / Decimal(x.denominator)


def rounded(x, digits=40):
    return x.quantize(Decimal(1).scaleb(-digits))


def shared_radius(seen, squared):
    """The radii of all arms, if that of an arm with one pull has the square ``squared``."""
    return [(squared / pulls).sqrt() for pulls in seen.pulls]


def limits(seen, arms, radius):
    """Lower and upper bounds."""
    mean = {arm: exact(seen.mean(arm)) for arm in arms}
    return [{arm: rounded(mean[arm] + sign * radius[arm]) for arm in arms} for sign in (-1, 1)]


def boundary_gap(seen, ranked, k, arm):
    """The empirical gap of Bubeck et al. (2013): to rank k + 1 inside, to rank k outside."""
    if ranked.index(arm) < k:
        return seen.mean(arm) - seen.mean(ranked[k])
    return seen.mean(ranked[k - 1]) - seen.mean(arm)


def closest_pair(s, seen, lower, upper):
    """What LUCB chooses, which two arms it pulls, and how far these are apart."""
    ranked = seen.ranked(range(len(seen.pulls)))
    h = min(ranked[: s.k], key=lambda arm: (lower[arm], arm))
    l = min(ranked[s.k :], key=lambda arm: (-upper[arm], arm))  # noqa: E741
    return set(ranked[: s.k]), [h, l], upper[l] - lower[h]


@indexed
def lucb1(s, seen):
    """Kalyanakrishnan et al. (2012), Sections 3, 3.2 and 3.3: LUCB with beta_1."""
    n = len(seen.pulls)
    beta = shared_radius(seen, (5 * n * Decimal(seen.t) ** 4 / (4 * exact(s.delta))).ln() / 2)
    chosen, pair, apart = closest_pair(s, seen, *limits(seen, range(n), beta))
    return chosen, pair, apart < exact(s.epsilon)


@indexed
def lucb_plus_plus(s, seen):
    """Simchowitz et al. (2017): LUCB++, with the iterated logarithm's radius."""
    n, radius = len(seen.pulls), {}
    roots = Decimal(s.k).sqrt(), Decimal(n - s.k).sqrt()
    parts = (1, 1) if s.split == "half" else roots
    for side, arms, part in zip(("below", "above"), (n - s.k, s.k), parts, strict=True):
        z = -min(exact(s.delta) * part / (sum(parts) * arms), Decimal("0.1")).ln()
        radius[side] = [
            ((z + 3 * z.ln() + Decimal("1.5") * (Decimal(1).exp() * u).ln().ln()) / (2 * u)).sqrt()
            for u in seen.pulls
        ]
    lower, _ = limits(seen, range(n), radius["below"])
    _, upper = limits(seen, range(n), radius["above"])
    chosen, pair, apart = closest_pair(s, seen, lower, upper)
    return chosen, pair, apart < 0


@indexed
def kl_lucb(s, seen):
    """Kaufmann and Kalyanakrishnan (2013), Section 4: KL-LUCB; both rates, and levels by side.

    Bounds in floats, by halving: two are equal only where pulls and sums are, or at 0 and 1.
    """
    if s.rate == "mixture" and s.levels == "sides":
        return lucb_by_sides(s, seen, side_limit)
    n, lower, upper = len(seen.pulls), {}, {}
    for arm, (u, ones) in enumerate(zip(seen.pulls, seen.sums, strict=True)):
        beta = math.log(2 * math.sqrt(u) * n / s.delta)
        if s.rate == "published":
            beta = math.log(405.5 * n * seen.t**1.1 / s.delta)
            beta += math.log(beta)
        lower[arm], upper[arm] = kl_limit(u, ones, beta, 0.0), kl_limit(u, ones, beta, 1.0)
    chosen, pair, apart = closest_pair(s, seen, lower, upper)
    return chosen, floored(s, seen, pair) if s.rate == "mixture" else pair, apart < s.epsilon


def lucb_by_sides(s, seen, upper_limit):
    """LUCB with a share of 0.9 c delta for k upper bounds, and 0.9 (1-c) delta for n-k lower ones.

    With epsilon 0 no arm has fewer than sqrt(t/n)/2 of t pulls.  On the smaller side of the
    boundary an arm is left out that has more pulls than the other one of the pair, if its side has
    the larger sum of N**1.5.
    """
    n, k, pulls = len(seen.pulls), s.k, seen.pulls
    c = math.sqrt(n - k) / (math.sqrt(k) + math.sqrt(n - k))
    above = math.exp(1e-6) * k / (0.9 * c * s.delta)
    below = math.exp(1e-6) * (n - k) / (0.9 * (1 - c) * s.delta)
    lower, upper = {}, {}
    for arm, (u, ones) in enumerate(zip(pulls, seen.sums, strict=True)):
        upper[arm] = upper_limit(u, ones, above)
        lower[arm] = 1 - upper_limit(u, u - ones, below)
    chosen, (h, l), apart = closest_pair(s, seen, lower, upper)  # noqa: E741
    few, other = ({h}, {l}) if 2 * k <= n else ({l}, {h})
    side = chosen if 2 * k <= n else set(range(n)) - chosen
    costs = [sum(pulls[arm] ** 1.5 for arm in arms) for arms in (side, set(range(n)) - side)]
    beyond = pulls[min(few)] > pulls[min(other)] and costs[0] > costs[1]
    pair = [*other] if beyond else [h, l]
    rare = min(range(n), key=lambda arm: pulls[arm])
    late = s.epsilon == 0 and pulls[rare] < math.sqrt(sum(pulls) / n) / 2
    return chosen, [rare] if late else pair, apart < s.epsilon


@lru_cache(maxsize=10**5)
def side_limit(u, ones, most):
    """The upper bound: KT/L is at first at least ``most``, then 1 + F(U) (most - 1), twice."""
    found = 1.0
    mixed = math.lgamma(ones + 0.5) + math.lgamma(u - ones + 0.5) - math.lgamma(u + 1)
    best = sum(x * math.log(x / u) for x in (ones, u - ones) if x > 0)
    for _ in range(3):
        beta = math.log1p(2 / math.pi * math.asin(math.sqrt(found)) * (most - 1))
        found = kl_limit(u, ones, best - (mixed - math.log(math.pi)) + beta, 1.0)
    return found


def floored(s, seen, pair):
    """The arm with the fewest pulls, if it has fewer than sqrt(t) - n/2 and epsilon is 0."""
    n, total = len(seen.pulls), sum(seen.pulls)
    rare = min(range(n), key=lambda arm: seen.pulls[arm])
    late = s.epsilon == 0 and seen.pulls[rare] < math.sqrt(total) - n / 2
    return [rare] if late else pair


@indexed
def betting_lucb(s, seen):
    """KL-LUCB's pair with the mixture of KT and bets, for 0/1 rewards, whose bets are exact."""
    if s.levels == "sides":
        return lucb_by_sides(s, seen, capital_limit)
    n, lower, upper = len(seen.pulls), {}, {}
    for arm, (u, ones) in enumerate(zip(seen.pulls, seen.sums, strict=True)):
        lower[arm] = betting_limit(u, ones, n / s.delta)
        upper[arm] = 1 - betting_limit(u, u - ones, n / s.delta)
    chosen, pair, apart = closest_pair(s, seen, lower, upper)
    return chosen, floored(s, seen, pair), apart < s.epsilon


@lru_cache(maxsize=10**5)
def capital_limit(u, ones, most):
    """The upper bound 1 - m: half of KT+ and a sixtieth of the bets on zeros reach most at m.

    Of the bets the best one and at most eleven neighbours that have exp(-6) of its capital.  The
    search for s = ln(mean/m) starts from two moments, and ends at most 1e-4 beyond the level.
    """
    if u == ones:
        return 1.0
    level, mean, odds = math.log(most), (u - ones) / u, 2.0 ** np.arange(20, -10, -1)
    gained = (u - ones) * np.log1p(odds)
    s = math.sqrt(2 * (level + 3) * ones / u / (u - ones)) + (level + 3) / (2 * u)
    capital = gained - u * np.log1p(odds * mean * math.exp(-s))
    first = last = int(capital.argmax())
    rich = capital >= capital.max() - 6
    while first > 0 and rich[first - 1] and last - first < 11:
        first -= 1
    while last < 29 and rich[last + 1] and last - first < 11:
        last += 1
    gained, odds, near, far = gained[first : last + 1], odds[first : last + 1], 0.0, 200.0
    while True:
        m = mean * math.exp(-s)
        logs = gained - u * np.log1p(odds * m) - math.log(60) - u * 2.0**-46
        slopes = u * odds * m / (1 + odds * m)
        mixed, below = mixture_ratio(u, ones, m), 2 / math.pi * math.asin(math.sqrt(m))
        if (kept := 1 - below * math.exp(min(-mixed, 50.0))) > 0:  # KT+ = (M - F) / (1 - F)
            logs = np.append(logs, mixed + math.log(kept / (1 - below) / 2))
            slopes = np.append(slopes, u * (mean - m) / (1 - m) / kept)
        weights = np.exp(logs - logs.max())
        excess = logs.max() + math.log(weights.sum()) - level
        if 0 <= excess < 1e-4:
            return 1 - m
        near, far = (s, far) if excess < 0 else (near, s)
        s -= (excess - 0.5e-4) * weights.sum() / (weights @ slopes)  # Newton's step
        if not near < s < far:
            s = (near + far) / 2 if far < 200 else min(2 * near, 200.0)


def mixture_ratio(u, ones, m):
    """ln M: the mean of the likelihood under Beta(1/2, 1/2), against that of zeros of mean m."""
    mixed = math.lgamma(ones + 0.5) + math.lgamma(u - ones + 0.5) - math.lgamma(u + 1)
    return mixed - math.log(math.pi) - (u - ones) * math.log(m) - ones * math.log1p(-m)


@lru_cache(maxsize=10**5)
def betting_limit(u, ones, most):
    """The q below the mean at which half of KT/L and a quarter of the bets' capital reach most.

    Of the bets those eight whose odds are the nearest to the best ones.
    """
    if ones == 0:
        return 0.0
    kt = math.lgamma(ones + 0.5) + math.lgamma(u - ones + 0.5) - math.lgamma(u + 1)
    bets = [(math.log(0.9 / 20), 2.0 ** (9 - j)) for j in range(20)]
    bets += [(math.log(0.1 / ((i + 1) * (i + 2))), 2.0 ** (-11 - i)) for i in range(40)]

    def reached(q):
        logs = [math.log(1 / 2) + kt - math.log(math.pi) - ones * math.log(q)]
        logs[0] -= (u - ones) * math.log1p(-q)
        best = (ones / u - q) / (1 - ones / u) if ones < u else math.inf
        first = max(0, int(9 - math.log2(best) - 3.5)) if 0 < best < 2**17 else 0
        for log_weight, odds in bets[first : first + 8]:
            logs.append(math.log(1 / 4) + log_weight)
            logs[-1] += ones * math.log1p(odds / q) - u * math.log1p(odds)
        return math.fsum(math.exp(min(x, 700.0)) for x in logs) >= most

    low, high = -700.0, math.log(ones / u)  # logarithms of q
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if reached(math.exp(middle)) else (low, middle)
    return math.exp(low)


@lru_cache(maxsize=10**5)
def kl_limit(u, ones, beta, end):
    """The q farthest from the mean on the side of ``end`` with u kl(mean, q) <= beta."""
    near, far = ones / u, end
    if near == far:
        return near
    for _ in range(200):
        q = (near + far) / 2
        if u * kl(ones / u, q) <= beta:
            near = q
        else:
            far = q
    return near


def kl(p, q):
    """The divergence of Bernoulli distributions."""
    if (q == 0 and p > 0) or (q == 1 and p < 1):
        return math.inf
    low = p * math.log(p / q) if p > 0 else 0.0
    return low + ((1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0)


@indexed
def top_two(s, seen):
    """The stop of Garivier and Kaufmann (2016), with the coin of You, Qin, Wang and Yang (2023).

    In floats, so that weights are equal to nine places.
    """
    n, k, total = len(seen.pulls), s.k, sum(seen.pulls)
    ranked, counts, found = seen.ranked(range(n)), (seen.pulls, seen.sums), {}
    for a in sorted(ranked[:k]):
        for b in sorted(ranked[k:]):
            of_a, of_b = against(*(x[i] for i in (a, b) for x in counts), s.epsilon)
            lack = sum(behind_the_best(seen.pulls[i], seen.sums[i]) for i in (a, b))
            more = math.log(seen.pulls[a] * seen.pulls[b]) / 2
            found[a, b] = round(of_a + of_b + more, 9), of_a, of_b, of_a + of_b - lack
    a, b = min(found, key=lambda pair: found[pair][0])
    _, of_a, of_b, _ = found[a, b]
    least = min(sure for *_, sure in found.values())
    count = (n - 1 if s.epsilon == 0 else k * (n - k)) / 0.9
    needed = math.log(1 + prior_share(s.epsilon) * (count / s.delta - 1))
    if of_a + of_b < 1e-11:  # the limit for equal means
        of_a, of_b = seen.pulls[b], seen.pulls[a]
    arm = a if seen.rng.random() < of_a / (of_a + of_b) else b
    rare = min(range(n), key=lambda arm: seen.pulls[arm])
    if seen.pulls[rare] < math.sqrt(total) - n / 2:
        arm = rare
    return set(ranked[:k]), [arm], least > needed


@lru_cache
def prior_share(epsilon):
    """Pr(q < p + epsilon) for p and q of Beta(1/2, 1/2), to five places: the strategy rounds up."""
    steps, total = 20_000, 0.0
    for step in range(steps):
        p = math.sin((step + 0.5) / steps * math.pi / 2) ** 2
        total += 2 / math.pi * math.asin(math.sqrt(min(p + epsilon, 1.0)))
    return min(total / steps + 1e-6, 1.0)


@lru_cache(maxsize=10**5)
def against(u, ones, v, others, epsilon):
    """The two parts of Z, at the x where their sum is least: by thirds."""
    p, q = ones / u, others / v

    def parts(x):
        return u * kl(p, x), v * kl(q, x + epsilon)

    low, high = max(q - epsilon, 0.0), min(p, 1 - epsilon)
    if epsilon == 0:
        low = high = (ones + others) / (u + v)
    for _ in range(100):
        one, two = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, two) if sum(parts(one)) < sum(parts(two)) else (one, high)
    return parts((low + high) / 2)


def behind_the_best(u, ones):
    """ln(sup L / KT), L(p) the likelihood, KT its mean under Beta(1/2, 1/2)."""
    sup = sum(x * math.log(x / u) for x in (ones, u - ones) if x > 0)
    mixed = math.lgamma(ones + 0.5) + math.lgamma(u - ones + 0.5) - math.lgamma(u + 1)
    return sup - mixed + math.log(math.pi)


@indexed
def gap_e(s, seen):
    """Bubeck et al. (2013), Figure 3; of several bandits that of Gabillon et al. (2011)."""
    radius = shared_radius(seen, exact(s.c) ** 2 * s.budget / exact(s.complexity))
    chosen, index = set(), {}
    for arms in seen.bandits:
        ranked = seen.ranked(arms)
        chosen.update(ranked[: s.k])
        for arm in arms:
            index[arm] = rounded(radius[arm] - exact(boundary_gap(seen, ranked, s.k, arm)))
    return chosen, [min(index, key=lambda arm: (-index[arm], arm))], False


@indexed
def ugape(s, seen):
    """Gabillon et al. (2012), Figure 1: UGapEc if there is a delta, UGapEb if there is none.

    Of several bandits the one with the largest index is pulled, and all have to meet epsilon.
    """
    confident = hasattr(s, "delta")
    if confident or not seen.kept or sum(seen.pulls) < s.budget:  # UGapEb: t = n + 1, ..., Q
        beta = ugape_radii(s, seen)
        found = [select_arm(seen, arms, s.k, beta) for arms in seen.bandits]
        before = found if confident else seen.kept or found
        # UGapEb returns the J(t) with the smallest B_J(t)
        seen.kept = [min(p, key=lambda one: one.B_J) for p in zip(before, found, strict=True)]
        seen.strongest = max(found, key=lambda one: one.B_J)
    chosen = set().union(*(one.J for one in seen.kept))
    ended = confident and seen.strongest.B_J < exact(s.epsilon)
    return chosen, [seen.strongest.pull], ended


def select_arm(seen, arms, m, beta):
    """Section 3 and Figure 1: what SELECT-ARM computes at time t."""
    lower, upper = limits(seen, arms, beta)
    ordered = sorted(upper.values(), reverse=True)
    # the m-th largest upper bound of the others
    rival = {k: ordered[m if upper[k] >= ordered[m - 1] else m - 1] for k in arms}
    B = {k: rounded(rival[k] - lower[k], 38) for k in arms}  # a difference of rounded numbers
    ranked = sorted(arms, key=lambda k: (B[k], k))
    J, rest = ranked[:m], ranked[m:]
    # ties to the wider arm, then to the lower number
    wide = {k: -rounded(beta[k]) for k in arms}
    u = min(rest, key=lambda k: (-upper[k], wide[k], k))
    l = min(J, key=lambda k: (lower[k], wide[k], k))  # noqa: E741
    pull = min((u, l), key=lambda k: (wide[k], k))
    return SimpleNamespace(J=J, B_J=B[J[-1]], pull=pull)


def ugape_radii(s, seen):
    """The radii of Figure 1 and (4); with variances those of Maurer and Pontil (2009), b = 1."""
    variance = getattr(s, "variance", False)
    n, pulls, v = len(seen.pulls), sum(seen.pulls), 2 if variance else 1
    if hasattr(s, "delta"):
        t = Decimal(pulls + variance)
        a = v * exact(s.c) * (4 * v * n * t**3 / exact(s.delta)).ln()
    elif s.a is not None:
        a = exact(s.a)
    else:
        H = s.complexity or sum(estimate(s, seen, arms, variance) for arms in seen.bandits)
        a = v * (s.budget - v * n) / (4 * exact(H))
    if not variance:
        return shared_radius(seen, a)
    return [
        (2 * a * sample_variance(seen, arm) / u).sqrt() + 7 * a / (3 * (u - 1))
        for arm, u in enumerate(seen.pulls)
    ]


def sample_variance(seen, arm):
    """The variance of 0/1 rewards with divisor T - 1; their squares are the rewards."""
    ones, pulls = seen.sums[arm], seen.pulls[arm]
    return exact(Fraction(ones * (pulls - ones), pulls * (pulls - 1)))


def estimate(s, seen, arms, variance):
    """H_epsilon, equation (6), with larger gaps and smaller deviations, as the library chooses."""
    ranked, total = seen.ranked(arms), 0.0
    for arm in arms:
        doubt, root = math.sqrt(1 / (2 * seen.pulls[arm])), 1.0
        gap = float(boundary_gap(seen, ranked, s.k, arm)) + doubt
        m = max((gap + s.epsilon) / 2, s.epsilon)
        if variance:
            sigma = max(0.0, math.sqrt(sample_variance(seen, arm)) - doubt)
            root = sigma + math.sqrt(sigma**2 + 13 / 3 * m)
        total += (root / m) ** 2
    return total


@indexed
def clucb_pac(s, seen):
    """Chen et al. (2014), CLUCB with the PAC rule, for sets of k arms.

    The oracle returns the k largest values; of equal ones it keeps those of M.  Of equal
    bounds on one side the lower number is exchanged first.
    """
    n, t = len(seen.pulls), Decimal(sum(seen.pulls))
    radius = shared_radius(seen, 2 * exact(s.R) ** 2 * (4 * n * t**3 / exact(s.delta)).ln())
    ranked = seen.ranked(range(n))
    lower, upper = limits(seen, ranked, radius)
    leaving = sorted(ranked[: s.k], key=lambda arm: (lower[arm], arm))
    entering = sorted(ranked[s.k :], key=lambda arm: (-upper[arm], arm))
    pairs = zip(leaving, entering, strict=False)
    pairs = [(out, into) for out, into in pairs if upper[into] > lower[out]]
    gain = sum(upper[into] - lower[out] for out, into in pairs)
    widest = sorted((-rounded(radius[arm]), arm) for pair in pairs for arm in pair)
    return set(ranked[: s.k]), [arm for _, arm in widest[:1]], gain <= s.k * exact(s.epsilon)


# Rounds of as many pulls for every arm.


def last_round(seen, budget, active, share):
    """A round of ``share`` pulls; a budget that ends before or inside it is spread evenly.

    Returns what the round has shown, None if it was cut.
    """
    left = math.inf if budget is None else budget - sum(seen.pulls)
    if share * len(active) <= left:
        return (yield from seen.sample([(arm, share) for arm in active]))
    each, more = divmod(left, len(active))
    yield from seen.sample([(arm, each + (place < more)) for place, arm in enumerate(active)])
    return None


def halving(s, n):
    """Kalyanakrishnan and Stone (2010): (2 / eps_l^2) ln(3 m / delta_l) fresh pulls a round."""
    seen, remaining, epsilon_l, delta_l = Seen(n), list(range(n)), s.epsilon / 4, s.delta / 2
    for _ in range(math.ceil(math.log2(n / s.k))):
        share = math.ceil(2 / epsilon_l**2 * math.log(3 * s.k / delta_l))
        own = yield from last_round(seen, s.budget, remaining, share)
        if own is None:
            return set(seen.ranked(remaining)[: s.k]), "budget"
        remaining = sorted(own.ranked(remaining)[: max(math.ceil(len(remaining) / 2), s.k)])
        epsilon_l, delta_l = 3 * epsilon_l / 4, delta_l / 2
    return set(remaining), "rule"


def decide_while(seen, active, accepted, k, width):
    """Accept and reject, the largest gap first, while it is more than ``width``."""
    while 0 < k - len(accepted) < len(active):
        arm, accept, gap = leaver(seen, active, k - len(accepted))
        if gap <= width:
            break
        active.remove(arm)
        accepted |= {arm} if accept else set()


def racing(s, n):
    """A Hoeffding race: the radius of Kaufmann and Kalyanakrishnan (2013), alpha = 1.1."""
    seen, active, accepted, u = Seen(n), list(range(n)), set(), 0
    while True:
        own, u = (yield from last_round(seen, s.budget, active, 1)), u + 1
        if own is None:
            return accepted | set(seen.ranked(active)[: s.k - len(accepted)]), "budget"
        diameter = 2 * math.sqrt(math.log(11.1 * n * u**1.1 / s.delta) / (2 * u))
        decide_while(seen, active, accepted, s.k, diameter)
        ranked, wanted = seen.ranked(active), s.k - len(accepted)
        means = [seen.mean(arm) for arm in ranked]
        one_side = wanted in (0, len(active))
        if one_side or means[wanted - 1] - means[wanted] > diameter - s.epsilon:
            return accepted | set(ranked[:wanted]), "rule"


def adaptive_top_k(s, n):
    """Chen et al. (2017), Algorithm 1, with lines 3 and 5 restored."""
    k, seen, active, accepted, r, own = s.k, Seen(n), list(range(n)), set(), 0, None
    while 2 * 2**-r * (k - len(accepted)) > s.epsilon * k:  # line 3
        r += 1
        share = math.ceil(s.pull_scale * 2 ** (2 * r) * math.log(2 * n * r**2 / s.delta))
        own = yield from last_round(seen, s.budget, active, share)  # line 5
        if own is None:
            return accepted | set(seen.ranked(active)[: k - len(accepted)]), "budget"
        decide_while(own, active, accepted, k, Fraction(2, 2**r))  # lines 6 and 7
        if len(active) == k - len(accepted):  # there is no e_a: accept all
            accepted, active = accepted | set(active), []
    return accepted | set(own.ranked(active)[: k - len(accepted)]), "rule"


class Spent(Exception):
    """The budget is spent."""


def improved_top_k(s, n):
    """The derivation for Chen et al. (2017), Theorem 2, as the chapter states it."""
    seen, A, S, B = Seen(n), set(), set(range(n)), set()
    rounds = improved_rounds(s.k, min(s.epsilon, 0.5), s.delta, s.budget, seen, A, S, B)
    try:
        return A | (yield from rounds), "rule"
    except Spent:
        return A | any_arms(seen, S, s.k - len(A)), "budget"


def fresh(seen, budget, arms, share):
    """Pull each arm ``share`` times; return what this alone has shown."""
    own = yield from last_round(seen, budget, sorted(arms), share)
    if own is None:
        raise Spent
    return own


def any_arms(seen, arms, count):
    """Where any arms will do: those with the largest means, and before the first pull any."""
    return set(sorted(arms, key=lambda a: (-seen.mean(a) if seen.pulls[a] else 1, a))[:count])


def nth_largest(own, arms, rank):
    return sorted((own.mean(arm) for arm in arms), reverse=True)[rank - 1]


def robust_halve(seen, budget, S, k, eta, log_ratio):
    """RobustHalve(S, k, eta, p), with ln(2 / p)."""
    V, level = set(S), 0
    while len(V) > 4 * k:
        eta_l = eta / 4 * 0.75**level
        share = math.ceil(2 / eta_l**2 * (log_ratio + level * math.log(2)))
        own = yield from fresh(seen, budget, V, share)
        V = set(own.ranked(V)[: math.ceil(len(V) / 2)])
        level += 1
    return V


def improved_rounds(K, epsilon, delta, budget, seen, A, S, B):
    """The rounds and the final step; return what joins A."""
    R = math.ceil(math.log2(2 / epsilon))
    s0 = math.floor(epsilon * K / (40 * R**2))
    log_ratio = math.log(2 / (delta * epsilon / (2000 * R**3)))
    r = 0
    while True:
        k = K - len(A)
        if len(S) <= k:
            return S | any_arms(seen, B, k - len(S))
        if 2 * 2**-r * k <= epsilon * K:
            break
        r += 1
        u, eta = 4 * s0 * r, 2**-r
        share = math.ceil(log_ratio / (2 * eta**2))
        if len(S) <= k + u:
            return any_arms(seen, S, k)
        if len(S) <= 4 * k:  # mode AR
            own = yield from fresh(seen, budget, S, share)
            b, a = nth_largest(own, S, k - u), nth_largest(own, S, k + u + 1)
        else:  # mode R
            V = yield from robust_halve(seen, budget, S, k - u + 2 * s0, eta, log_ratio)
            own = yield from fresh(seen, budget, V, share)
            b, a = nth_largest(own, V, k - u), math.inf
            own = yield from fresh(seen, budget, S, share)
        accepted = [arm for arm in own.ranked(S) if own.mean(arm) > a + 2 * Fraction(eta)][:k]
        A.update(accepted)
        S.difference_update(accepted)
        rejected = [arm for arm in S if own.mean(arm) < b - 2 * Fraction(eta)]
        B.update(rejected)
        S.difference_update(rejected)
    if k == 0:
        return set()
    tolerance, failure, level = epsilon * K / (2 * k), delta / 4, 0
    if tolerance >= 1:
        return any_arms(seen, S, k)
    while len(S) > 4 * k:  # QE, with the schedule of Zhou et al. (2014), Theorem 4.3
        fade = (1 - math.exp(-0.1)) * math.exp(-0.1 * level)
        share = (10 + 4 * math.log(2 / (failure / 2 * fade)) / k) / (tolerance / 2 * fade) ** 2
        own = yield from fresh(seen, budget, S, math.ceil(share))
        S.difference_update(own.ranked(S)[len(S) - math.ceil(len(S) / 4) :])
        level += 1
    if level:
        tolerance, failure = tolerance / 2, failure / 2
    share = 2 * (k * math.log(math.e * len(S) / k) + math.log(2 / failure)) / (tolerance**2 * k)
    own = yield from fresh(seen, budget, S, math.ceil(share))
    return set(own.ranked(S)[:k])
