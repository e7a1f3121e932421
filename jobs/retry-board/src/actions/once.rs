//! [`Once`]: performs an action once even if its form is sent twice; both requests get the same
//! answer. A key that comes back with another request is refused.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::request::problem::Problem;

/// The result of an action.
#[derive(Clone, Debug)]
pub(crate) struct Done {
    /// A sentence for people.
    pub(crate) message: String,
    /// The result for programs.
    pub(crate) json: Value,
    /// The key under which the sentence can be found again.
    pub(crate) number: u64,
}

impl Done {
    pub(crate) fn new(message: impl Into<String>, json: Value) -> Self {
        Self { message: message.into(), json, number: 0 }
    }
}

/// The number of forms that are remembered.
const REMEMBERED: usize = 1_000;

/// An action that was performed, with the fingerprint of its request.
type Performed = OnceCell<(u64, Done)>;

type Remembered = VecDeque<(Option<String>, Arc<Performed>)>;

/// Remembers the most recent forms.
#[derive(Debug, Default)]
pub(crate) struct Once {
    sent: Mutex<Remembered>,
    number: AtomicU64,
}

impl Once {
    /// Performs the action, unless it has been done for this key and this request. A failed action
    /// can be repeated, also with another request: a form that was corrected has the same key.
    pub(crate) async fn run<F>(
        &self,
        key: Option<&str>,
        request: impl Hash,
        work: impl FnOnce() -> F,
    ) -> Result<Done, Problem>
    where
        F: Future<Output = Result<Done, Problem>>,
    {
        let cell = self.cell(key);
        let fingerprint = fingerprint(request);
        let (performed, done) = cell
            .get_or_try_init(async || {
                let mut done = work().await?;
                done.number = self.number.fetch_add(1, Ordering::Relaxed) + 1;
                Ok::<_, Problem>((fingerprint, done))
            })
            .await?;
        if *performed != fingerprint {
            return Err(Problem::other_request());
        }
        Ok(done.clone())
    }

    fn cell(&self, key: Option<&str>) -> Arc<Performed> {
        let mut sent = self.sent.lock();
        let known = sent.iter().find(|(known, _)| key.is_some() && known.as_deref() == key);
        if let Some((_, cell)) = known {
            return Arc::clone(cell);
        }
        let cell = Arc::<Performed>::default();
        sent.push_back((key.map(str::to_owned), Arc::clone(&cell)));
        if sent.len() > REMEMBERED {
            sent.pop_front();
        }
        cell
    }

    /// The sentence of the action with this number.
    pub(crate) fn message(&self, number: u64) -> Option<String> {
        let sent = self.sent.lock();
        let mut done = sent.iter().filter_map(|(_, cell)| cell.get());
        done.find(|(_, done)| done.number == number).map(|(_, done)| done.message.clone())
    }
}

/// A number that differs if the value does, but for chance.
pub(crate) fn fingerprint(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn a_repeated_request_runs_once_unless_it_failed() {
        let (once, times) = (Once::default(), AtomicU64::new(0));
        let run = |key| {
            once.run(key, "re-drive", || async {
                tokio::task::yield_now().await;
                match times.fetch_add(1, Ordering::Relaxed) {
                    0 => Err(Problem::bad("not yet")),
                    n => Ok(Done::new("done", json!(n))),
                }
            })
        };
        assert!(run(Some("a")).await.is_err());
        let (first, second) = tokio::join!(run(Some("a")), run(Some("a")));
        assert_eq!(first.unwrap().json, 1);
        let second = second.unwrap();
        assert_eq!((second.json, once.message(second.number).as_deref()), (json!(1), Some("done")));
        assert_eq!(run(Some("b")).await.unwrap().json, 2);
        assert_eq!(run(None).await.unwrap().json, 3);
        assert_eq!(run(None).await.unwrap().json, 4);
    }

    #[tokio::test]
    async fn a_key_belongs_to_the_first_request_that_was_performed() {
        let once = Once::default();
        let run = |request, done: Result<u32, ()>| {
            once.run(Some("a"), request, move || async move {
                tokio::task::yield_now().await;
                done.map(|n| Done::new("done", json!(n))).map_err(|()| Problem::bad("no"))
            })
        };
        assert_eq!(run("purge 1", Err(())).await.unwrap_err().status, 400);
        // At the same time, too: the second one waits for the first, and gets none of its answer.
        let (first, second) = tokio::join!(run("purge 2", Ok(2)), run("purge 3", Ok(3)));
        assert_eq!((first.unwrap().json, second.unwrap_err().status.as_u16()), (json!(2), 422));
        assert_eq!(run("purge 2", Ok(9)).await.unwrap().json, 2);
        assert_eq!(run("purge 1", Ok(9)).await.unwrap_err().status, 422);
    }

    #[tokio::test]
    async fn the_number_of_remembered_requests_is_bounded() {
        let once = Once::default();
        for n in 0..2 * REMEMBERED {
            let key = n.to_string();
            once.run(Some(&key), n, || async { Ok(Done::new("", json!(0))) }).await.unwrap();
        }
        assert_eq!(once.sent.lock().len(), REMEMBERED);
    }
}
