/* LUCB1 in C, as a reference: the cost of a pull without Python, numba or any generality.

   cc -O3 -march=native -ffast-math -o lucb lucb.c -lm
   ./lucb scan 20 2 1000000        scans all arms (the compiler vectorises the loop)
   ./lucb tournament 20 2 1000000  a kinetic tournament: visits only nodes at which the winner can change

Arms have means 1 - i/n, i = 1..n; the strategy has epsilon = 0, delta = 0.1 and never stops.
Prints nanoseconds per pull.  Both forms follow Kalyanakrishnan et al. (2012), sections 2 and 3.2. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DELTA 0.1
#define NEVER 1e300

static int n, k;
static double *mean, *width, *pulls, *sums, *theta; /* width: sqrt(1 / (2 pulls)) */

/* xoshiro256**, Blackman and Vigna (2021) */
static uint64_t state[4] = {1, 2, 3, 4};
static uint64_t rotate(uint64_t x, int by) { return (x << by) | (x >> (64 - by)); }
static double uniform(void) {
  uint64_t found = rotate(state[1] * 5, 7) * 9, shifted = state[1] << 17;
  state[2] ^= state[0], state[3] ^= state[1], state[1] ^= state[2], state[0] ^= state[3];
  state[2] ^= shifted, state[3] = rotate(state[3], 45);
  return (found >> 11) * 0x1.0p-53;
}

static void pull(int arm) {
  pulls[arm] += 1, sums[arm] += uniform() < theta[arm];
  mean[arm] = sums[arm] / pulls[arm], width[arm] = sqrt(0.5 / pulls[arm]);
}

static double scale(double round) { return sqrt(log(1.25 * n * pow(round, 4) / DELTA)); }

/* The scan.  Arms 0..k-1 are the top k, the others follow. */

static double *keys;

/* The least sign * mean + by * width of arms from..to-1, its arm, and the least sign * mean. */
static int least(int from, int to, double sign, double by, double *worst) {
  double best = NEVER, low = NEVER;
  for (int i = from; i < to; i++) {
    double value = sign * mean[i], key = value + by * width[i];
    keys[i] = key;
    best = key < best ? key : best;
    low = value < low ? value : low;
  }
  *worst = low;
  for (int i = from; i < to; i++)
    if (keys[i] == best) return i;
  return from;
}

static int place(int from, int to, double value) {
  while (from < to - 1 && mean[from] != value) from++;
  return from;
}

static void swap(double *a, int i, int j) { double kept = a[i]; a[i] = a[j], a[j] = kept; }

static void scan(long until) {
  for (long made = 0, t = 1; made < until; made += 2, t++) {
    double by = scale(t), low, high;
    int inside = least(0, k, 1, -by, &low), outside = least(k, n, -1, -by, &high);
    while (-high > low) { /* a mean outside the top k is larger: change places */
      int i = place(0, k, low), j = place(k, n, -high);
      double *columns[] = {mean, width, pulls, sums, theta};
      for (int c = 0; c < 5; c++) swap(columns[c], i, j);
      inside = least(0, k, 1, -by, &low), outside = least(k, n, -1, -by, &high);
    }
    pull(inside), pull(outside);
  }
}

/* The tournament.  A match is won by the smaller key until the scale at which the loser wins. */

typedef struct { int winner; double until; } match;
static match *inside_keys, *outside_keys;
static int *inside_means, *outside_means, leaves;
static unsigned char *top;
static double now;

static void play(match *tree, int node, double sign) {
  int a = tree[2 * node].winner, b = tree[2 * node + 1].winner, winner, loser;
  double until = fmin(tree[2 * node].until, tree[2 * node + 1].until);
  if (a < 0 || b < 0) { tree[node] = (match){a < 0 ? b : a, until}; return; }
  double first = sign * mean[a] - now * width[a], second = sign * mean[b] - now * width[b];
  winner = first <= second ? a : b, loser = winner == a ? b : a;
  if (width[loser] > width[winner]) {
    double at = sign * (mean[loser] - mean[winner]) / (width[loser] - width[winner]);
    until = fmin(until, at);
  }
  tree[node] = (match){winner, until};
}

static void refresh(match *tree, int node, double sign) {
  if (node >= leaves || tree[node].until > now) return;
  refresh(tree, 2 * node, sign), refresh(tree, 2 * node + 1, sign);
  play(tree, node, sign);
}

static void enter(match *tree, int *means, int arm, int in, double sign) {
  tree[leaves + arm] = (match){in ? arm : -1, NEVER}, means[leaves + arm] = in ? arm : -1;
  for (int v = (leaves + arm) / 2; v; v /= 2) {
    int a = means[2 * v], b = means[2 * v + 1];
    play(tree, v, sign);
    means[v] = a < 0 ? b : b < 0 ? a : sign * mean[a] <= sign * mean[b] ? a : b;
  }
}

static void set(int arm, int in) {
  top[arm] = in;
  enter(inside_keys, inside_means, arm, in, 1), enter(outside_keys, outside_means, arm, !in, -1);
}

static void renew(int arm) { /* its side only */
  if (top[arm]) enter(inside_keys, inside_means, arm, 1, 1);
  else enter(outside_keys, outside_means, arm, 1, -1);
}

static void tournament(long until) {
  for (leaves = 1; leaves < n; leaves *= 2) {}
  inside_keys = malloc(2 * leaves * sizeof(match)), outside_keys = malloc(2 * leaves * sizeof(match));
  inside_means = malloc(2 * leaves * sizeof(int)), outside_means = malloc(2 * leaves * sizeof(int));
  top = calloc(n, 1);
  for (int i = 0; i < 2 * leaves; i++) {
    inside_keys[i] = outside_keys[i] = (match){-1, NEVER};
    inside_means[i] = outside_means[i] = -1;
  }
  now = scale(1);
  for (int i = 0; i < n; i++) set(i, i < k);
  for (long made = 0, t = 1; made < until; made += 2, t++) {
    while (mean[outside_means[1]] > mean[inside_means[1]]) {
      int j = outside_means[1], i = inside_means[1];
      set(j, 1), set(i, 0);
    }
    now = scale(t);
    refresh(inside_keys, 1, 1), refresh(outside_keys, 1, -1);
    int inside = inside_keys[1].winner, outside = outside_keys[1].winner;
    pull(inside), renew(inside);
    pull(outside), renew(outside);
  }
}

int main(int count, char **words) {
  if (count != 5) return fprintf(stderr, "lucb scan|tournament n k pulls\n"), 2;
  n = atoi(words[2]), k = atoi(words[3]);
  double **columns[] = {&mean, &width, &pulls, &sums, &theta, &keys};
  for (int c = 0; c < 6; c++) *columns[c] = calloc(n, sizeof(double));
  for (int i = 0; i < n; i++) theta[i] = 1 - (i + 1.0) / n, pull(i);
  struct timespec begin, end;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
  (strcmp(words[1], "scan") ? tournament : scan)(atol(words[4]));
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
  double taken = (end.tv_sec - begin.tv_sec) * 1e9 + (end.tv_nsec - begin.tv_nsec), total = 0;
  for (int i = 0; i < n; i++) total += pulls[i];
  printf("%.1f %.0f\n", taken / atol(words[4]), total);
  return 0;
}
