// Runs TensorZero's top-k evaluator on scores from stdin: u32 runs, arms, items, k, then f64 by run, arm, item.
// theirs.rs, written by tensorzero.py, has their confidence sequences, hedge weights, statuses and stop; the loop is
// that of their batches. Prints, for each run: scores used, variants named ("-" for none), interval of each variant.
use std::collections::HashMap;
use std::io::Read;

type Result<T> = std::result::Result<T, String>;
macro_rules! bail { ($($x:tt)*) => { return Err(format!($($x)*)) } }
macro_rules! info { ($($x:tt)*) => {} }
mod tracing {
    macro_rules! nothing { ($($x:tt)*) => {} }
    pub(crate) use nothing as warn;
}
include!("theirs.rs");

fn main() {
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).unwrap();
    let head = |i: usize| u32::from_le_bytes(bytes[4 * i..4 * i + 4].try_into().unwrap());
    let (runs, arms, items, k) = (head(0) as usize, head(1) as usize, head(2) as usize, head(3));
    let score = |run: usize, arm: usize, item: usize| {
        let at = 16 + 8 * ((run * arms + arm) * items + item);
        f64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
    };
    let names: Vec<String> = (0..arms).map(|arm| format!("{arm:02}")).collect();
    let failures = HashMap::new();
    let params = VariantStatusParams {
        k_min: k, k_max: k, epsilon: 0.0, variant_failure_threshold: 0.05,
    };
    for run in 0..runs {
        let new = |x: &String| MeanBettingConfidenceSequence::new(
            x.clone(), DEFAULT_CS_RESOLUTION, DEFAULT_ALPHA);
        let mut performance: HashMap<_, _> = names.iter().map(|x| (x.clone(), new(x))).collect();
        let mut status: HashMap<_, _> =
            names.iter().map(|x| (x.clone(), VariantStatus::Active)).collect();
        let (mut done, mut used, mut named) = (0, 0, "-".to_string());
        while done < items && named == "-" {
            let end = (done + DEFAULT_BATCH_SIZE).min(items);
            let hedge = compute_hedge_weights(&performance, k, k);
            for (arm, name) in names.iter().enumerate() {
                if status[name] == VariantStatus::Active {
                    let batch = (done..end).map(|item| score(run, arm, item)).collect();
                    let weight = hedge.as_ref().and_then(|x| x.get(name)).copied();
                    let before = performance.remove(name).unwrap();
                    let after = update_betting_cs(before, batch, weight).unwrap();
                    performance.insert(name.clone(), after);
                    used += end - done;
                }
            }
            update_variant_statuses(&mut status, &performance, &failures, &params);
            let mut found = check_topk_stopping(&performance, Some(&status), k, k, None).unwrap();
            if found.stopped {
                found.top_variants.sort();
                named = found.top_variants.join(",");
            }
            done = end;
        }
        let ends = names.iter().map(|x| &performance[x]);
        let ends: Vec<_> = ends.map(|x| format!("{:.3}:{:.3}", x.cs_lower, x.cs_upper)).collect();
        println!("{used} {named} {}", ends.join(" "));
    }
}
