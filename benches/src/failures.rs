//! Calls whose every attempt fails, for whoever times or counts them. Their clock is
//! paused: it jumps over each wait. Without that tokio's timers, which know whole
//! milliseconds, would make even a wait of zero a millisecond long.

use std::hint::black_box;
use std::io;
use std::rc::Rc;

use tokio::runtime::{Builder, Runtime};

use crate::answer::REFUSED;
use crate::race::Runner;
use crate::visit::Visit;

/// Batches of them.
#[derive(Debug)]
pub struct Failures {
    runtime: Rc<Runtime>,
    /// Those who make them.
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

/// A runtime on this thread, whose clock jumps to the next timer when nothing else is to be done.
///
/// # Panics
///
/// If there is no runtime to be had.
pub fn paused_runtime() -> Runtime {
    Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime")
}
