"""The papers' pseudo-code, word by word, slow and plain.

Each function is a generator.  It yields the pulls that it wants, a list of ``(arm, count)``
with counts of at least 1, is sent the sum of the rewards of each entry (0/1 rewards, so whole
numbers), and returns ``(set of arms, 'rule' or 'budget')``.  Means are fractions, so that
nothing is rounded; nothing is imported from the library.

The house's conventions, where the papers are silent: arms are ranked by mean, then by lower
index, and ranks decide; of equal gaps the larger rank distance from the boundary counts; if
that is equal too, the last rank is rejected.
"""

import math
from decimal import Decimal, localcontext
from fractions import Fraction


class Seen:
    """Pulls and rewards so far."""

    def __init__(self, n):
        self.pulls = [0] * n
        self.sums = [Fraction(0)] * n

    def sample(self, batch):
        """Pull; return what this batch alone has shown."""
        own = Seen(len(self.pulls))
        batch = [(arm, count) for arm, count in batch if count > 0]
        if batch:
            sums = yield batch
            for (arm, count), total in zip(batch, sums, strict=True):
                for record in (self, own):
                    record.pulls[arm] += count
                    record.sums[arm] += int(total)
        return own

    def mean(self, arm):
        return self.sums[arm] / self.pulls[arm]

    def ranked(self, arms):
        return sorted(arms, key=lambda arm: (-self.mean(arm), arm))


def filed_first(ranked, means, wanted):
    """Of ranked arms, return the one with the largest gap and whether it is accepted.

    ``means`` are those of all the arms when the gaps were computed, best first, with
    ``wanted`` of them on the accept side; ``ranked`` maps the arms that are left to their
    ranks among them.
    """
    best = None
    for arm, rank in ranked.items():
        accept = rank < wanted
        if wanted == 0:  # everything belongs on the reject side: the last rank goes
            gap = Fraction(0)
        elif wanted == len(means):  # the mirror image: the first rank goes
            gap = Fraction(0)
        elif accept:
            gap = means[rank] - means[wanted]
        else:
            gap = means[wanted - 1] - means[rank]
        distance = wanted - rank if accept else rank - wanted + 1
        key = gap, distance, not accept
        if best is None or key > best[0]:
            best = key, arm, accept
    return best[1], best[2]


