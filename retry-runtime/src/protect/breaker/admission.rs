//! Who is admitted: every call while the breaker is closed, none while it is open, probes while it is
//! half-open.

use core::time::Duration;

use super::CircuitBreaker;
use super::outcomes::Counted;
use super::permit::Permit;
use super::rejected::Rejected;
use super::word::{Kind, Tag, Word};
use crate::base::clock;
use crate::event::transition::Cause;
use crate::protect::stamp;

impl CircuitBreaker {
    /// Every admission except that of a closed breaker that counts consecutive failures.
    #[inline(never)]
    pub(super) fn acquire(&self, word: Word) -> Result<Permit<'_>, Rejected> {
        if word.is_watched() {
            self.note_call();
        }
        match word.kind() {
            Kind::Closed | Kind::Measured | Kind::Forced => {
                Ok(Permit::new(self, Tag::untimed(word)))
            }
            Kind::Timed => Ok(Permit::new(self, Tag::timed(word, stamp::nanos()))),
            Kind::Open => {
                let remaining = self.remaining();
                if remaining.is_zero() { self.probe() } else { self.reject(remaining) }
            }
            Kind::HalfOpen => self.probe(),
        }
    }

    /// Rejects a call. A breaker that only observes lets it through, and ignores its report.
    fn reject(&self, remaining: Duration) -> Result<Permit<'_>, Rejected> {
        self.count(Counted::Rejected);
        if self.observes() {
            return Ok(Permit::new(self, Tag::IGNORED));
        }
        Err(Rejected { breaker: self.name.clone(), remaining })
    }

    #[cold]
    fn probe(&self) -> Result<Permit<'_>, Rejected> {
        let mut inner = self.lock();
        self.end_loan(&mut inner);
        let word = self.word();
        match word.kind() {
            Kind::HalfOpen => {}
            Kind::Open => {
                let remaining = self.remaining();
                if !remaining.is_zero() {
                    self.announce_all(inner);
                    return self.reject(remaining);
                }
                self.transition(&mut inner, Kind::HalfOpen, Cause::TimeUp);
            }
            // Another thread has closed it.
            _ => {
                drop(inner);
                return self.acquire(word);
            }
        }
        // The clock is read under the lock, so that probes are ordered by time.
        let most = self.max_probes(&inner);
        let admitted = inner.probes.admit(clock::now(), most, self.config.get_timeout());
        // Created before the announcement: if the thread panics there, the permit is returned.
        let permit = admitted.map(|id| Permit::new(self, Tag::probe(id)));
        self.announce_all(inner);
        match permit {
            Some(permit) => Ok(permit),
            None => self.reject(Duration::ZERO),
        }
    }
}
