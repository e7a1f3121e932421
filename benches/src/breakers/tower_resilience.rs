//! tower-resilience: a layer around a service, with its state behind an async mutex. Each thread
//! has a clone of the service, as in a server.

use std::future::{Ready, poll_fn, ready};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use tower::{Layer as _, Service};
use tower_resilience_circuitbreaker::{CircuitBreakerError, CircuitBreakerLayer};

use super::{Breaker, OPEN_FOR, Outcome};
use crate::names::TOWER_RESILIENCE;

pub(super) fn breaker() -> Breaker {
    let config = CircuitBreakerLayer::builder().consecutive_failures(5);
    let layer = config.wait_duration_in_open(OPEN_FOR).build().expect("a valid configuration");
    let service = layer.layer(tower::service_fn(end as fn(Outcome) -> Ready<Result<(), ()>>));
    Breaker::new(TOWER_RESILIENCE, move || {
        let mut service = service.clone();
        let waker = Waker::from(Arc::new(Sleeper(thread::current())));
        move |outcome| {
            let ended = wait_for(&waker, async {
                poll_fn(|context| Service::<Outcome>::poll_ready(&mut service, context)).await?;
                service.call(outcome).await
            });
            !matches!(ended, Err(CircuitBreakerError::OpenCircuit))
        }
    })
}

fn end(outcome: Outcome) -> Ready<Result<(), ()>> {
    ready(match outcome {
        Outcome::Success => Ok(()),
        Outcome::Failure => Err(()),
    })
}

/// Drives a future on this thread, which sleeps while another thread holds the mutex.
fn wait_for<F: Future>(waker: &Waker, future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

/// Wakes a sleeping thread.
struct Sleeper(Thread);

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
