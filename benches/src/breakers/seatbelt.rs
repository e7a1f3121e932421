//! seatbelt: a layer around a function, which knows rates only. Its state is behind a mutex.

use std::future::{Ready, ready};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use layered::{Execute, Service as _, Stack as _};
use seatbelt::breaker::Breaker as Layer;
use seatbelt::{RecoveryInfo, ResilienceContext};

use super::{Breaker, OPEN_FOR, Outcome};
use crate::names::SEATBELT;
use crate::stack::clock;

/// The end of a call; the last is a rejection.
type Ended = Result<(), bool>;

pub(super) fn by_rate() -> Breaker {
    let layer = Layer::layer("breaker", &ResilienceContext::new(clock()))
        .break_duration(OPEN_FOR)
        .recovery_with(|ended: &Ended, _| match ended {
            Ok(()) => RecoveryInfo::never(),
            Err(_) => RecoveryInfo::retry(),
        })
        .rejected_input_error(|_, _| true);
    let service =
        Arc::new((layer, Execute::new(end as fn(Outcome) -> Ready<Ended>)).into_service());
    Breaker::new(SEATBELT, move || {
        let service = Arc::clone(&service);
        move |outcome| {
            let call = pin!(service.execute(outcome));
            match call.poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(ended) => ended != Err(true),
                Poll::Pending => unreachable!("the function is ready at once"),
            }
        }
    })
}

fn end(outcome: Outcome) -> Ready<Ended> {
    ready(match outcome {
        Outcome::Success => Ok(()),
        Outcome::Failure => Err(false),
    })
}
