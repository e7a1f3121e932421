//! Calls that fail on every attempt, to be timed or counted. Their clock is paused and jumps over
//! each wait. With a running clock, even a wait of zero would take a millisecond, because tokio's
//! timers have a resolution of one millisecond.

use std::hint::black_box;
use std::io;
use std::rc::Rc;

use tokio::runtime::{Builder, Runtime};

use crate::answer::REFUSED;
use crate::race::Runner;
use crate::visit::Visit;

/// Batches of failing calls.
#[derive(Debug)]
pub struct Failures {
    runtime: Rc<Runtime>,
    /// One runner per contender.
    pub runners: Vec<Runner>,
}

impl Default for Failures {
    fn default() -> Self {
        Self { runtime: Rc::new(paused_runtime()), runners: Vec::new() }
    }
}

impl Visit for Failures {
    fn visit<F>(&mut self, name: &'static str, call: impl Fn(u64) -> F + Copy + 'static)
    where
        F: Future<Output = io::Result<u64>> + 'static,
    {
        let runtime = Rc::clone(&self.runtime);
        self.runners.push(Runner::new(name, move |calls| {
            runtime.block_on(async {
                for _ in 0..calls {
                    black_box(call(black_box(REFUSED)).await.is_err());
                }
            });
        }));
    }
}

/// A runtime on this thread, whose clock jumps to the next timer when the runtime is idle.
///
/// # Panics
///
/// Panics if the runtime cannot be created.
pub fn paused_runtime() -> Runtime {
    Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime")
}
