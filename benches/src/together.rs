//! Threads that do the same thing at the same time, as far as the machine allows.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// After this many failed rounds, nothing can be measured.
const TRIES: u32 = 10_000;

const SHORT: Duration = Duration::from_micros(50);

/// Returns the average time of `work` when this many threads do it at once. If other programs have
/// kept the threads apart, they try again.
///
/// # Panics
///
/// Panics if the threads are always kept apart.
pub fn together(threads: usize, work: &(impl Fn() + Sync)) -> Duration {
    let round = (0..TRIES).map(|_| round(threads, work)).find(|round| are_together(round));
    let spans = round.expect("a machine that runs its threads at the same time");
    let sum: Duration = spans.iter().map(Span::length).sum();
    sum / u32::try_from(threads).expect("a machine has fewer threads")
}

/// The time in which one thread worked.
struct Span {
    start: Instant,
    end: Instant,
}

impl Span {
    fn length(&self) -> Duration {
        self.end - self.start
    }
}

fn round(threads: usize, work: &(impl Fn() + Sync)) -> Vec<Span> {
    let missing = AtomicUsize::new(threads);
    let span = || {
        // Spin, because a thread that sleeps until the others are ready wakes up late.
        missing.fetch_sub(1, Ordering::AcqRel);
        while missing.load(Ordering::Acquire) > 0 {
            spin_loop();
        }
        let start = Instant::now();
        work();
        Span { start, end: Instant::now() }
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(span)).collect();
        let own = span();
        let others = others.into_iter().map(|other| other.join().expect("no panic"));
        others.chain([own]).collect()
    })
}

/// Returns `true` if all threads worked at the same time for most of the time. Work that is too
/// short for threads to start together is accepted anyway; it only occurs while batches are being
/// sized.
fn are_together(spans: &[Span]) -> bool {
    let first_end = spans.iter().map(|span| span.end).min();
    let last_start = spans.iter().map(|span| span.start).max();
    let longest = spans.iter().map(Span::length).max();
    let shared = first_end.zip(last_start).map(|(end, start)| end.saturating_duration_since(start));
    shared
        .zip(longest)
        .is_some_and(|(shared, longest)| longest < SHORT || shared * 10 >= longest * 9)
}
