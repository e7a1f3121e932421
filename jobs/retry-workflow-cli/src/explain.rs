//! The waits of a policy as a table, as bars in a terminal, and as a picture. All of it is
//! calculated: the same policy always looks the same.

mod bars;
pub(crate) mod curves;
mod picture;
mod table;

use retry_runtime::Policy;
use retry_workflow::walk::Walk;

pub(crate) use self::picture::picture;

/// The number of waits that are shown; the rest are counted.
pub(crate) const SHOWN: usize = 24;

/// Everything that is shown of a policy in a terminal of this width.
pub(crate) fn text(policy: &Policy, width: usize) -> Vec<String> {
    let walk = Walk::new(policy, SHOWN);
    let mut lines = vec![policy.to_string(), String::new()];
    lines.extend(table::lines(&walk));
    if !walk.waits.is_empty() {
        lines.push(String::new());
        lines.extend(bars::lines(&walk, width));
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use retry_runtime::{Backoff, Jitter};

    use super::*;

    const S: fn(u64) -> Duration = Duration::from_secs;

    #[track_caller]
    fn shows(policy: Policy, expected: &str) {
        assert!(policy.validate().is_ok());
        let shown = text(&policy, 60).join("\n");
        assert_eq!(shown, expected.trim_matches('\n'), "\n{shown}");
    }

    #[test]
    fn a_plain_policy() {
        shows(
            Policy::new().attempts(4),
            "
4 attempts, exponential (base 2) from 1s to 30s

attempt  wait  sum
      1     -   0s
      2    1s   1s
      3    2s   3s
      4    4s   7s
gives up after attempt 4, having waited 7s

2 │████████████▌ 1s
3 │█████████████████████████ 2s
4 │██████████████████████████████████████████████████ 4s",
        );
    }

    #[test]
    fn jitter_has_a_shortest_and_a_longest() {
        shows(
            Policy::new().attempts(3).jitter(Jitter::Proportional(0.5)),
            "
3 attempts, exponential (base 2) from 1s to 30s, jitter ±50 %

attempt  wait  with jitter  sum  sum with jitter
      1     -            -   0s               0s
      2    1s   500ms–1.5s   1s       500ms–1.5s
      3    2s        1s–3s   3s        1.5s–4.5s
gives up after attempt 3, having waited 1.5s–4.5s

2 │███████▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒ 500ms–1.5s
3 │███████████████▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒ 1s–3s",
        );
    }

    #[test]
    fn a_budget_ends_the_table() {
        shows(
            Policy::new().unlimited().backoff(Backoff::Fixed).budget(S(2)),
            "
unlimited attempts, fixed 1s, budget 2s

attempt  wait  sum
      1     -   0s
      2    1s   1s
      3    1s   2s
gives up after attempt 3: another wait of 1s does not fit into the budget of 2s

2 │██████████████████████████████████████████████████ 1s
3 │██████████████████████████████████████████████████ 1s",
        );
    }

    #[test]
    fn a_budget_that_may_end_the_call_earlier_is_explained() {
        let shown =
            text(&Policy::new().attempts(5).jitter(Jitter::Full).budget(S(8)), 60).join("\n");
        assert!(
            shown.contains(
                "      5    8s        0s–8s  15s            0s–8s  if the budget of 8s lasts"
            ),
            "{shown}"
        );
    }

    #[test]
    fn decorrelated_waits_are_intervals_only() {
        let shown = text(&Policy::new().attempts(3).jitter(Jitter::Decorrelated), 60).join("\n");
        assert!(shown.contains("      3        1s–9s  2s–12s"), "{shown}");
    }

    #[test]
    fn extreme_numbers_do_not_panic() {
        let huge = Policy::new()
            .attempts(u32::MAX)
            .initial_delay(Duration::MAX)
            .max_delay(Duration::MAX)
            .jitter(Jitter::Full);
        let tiny = Policy::new().initial_delay(Duration::ZERO).max_delay(Duration::ZERO);
        let thousands = Policy::new().attempts(5_000);
        for policy in [huge, tiny, thousands, Policy::new().attempts(1)] {
            for width in [0, 1, 60, 10_000] {
                text(&policy, width);
            }
            picture(&policy);
        }
        assert!(text(&thousands, 60).join("\n").contains("and 4,975 more"));
    }
}
