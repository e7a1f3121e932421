//! recloser: a ring of the latest calls behind a spin lock. It supports failure rates only.

use std::sync::Arc;

use recloser::{Error, Recloser};

use super::{Breaker, OPEN_FOR, Outcome};
use crate::names::RECLOSER;

pub(super) fn by_rate() -> Breaker {
    let breaker =
        Arc::new(Recloser::custom().error_rate(0.5).closed_len(100).open_wait(OPEN_FOR).build());
    Breaker::new(RECLOSER, move || {
        let breaker = Arc::clone(&breaker);
        move |outcome| {
            let ended = breaker.call(|| match outcome {
                Outcome::Success => Ok(()),
                Outcome::Failure => Err(()),
            });
            !matches!(ended, Err(Error::Rejected))
        }
    })
}