def uniform(n, k, budget):
    """Uniform sampling, as in Zhou et al. (2014), Remark 4.2; the remainder to low indices."""
    seen = Seen(n)
    yield from seen.sample([(arm, budget // n + (arm < budget % n)) for arm in range(n)])
    return set(seen.ranked(range(n))[:k]), "budget"


def sar_lengths(n, budget):
    """n_0, n_1, ..., n_{n-1} of Bubeck et al. (2013), Figure 1, in exact arithmetic."""
    log_bar = Fraction(1, 2) + sum(Fraction(1, i) for i in range(2, n + 1))
    return [0] + [math.ceil(Fraction(budget - n, n + 1 - j) / log_bar) for j in range(1, n)]


def sar(n, k, budget):
    """Bubeck et al. (2013), Figure 1: steps (1) to (4) of phases 1 to n - 1."""
    seen, lengths = Seen(n), sar_lengths(n, budget)
    active, wanted, accepted = list(range(n)), k, set()
    for j in range(1, n):
        # (1) pull every active arm n_j - n_{j-1} times
        yield from seen.sample([(arm, lengths[j] - lengths[j - 1]) for arm in active])
        # (2) order by mean and compute the gaps over all n_j pulls
        ranked = seen.ranked(active)
        means = [seen.mean(arm) for arm in ranked]
        # (3) deactivate the arm with the largest gap
        arm, accept = filed_first({a: r for r, a in enumerate(ranked)}, means, wanted)
        active.remove(arm)
        # (4) accept it if it is among the m(j) best
        if accept:
            accepted.add(arm)
            wanted -= 1
    if wanted == 1:  # the arm that is left is the last one wanted
        accepted.update(active)
    return accepted, "budget"


def optmai(n, k, budget, beta, reuse, final):
    """Zhou et al. (2014), Algorithm 1; for k >= n/2 by the complement (after Theorem 4.5)."""
    if 2 * k < n:
        chosen = yield from optmai_small(n, k, budget, beta, reuse, final)
        return chosen, "budget"
    worst = optmai_small(n, n - k, budget, beta, reuse, final)
    try:
        batch = next(worst)
        while True:
            sums = yield batch
            flipped = [count - total for (_, count), total in zip(batch, sums, strict=True)]
            batch = worst.send(flipped)  # a reward x is fed as 1 - x
    except StopIteration as end:
        return set(range(n)) - end.value, "budget"


def optmai_small(n, k, budget, beta, reuse, final):
    """Algorithm 1, lines 2 to 12, with the budgets of Section 6."""
    seen, active, accepted = Seen(n), list(range(n)), set()  # S_0, T_0
    left, carry, r = budget, Decimal(0), 0
    while len(accepted) < k and active:  # line 3
        size = len(active)
        if final == "uniform" and size < 4 * k:  # Remark 4.1
            each, more = divmod(left, size)
            batch = [(arm, each + (place < more)) for place, arm in enumerate(active)]
            own = yield from seen.sample(batch)
            shown = seen if reuse or each == 0 else own
            return set(shown.ranked(active)[:k])
        due, share = optmai_share(n, budget, beta, r, carry, size)
        if r == 0:
            share = max(share, 1)
        share = max(0, min(share, left // size))
        carry = due - share * size
        left -= share * size
        own = yield from seen.sample([(arm, share) for arm in active])
        shown = seen if reuse or share == 0 else own
        if size >= 4 * k:  # lines 4 to 6
            active = quartile_elimination(shown, active)
        else:  # line 8
            active, accepted = accept_reject(shown, active, accepted, k)
        r += 1  # line 10
    return accepted


def optmai_share(n, budget, beta, r, carry, size):
    """What round r may spend, and the whole pulls of each arm that this makes."""
    with localcontext() as context:
        context.prec = 60
        beta = Decimal(beta)
        rounds = Decimal(n).ln() / (Decimal(4) / Decimal(3)).ln()
        inflated = budget / (1 - (beta.ln() * rounds).exp())
        due = beta**r * (1 - beta) * inflated + carry
        return due, math.floor(due / size + Decimal("1e-9"))


def quartile_elimination(shown, active):
    """Algorithm 2, lines 3 and 4: without exactly ceil(|S|/4) arms, ties and all."""
    dropped = shown.ranked(active)[len(active) - math.ceil(Fraction(len(active), 4)) :]
    return [arm for arm in active if arm not in dropped]


def accept_reject(shown, active, accepted, k):
    """Algorithm 3, lines 3 to 10."""
    size, wanted = len(active), k - len(accepted)  # line 3: K'
    ranked = shown.ranked(active)
    means = [shown.mean(arm) for arm in ranked]  # gaps are computed once
    ranks, accepted = {arm: rank for rank, arm in enumerate(ranked)}, set(accepted)
    while len(accepted) < k and 4 * len(ranks) > 3 * size:  # line 4
        arm, accept = filed_first(ranks, means, wanted)  # line 5
        del ranks[arm]
        if accept:  # lines 6 to 8
            accepted.add(arm)
    return sorted(ranks), accepted


def lucb1(n, k, epsilon, delta, budget):
    """Kalyanakrishnan et al. (2012), Sections 3, 3.2 and 3.3: LUCB with beta_1."""
    seen = Seen(n)
    yield from seen.sample([(arm, 1) for arm in range(n)])
    t = 1
    while True:
        ranked = seen.ranked(range(n))
        high, low = sorted(ranked[:k]), sorted(ranked[k:])

        def radius(arm, t=t):
            return math.sqrt(math.log(5 / 4 * n * t**4 / delta) / (2 * seen.pulls[arm]))

        # min and max return the first of equals: the lowest index
        h = min(high, key=lambda arm: float(seen.mean(arm)) - radius(arm))
        l = max(low, key=lambda arm: float(seen.mean(arm)) + radius(arm))  # noqa: E741
        upper, lower = float(seen.mean(l)) + radius(l), float(seen.mean(h)) - radius(h)
        if upper - lower < epsilon:
            return set(high), "rule"
        left = math.inf if budget is None else budget - sum(seen.pulls)
        if left == 0:
            return set(high), "budget"
        yield from seen.sample([(h, 1), (l, 1)][: min(2, left)])
        t += 1


# Index strategies.  Their indices are sums of fractions and square roots, compared as decimal
# numbers with 60 digits of which 40 count, so that equal ones are equal.


def exact(x):
    x = Fraction(x)
    return Decimal(x.numerator) / Decimal(x.denominator)


def rounded(x, digits=40):
    return x.quantize(Decimal(1).scaleb(-digits))


def in_decimals(play):
    """Compute with 60 digits; the caller's own arithmetic, between yields, is left alone."""

    def careful(*arguments):
        inner, sums = play(*arguments), None
        while True:
            try:
                with localcontext() as context:
                    context.prec = 60
                    batch = inner.send(sums)
            except StopIteration as end:
                return end.value
            sums = yield batch

    return careful


def boundary_gap(seen, ranked, k, arm):
    """The empirical gap of Bubeck et al. (2013): to rank k + 1 inside, to rank k outside."""
    if ranked.index(arm) < k:
        return seen.mean(arm) - seen.mean(ranked[k])
    return seen.mean(ranked[k - 1]) - seen.mean(arm)


@in_decimals
def gap_e(n, k, budget, complexity, c):
    """Bubeck et al. (2013), Figure 3."""
    seen = Seen(n)
    yield from seen.sample([(arm, 1) for arm in range(n)])
    root = exact(c) * (budget / exact(complexity)).sqrt()
    for _ in range(n, budget):
        ranked = seen.ranked(range(n))
        index = [
            rounded(root / Decimal(seen.pulls[arm]).sqrt()
                    - exact(boundary_gap(seen, ranked, k, arm)))
            for arm in range(n)
        ]  # fmt: skip
        yield from seen.sample([(index.index(max(index)), 1)])
    return set(seen.ranked(range(n))[:k]), "budget"


class Duel:
    """Gabillon et al. (2012), Section 3 and Figure 1: what SELECT-ARM computes at time t."""

    def __init__(self, seen, m, squared=None, beta=None, arms=None):
        """``squared`` is the square of the radius of an arm with one pull, if that is all."""
        arms = range(len(seen.pulls)) if arms is None else arms
        self.beta = beta
        if beta is None:
            self.beta = {k: (squared / seen.pulls[k]).sqrt() for k in arms}
        mean = {k: exact(seen.mean(k)) for k in arms}
        upper = {k: rounded(mean[k] + self.beta[k]) for k in arms}
        lower = {k: rounded(mean[k] - self.beta[k]) for k in arms}
        self.B = {}
        for k in arms:
            others = sorted((upper[i] for i in arms if i != k), reverse=True)
            self.B[k] = rounded(others[m - 1] - lower[k], 38)  # a difference of rounded numbers
        self.J = sorted(arms, key=lambda k: (self.B[k], k))[:m]
        self.B_J = max(self.B[k] for k in self.J)
        rest = [k for k in arms if k not in self.J]
        # ties to the wider arm, then to the lower number
        self.u = min(rest, key=lambda k: (-upper[k], -rounded(self.beta[k]), k))
        self.l = min(self.J, key=lambda k: (lower[k], -rounded(self.beta[k]), k))
        self.pull = min((self.u, self.l), key=lambda k: (-rounded(self.beta[k]), k))


@in_decimals
def ugape_b(n, k, budget, epsilon, a, complexity):
    """Gabillon et al. (2012), UGapEb of Figure 1: the J(t) with the smallest B_J(t)."""
    seen, smallest, chosen = Seen(n), None, None
    yield from seen.sample([(arm, 1) for arm in range(n)])
    for _ in range(max(1, budget - n)):  # t = n + 1, ..., Q
        if a is not None:
            squared = exact(a)
        else:
            squared = (budget - n) / (4 * exact(complexity or estimate(seen, n, k, epsilon)))
        duel = Duel(seen, k, squared)
        if smallest is None or duel.B_J < smallest:
            smallest, chosen = duel.B_J, set(duel.J)
        if sum(seen.pulls) < budget:
            yield from seen.sample([(duel.pull, 1)])
    return chosen, "budget"


def estimate(seen, n, k, epsilon, arms=None):
    """H_epsilon, equation (6), with every gap enlarged by sqrt(1 / (2 T)): the house's choice."""
    arms = range(n) if arms is None else arms
    ranked, total = seen.ranked(arms), 0.0
    for arm in arms:
        gap = float(boundary_gap(seen, ranked, k, arm)) + math.sqrt(1 / (2 * seen.pulls[arm]))
        total += 1 / max((gap + epsilon) / 2, epsilon) ** 2
    return total


@in_decimals
def ugape_c(n, k, epsilon, delta, c, budget):
    """Gabillon et al. (2012), UGapEc of Figure 1, with the radius (4)."""
    seen = Seen(n)
    yield from seen.sample([(arm, 1) for arm in range(n)])
    while True:
        before = sum(seen.pulls)  # t - 1
        squared = exact(c) * (4 * n * Decimal(before) ** 3 / exact(delta)).ln()
        duel = Duel(seen, k, squared)
        if duel.B_J < exact(epsilon):
            return set(duel.J), "rule"
        if before == budget:
            return set(duel.J), "budget"
        yield from seen.sample([(duel.pull, 1)])


def sample_variance(seen, arm):
    """The variance of 0/1 rewards with divisor T - 1; their squares are the rewards."""
    ones, pulls = seen.sums[arm], seen.pulls[arm]
    return exact((ones - ones**2 / pulls) / (pulls - 1))


def bernstein_radii(seen, a):
    """The empirical Bernstein radii (Maurer and Pontil 2009) with b = 1."""
    return [
        (2 * a * sample_variance(seen, arm) / pulls).sqrt() + 7 * a / (3 * (pulls - 1))
        for arm, pulls in enumerate(seen.pulls)
    ]


@in_decimals
def ugape_b_variance(n, k, budget, epsilon, a, complexity):
    """UGapEb with empirical Bernstein radii, after two pulls of every arm."""
    seen, smallest, chosen = Seen(n), None, None
    yield from seen.sample([(arm, 2) for arm in range(n)])
    for _ in range(max(1, budget - 2 * n)):
        level = exact(a) if a is not None else Decimal(budget - 2 * n) / 2
        if a is None:
            level /= exact(complexity or estimate_variance(seen, n, k, epsilon))
        duel = Duel(seen, k, beta=bernstein_radii(seen, level))
        if smallest is None or duel.B_J < smallest:
            smallest, chosen = duel.B_J, set(duel.J)
        if sum(seen.pulls) < budget:
            yield from seen.sample([(duel.pull, 1)])
    return chosen, "budget"


def estimate_variance(seen, n, k, epsilon):
    """H^sigma_epsilon with larger gaps and smaller deviations: the house's choice."""
    ranked, total = seen.ranked(range(n)), 0.0
    for arm in range(n):
        doubt = math.sqrt(1 / (2 * seen.pulls[arm]))
        gap = float(boundary_gap(seen, ranked, k, arm)) + doubt
        sigma = max(0.0, math.sqrt(sample_variance(seen, arm)) - doubt)
        m = max((gap + epsilon) / 2, epsilon)
        total += ((sigma + math.sqrt(sigma**2 + 13 / 3 * m)) / m) ** 2
    return total


@in_decimals
def ugape_c_variance(n, k, epsilon, delta, c, budget):
    """UGapEc with empirical Bernstein radii; t is one more than the pulls that were made."""
    seen = Seen(n)
    yield from seen.sample([(arm, 2) for arm in range(n)])
    while True:
        t = sum(seen.pulls) + 1
        level = 2 * exact(c) * (8 * n * Decimal(t) ** 3 / exact(delta)).ln()
        duel = Duel(seen, k, beta=bernstein_radii(seen, level))
        if duel.B_J < exact(epsilon):
            return set(duel.J), "rule"
        if t - 1 == budget:
            return set(duel.J), "budget"
        yield from seen.sample([(duel.pull, 1)])


# Several bandits: ``shape`` is (M, n), and arm i of bandit m is number m * n + i.


def row(shape, m):
    """The numbers of the arms of bandit m."""
    return range(m * shape[1], (m + 1) * shape[1])


def multi_sar(shape, budget):
    """Bubeck et al. (2013), Section 4: multi-bandit SAR."""
    bandits, size = range(shape[0]), shape[0] * shape[1]
    seen, lengths, accepted = Seen(size), sar_lengths(size, budget), set()
    active = {m: list(row(shape, m)) for m in bandits}
    for j in range(1, size + 1):  # after phase M n - 1 the last active arm is accepted
        if j < size:
            arms = sorted(arm for own in active.values() for arm in own)
            yield from seen.sample([(arm, lengths[j] - lengths[j - 1]) for arm in arms])
        single = [m for m, own in active.items() if len(own) == 1]
        if single:
            accepted.update(active.pop(single[0]))
            continue
        ranked = {m: seen.ranked(own) for m, own in active.items()}
        best = {m: seen.mean(arms[0]) for m, arms in ranked.items()}
        # the largest gap; of equal ones the larger rank, then the higher number
        m, arm = max(
            ((m, arm) for m, arms in ranked.items() for arm in arms),
            key=lambda pair: (
                best[pair[0]] - seen.mean(pair[1]),
                ranked[pair[0]].index(pair[1]),
                pair[1],
            ),
        )
        active[m].remove(arm)
    return accepted, "budget"


@in_decimals
def multi_gap_e(shape, budget, complexity, c):
    """Gabillon et al. (2011) with the constants of Bubeck et al. (2013), Figure 3."""
    bandits, size = range(shape[0]), shape[0] * shape[1]
    seen = Seen(size)
    yield from seen.sample([(arm, 1) for arm in range(size)])
    root = exact(c) * (budget / exact(complexity)).sqrt()
    for _ in range(size, budget):
        index = []
        for m in bandits:
            ranked = seen.ranked(row(shape, m))
            for arm in row(shape, m):
                gap = exact(boundary_gap(seen, ranked, 1, arm))
                index.append(rounded(root / Decimal(seen.pulls[arm]).sqrt() - gap))
        yield from seen.sample([(index.index(max(index)), 1)])
    return {seen.ranked(row(shape, m))[0] for m in bandits}, "budget"


def duels(seen, shape, k, squared):
    """A duel in every bandit, and the bandit that is to be pulled."""
    found = [Duel(seen, k, squared, arms=row(shape, m)) for m in range(shape[0])]
    index = [duel.B_J for duel in found]
    return found, index.index(max(index))


@in_decimals
def multi_ugape_b(shape, k, budget, epsilon, complexity, a):
    """UGapEb in M bandits: the one with the largest index is pulled."""
    size = shape[0] * shape[1]
    seen, smallest, chosen = Seen(size), [None] * shape[0], [None] * shape[0]
    yield from seen.sample([(arm, 1) for arm in range(size)])
    for _ in range(max(1, budget - size)):
        if a is not None:
            squared = exact(a)
        else:
            found = complexity or sum(
                estimate(seen, shape[1], k, epsilon, row(shape, m)) for m in range(shape[0])
            )
            squared = (budget - size) / (4 * exact(found))
        found, pulled = duels(seen, shape, k, squared)
        for m, duel in enumerate(found):
            if smallest[m] is None or duel.B_J < smallest[m]:
                smallest[m], chosen[m] = duel.B_J, set(duel.J)
        if sum(seen.pulls) < budget:
            yield from seen.sample([(found[pulled].pull, 1)])
    return set().union(*chosen), "budget"


@in_decimals
def multi_ugape_c(shape, k, epsilon, delta, c, budget):
    """UGapEc in M bandits: it ends when all indices are below epsilon."""
    size = shape[0] * shape[1]
    seen = Seen(size)
    yield from seen.sample([(arm, 1) for arm in range(size)])
    while True:
        before = sum(seen.pulls)  # t - 1
        squared = exact(c) * (4 * size * Decimal(before) ** 3 / exact(delta)).ln()
        found, pulled = duels(seen, shape, k, squared)
        chosen = set().union(*(duel.J for duel in found))
        if found[pulled].B_J < exact(epsilon):
            return chosen, "rule"
        if before == budget:
            return chosen, "budget"
        yield from seen.sample([(found[pulled].pull, 1)])


@in_decimals
def clucb_pac(n, k, epsilon, delta, R, budget):
    """Chen et al. (2014), CLUCB with the PAC rule, for sets of k arms.

    The oracle returns the k largest values; of equal ones it keeps those of M.  Of equal
    bounds on one side the lower number is exchanged first.
    """
    seen = Seen(n)
    yield from seen.sample([(arm, 1) for arm in range(n)])
    while True:
        t = sum(seen.pulls)
        squared = 2 * (4 * n * Decimal(t) ** 3 / exact(delta)).ln()
        radius = [exact(R) * (squared / pulls).sqrt() for pulls in seen.pulls]
        ranked = seen.ranked(range(n))
        bound = [rounded(exact(seen.mean(arm)) + radius[arm]) for arm in range(n)]
        for arm in ranked[:k]:
            bound[arm] = rounded(exact(seen.mean(arm)) - radius[arm])
        leaving = sorted(ranked[:k], key=lambda arm: (bound[arm], arm))
        entering = sorted(ranked[k:], key=lambda arm: (-bound[arm], arm))
        pairs = zip(leaving, entering, strict=False)
        pairs = [(out, into) for out, into in pairs if bound[into] > bound[out]]
        gain = sum((bound[into] - bound[out] for out, into in pairs), Decimal(0))
        if gain <= k * exact(epsilon):
            return set(ranked[:k]), "rule"
        if t == budget:
            return set(ranked[:k]), "budget"
        exchanged = [arm for pair in pairs for arm in pair]
        widest = min(exchanged, key=lambda arm: (-rounded(radius[arm]), arm))
        yield from seen.sample([(widest, 1)])


def successive_rejects(n, k, budget):
    """Audibert et al. (2010) for n - k phases, as in Bubeck et al. (2013), Section 5."""
    constant = Fraction(k, k + 1) + sum(Fraction(1, i) for i in range(k + 1, n + 1))
    seen, active, before = Seen(n), list(range(n)), 0
    for j in range(1, n - k + 1):
        length = math.ceil(Fraction(budget - n, n + 1 - j) / constant)
        yield from seen.sample([(arm, length - before) for arm in active])
        active.remove(seen.ranked(active)[-1])
        before = length
    return set(active), "budget"


def last_round(seen, budget, active, share):
    """A round of ``share`` pulls; a budget that ends inside it is spread evenly.

    Returns what the round has shown, None if it was cut, and whether the budget is spent.
    """
    left = math.inf if budget is None else budget - sum(seen.pulls)
    if share * len(active) <= left:
        own = yield from seen.sample([(arm, share) for arm in active])
        return own, share * len(active) == left
    each, more = divmod(left, len(active))
    yield from seen.sample([(arm, each + (place < more)) for place, arm in enumerate(active)])
    return None, True


def halving(n, k, epsilon, delta, budget):
    """Kalyanakrishnan and Stone (2010): (2 / eps_l^2) ln(3 m / delta_l) fresh pulls a round."""
    seen, remaining = Seen(n), list(range(n))
    epsilon_l, delta_l = epsilon / 4, delta / 2
    for _ in range(math.ceil(math.log2(n / k))):
        share = math.ceil(2 / epsilon_l**2 * math.log(3 * k / delta_l))
        own, spent = yield from last_round(seen, budget, remaining, share)
        if own is None:
            return set(seen.ranked(remaining)[:k]), "budget"
        size = max(math.ceil(len(remaining) / 2), k)
        remaining = sorted(own.ranked(remaining)[:size])
        epsilon_l, delta_l = 3 * epsilon_l / 4, delta_l / 2
        if spent and size > k:
            return set(seen.ranked(remaining)[:k]), "budget"
    return set(remaining), "rule"


def racing(n, k, epsilon, delta, budget):
    """A Hoeffding race: the radius of Kaufmann and Kalyanakrishnan (2013), alpha = 1.1."""
    seen, active, accepted, u = Seen(n), list(range(n)), set(), 0
    while True:
        own, spent = yield from last_round(seen, budget, active, 1)
        if own is not None:
            u += 1
            diameter = 2 * math.sqrt(math.log(11.1 * n * u**1.1 / delta) / (2 * u))
            while 0 < k - len(accepted) < len(active):
                ranked, wanted = seen.ranked(active), k - len(accepted)
                means = [seen.mean(arm) for arm in ranked]
                arm, accept = filed_first({a: r for r, a in enumerate(ranked)}, means, wanted)
                edge = means[wanted] if accept else means[wanted - 1]
                if abs(seen.mean(arm) - edge) <= diameter:
                    break
                active.remove(arm)
                accepted |= {arm} if accept else set()
            ranked, wanted = seen.ranked(active), k - len(accepted)
            means = [seen.mean(arm) for arm in ranked]
            if (
                wanted in (0, len(active))
                or means[wanted - 1] - means[wanted] > diameter - epsilon
            ):
                return accepted | set(ranked[:wanted]), "rule"
        if spent:
            return accepted | set(seen.ranked(active)[: k - len(accepted)]), "budget"


def adaptive_top_k(n, k, epsilon, delta, pull_scale, budget):
    """Chen et al. (2017), Algorithm 1, with lines 3 and 5 restored."""
    seen, active, accepted, r = Seen(n), list(range(n)), set(), 0
    own, spent = None, False
    while 2 * 2**-r * (k - len(accepted)) > epsilon * k:  # line 3
        if spent:
            return accepted | set(seen.ranked(active)[: k - len(accepted)]), "budget"
        r += 1
        share = math.ceil(pull_scale * 2 ** (2 * r) * math.log(2 * n * r**2 / delta))
        own, spent = yield from last_round(seen, budget, active, share)  # line 5
        if own is None:
            return accepted | set(seen.ranked(active)[: k - len(accepted)]), "budget"
        while len(accepted) < k and len(active) > k - len(accepted):
            ranked, wanted = own.ranked(active), k - len(accepted)
            means = [own.mean(arm) for arm in ranked]
            arm, accept = filed_first({a: r for r, a in enumerate(ranked)}, means, wanted)
            edge = means[wanted] if accept else means[wanted - 1]  # line 6: e_a or e_b
            if abs(own.mean(arm) - edge) <= Fraction(2, 2**r):  # line 7
                break
            active.remove(arm)
            accepted |= {arm} if accept else set()
        if len(active) == k - len(accepted):  # there is no e_a: accept all
            accepted, active = accepted | set(active), []
    return accepted | set(own.ranked(active)[: k - len(accepted)]), "rule"


class Spent(Exception):
    """The budget has ended the play."""


def improved_top_k(n, k, epsilon, delta, budget, seen=None):
    """The derivation for Chen et al. (2017), Theorem 2, as the chapter states it."""
    seen = seen or Seen(n)
    A, S, B = set(), set(range(n)), set()
    try:
        rest = yield from improved_rounds(k, min(epsilon, 0.5), delta, budget, seen, A, S, B)
        return A | rest, "rule"
    except Spent:
        return A | any_arms(seen, S, k - len(A)), "budget"


def fresh(seen, budget, arms, share):
    """Pull each arm ``share`` times; return what this alone has shown."""
    own, _ = yield from last_round(seen, budget, sorted(arms), share)
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
