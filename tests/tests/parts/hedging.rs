//! The figures of the guide to hedging.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use retry_runtime::retry;
use tokio::runtime::Builder;
use tokio::time::{Instant, sleep};

fn on_virtual_time<T>(run: impl AsyncFnOnce() -> T) -> T {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(run())
}

/// A service of which two answers in a hundred are slow.
#[derive(Default)]
struct Tail {
    calls: AtomicUsize,
}

impl Tail {
    async fn call(&self) -> Result<(), String> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed) as u64;
        // Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
        let mut random = call.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        random = (random ^ (random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        random = (random ^ (random >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        random ^= random >> 31;
        let usual = 50 + random % 100;
        let is_slow = (random >> 32) % 100 < 2;
        sleep(Duration::from_millis(if is_slow { usual * 20 } else { usual })).await;
        Ok(())
    }
}

#[retry]
async fn not_hedged(service: &Tail) -> Result<(), String> {
    service.call().await
}

#[retry(hedge = "200ms")]
async fn after_a_time(service: &Tail) -> Result<(), String> {
    service.call().await
}

#[retry(hedge = p95)]
async fn after_a_percentile(service: &Tail) -> Result<(), String> {
    service.call().await
}

/// A row of the table: the percentiles of the calls, and how many calls more the service got.
fn measured(label: &str, call: &impl AsyncFn(&Tail) -> Result<(), String>) -> String {
    const CALLS: usize = 20_000;

    let service = Tail::default();
    let mut times = on_virtual_time(async || {
        let mut times = Vec::with_capacity(CALLS);
        for _ in 0..CALLS {
            let start = Instant::now();
            call(&service).await.expect("every call succeeds");
            times.push(start.elapsed().as_millis());
        }
        times
    });
    times.sort_unstable();
    let percentile = |percent: usize| times[CALLS * percent / 100];
    let more = service.calls.load(Ordering::Relaxed) - CALLS;
    // In tenths of a percent, rounded.
    let more = (more * 1_000 + CALLS / 2) / CALLS;
    let (whole, tenth) = (more / 10, more % 10);
    format!("| {label} | {} ms | {} ms | {whole}.{tenth} % |\n", percentile(50), percentile(99))
}

#[test]
fn the_figures_of_the_guide_match_the_simulation() {
    let guide = include_str!("../../../retry-runtime/src/guide/hedging.md");
    let table = [
        measured("no hedge", &not_hedged),
        measured("`hedge = \"200ms\"`", &after_a_time),
        measured("`hedge = p95`", &after_a_percentile),
    ]
    .concat();
    assert!(guide.contains(&table), "the guide's table is to be:\n{table}");
}
