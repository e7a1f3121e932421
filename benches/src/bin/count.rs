//! Counts the allocations of contenders, and prints the results.

use std::io;
use std::pin::Pin;
use std::task::{Context, Waker};

use allocation_counter::measure;
use retry_benches::answer::REFUSED;
use retry_benches::breakers::ours::family;
use retry_benches::calls::Successes;
use retry_benches::child::Finding;
use retry_benches::failures::{Failures, paused_runtime};
use retry_benches::parts::growth::KEYS;
use retry_benches::policies::{at_once, seconds};
use retry_benches::race::Runner;
use retry_benches::visit::Visit;

/// The number of calls that wait at the same time.
const WAITING: usize = 10_000;

fn main() {
    let mut successes = Successes::default();
    seconds::contenders::each(&mut successes);
    count_allocations(Finding::SuccessAllocations, successes.runners);

    let mut failures = Failures::default();
    at_once::contenders::each(&mut failures);
    count_allocations(Finding::FailureAllocations, failures.runners);

    let mut failures = Failures::default();
    seconds::contenders::each_with_timers(&mut failures);
    count_allocations(Finding::FailureWithWaitsAllocations, failures.runners);

    seconds::contenders::each_with_timers(&mut Waiting);

    for (name, keys) in KEYS {
        let mut held = None;
        let counted = measure(|| held = Some(family(keys)));
        let bytes = u64::try_from(counted.bytes_current).expect("more was allocated than freed");
        Finding::KeyBytes.print(name, as_float(bytes) / as_float(keys as u64));
        drop(held);
    }
}

fn count_allocations(finding: Finding, runners: Vec<Runner>) {
    const CALLS: u64 = 1_000;
    for mut runner in runners {
        // Allocations on first use are not part of a call.
        runner.run(CALLS);
        let counted = measure(|| {
            runner.run(CALLS);
        });
        // Nor is the remainder: what the runtime allocates once for all these calls.
        finding.print(runner.name(), as_float(counted.count_total / CALLS));
    }
}

/// Measures the heap memory held by calls that have failed once and are waiting.
struct Waiting;

impl Visit for Waiting {
    fn visit<F>(&mut self, name: &'static str, call: impl Fn(u64) -> F + Copy + 'static)
    where
        F: Future<Output = io::Result<u64>> + 'static,
    {
        let runtime = paused_runtime();
        let _entered = runtime.enter();
        let mut context = Context::from_waker(Waker::noop());
        let mut waiting: Vec<Pin<Box<F>>> = Vec::with_capacity(WAITING);
        let counted = measure(|| {
            for _ in 0..WAITING {
                let mut call = Box::pin(call(REFUSED));
                // Contenders that do not retry do not wait.
                if call.as_mut().poll(&mut context).is_pending() {
                    waiting.push(call);
                }
            }
        });
        if !waiting.is_empty() {
            let bytes =
                u64::try_from(counted.bytes_current).expect("more was allocated than freed");
            Finding::WaitingBytes.print(name, as_float(bytes) / as_float(WAITING as u64));
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
const fn as_float(count: u64) -> f64 {
    count as f64
}
