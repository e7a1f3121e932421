//! Calls that succeed at once, to be timed or counted.

use std::hint::black_box;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use crate::answer::REFUSED;
use crate::race::Runner;
use crate::visit::Visit;

/// Batches of successful calls.
#[derive(Debug, Default)]
pub struct Successes {
    /// One runner per contender.
    pub runners: Vec<Runner>,
}

impl Visit for Successes {
    fn visit<F>(&mut self, name: &'static str, call: impl Fn(u64) -> F + Copy + 'static)
    where
        F: Future<Output = io::Result<u64>> + 'static,
    {
        self.runners.push(Runner::new(name, move |calls| {
            for id in 0..calls {
                black_box(now(call(black_box(id))));
            }
        }));
    }
}

/// The size of each contender's future.
#[derive(Debug, Default)]
pub struct Sizes {
    /// Sizes in bytes, by name.
    pub bytes: crate::contest::Figures,
}

impl Visit for Sizes {
    fn visit<F>(&mut self, name: &'static str, _: impl Fn(u64) -> F + Copy + 'static)
    where
        F: Future<Output = io::Result<u64>> + 'static,
    {
        let bytes = u32::try_from(size_of::<F>()).expect("a future is no gigabytes");
        self.bytes.insert(name.to_owned(), bytes.into());
    }
}

/// Polls a call that is ready at once.
#[inline(never)]
fn now(call: impl Future<Output = io::Result<u64>>) -> u64 {
    match pin!(call).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Ok(value)) => value,
        _ => REFUSED,
    }
}
