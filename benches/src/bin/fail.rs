//! Times calls that fail on every attempt, and prints the results.

use retry_benches::child::Finding;
use retry_benches::failures::Failures;
use retry_benches::policies::{at_once, seconds};
use retry_benches::race::race;

fn main() {
    let mut without_waits = Failures::default();
    at_once::contenders::each(&mut without_waits);
    Finding::FailureTime.print_all(&race(without_waits.runners));

    let mut with_waits = Failures::default();
    seconds::contenders::each_with_timers(&mut with_waits);
    Finding::FailureWithWaitsTime.print_all(&race(with_waits.runners));
}
