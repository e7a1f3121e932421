//! Live pages: the board polls what they show once for all clients, and not at all while there are
//! none.
//!
//! A page is notified that it has changed, and then requests itself again. A client that does not
//! read costs nothing: no events are queued for it, it keeps no poll running, and its stream ends
//! when it reads again.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::response::sse::Event;
use futures_util::Stream;
use futures_util::stream::unfold;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout_at};

/// The poll interval.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// The longest time without an event for a client.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// A client that has not read for this long no longer counts.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// The largest number of clients; further ones are refused, and reload the page instead.
const MOST_CLIENTS: usize = 4_096;

/// Polls a topic: returns a hash, which differs once the topic has changed.
type PollFn = Arc<dyn Fn(String) -> Polling + Send + Sync>;
type Polling = Pin<Box<dyn Future<Output = Result<u64, ()>> + Send>>;

/// The topics that are being watched.
#[derive(Clone)]
pub(crate) struct Live(Arc<Watched>);

struct Watched {
    poll: PollFn,
    topics: Mutex<HashMap<String, Arc<Topic>>>,
    clients: AtomicUsize,
}

/// Something that pages show.
struct Topic {
    seen: watch::Sender<Seen>,
    /// When a client last read an event.
    read: Mutex<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    /// How many times it has changed.
    changes: u64,
    /// Whether the last poll failed.
    is_stale: bool,
}

/// A client, which watches its topic until it is dropped.
struct Client {
    live: Live,
    topic: Arc<Topic>,
    seen: watch::Receiver<Seen>,
    read: Instant,
    is_new: bool,
}

impl Live {
    pub(crate) fn new<F>(poll: impl Fn(String) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<u64, ()>> + Send + 'static,
    {
        Self(Arc::new(Watched {
            poll: Arc::new(move |topic| Box::pin(poll(topic))),
            topics: Mutex::default(),
            clients: AtomicUsize::new(0),
        }))
    }

    /// The events of a topic from now on; `None` if there are too many clients.
    pub(crate) fn watch(&self, name: String) -> Option<impl Stream<Item = Event> + Send + use<>> {
        let clients = &self.0.clients;
        if clients.fetch_add(1, Ordering::Relaxed) >= MOST_CLIENTS {
            clients.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        let topic = self.topic(name);
        let seen = topic.seen.subscribe();
        let now = Instant::now();
        let client = Client { live: self.clone(), topic, seen, read: now, is_new: true };
        client.topic.is_read(now);
        Some(unfold(client, Client::next))
    }

    /// The topic with this name, which is polled from now on.
    fn topic(&self, name: String) -> Arc<Topic> {
        let mut topics = self.topics();
        if let Some(topic) = topics.get(&name) {
            return Arc::clone(topic);
        }
        let (seen, _) = watch::channel(Seen { changes: 0, is_stale: false });
        let topic = Arc::new(Topic { seen, read: Mutex::new(Instant::now()) });
        topics.insert(name.clone(), Arc::clone(&topic));
        tokio::spawn(poll_topic(self.clone(), name, Arc::clone(&topic)));
        topic
    }

    fn topics(&self) -> MutexGuard<'_, HashMap<String, Arc<Topic>>> {
        self.0.topics.lock()
    }

    /// Ends a topic that nobody watches; returns `false` if somebody does.
    fn end(&self, name: &str, topic: &Topic) -> bool {
        let mut topics = self.topics();
        let is_watched =
            topic.seen.receiver_count() > 0 && topic.last_read().elapsed() < READ_TIMEOUT;
        if !is_watched {
            topics.remove(name);
        }
        !is_watched
    }
}

/// Polls a topic for all its clients.
async fn poll_topic(live: Live, name: String, topic: Arc<Topic>) {
    let mut before = None;
    while !live.end(&name, &topic) {
        let poll = (live.0.poll)(name.clone()).await;
        topic.seen.send_if_modified(|seen| {
            let is_changed = poll.is_ok_and(|now| before.replace(now).is_some_and(|it| it != now));
            let is_stale = poll.is_err();
            let is_news = is_changed || seen.is_stale != is_stale;
            if is_news {
                seen.changes = seen.changes.wrapping_add(1);
                seen.is_stale = is_stale;
            }
            is_news
        });
        sleep(POLL_INTERVAL).await;
    }
}

impl Topic {
    fn is_read(&self, now: Instant) {
        *self.read.lock() = now;
    }

    fn last_read(&self) -> Instant {
        *self.read.lock()
    }
}

impl Client {
    async fn next(mut self) -> Option<(Event, Self)> {
        if self.is_new {
            self.is_new = false;
            return Some((event("hello").retry(Duration::from_secs(1)), self));
        }
        let changed = timeout_at(Instant::now() + HEARTBEAT, self.seen.changed()).await;
        let now = Instant::now();
        if now.duration_since(self.read) > READ_TIMEOUT {
            // It has not read for long, so polling may have stopped in between.
            return None;
        }
        self.read = now;
        self.topic.is_read(now);
        let word = match changed {
            Err(_) => "beat",
            Ok(Err(_)) => return None,
            Ok(Ok(())) if self.seen.borrow_and_update().is_stale => "stale",
            Ok(Ok(())) => "change",
        };
        Some((event(word), self))
    }
}

/// An event; browsers ignore events without data.
fn event(word: &str) -> Event {
    Event::default().event(word).data(word)
}

impl Drop for Client {
    fn drop(&mut self) {
        self.live.0.clients.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::atomic::AtomicU64;

    use futures_util::StreamExt as _;

    use super::*;

    struct Watched {
        live: Live,
        looks: Arc<AtomicU64>,
        value: Arc<AtomicU64>,
    }

    fn watched() -> Watched {
        let (looks, value) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
        let (counted, shown) = (Arc::clone(&looks), Arc::clone(&value));
        let live = Live::new(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            let shown = shown.load(Ordering::Relaxed);
            async move { if shown == u64::MAX { Err(()) } else { Ok(shown) } }
        });
        Watched { live, looks, value }
    }

    fn word(event: &Event) -> String {
        let text = format!("{event:?}");
        let known = ["hello", "change", "stale", "beat"];
        known.into_iter().find(|word| text.contains(word)).unwrap_or_default().to_owned()
    }

    #[tokio::test(start_paused = true)]
    async fn a_thousand_clients_share_one_look() {
        let watched = watched();
        let clients: Vec<_> = (0..1_000)
            .map(|_| {
                let events = watched.live.watch("jobs".to_owned()).unwrap();
                tokio::spawn(async move {
                    let mut events = pin!(events);
                    assert_eq!(word(&events.next().await.unwrap()), "hello");
                    word(&events.next().await.unwrap())
                })
            })
            .collect();
        sleep(Duration::from_secs(2)).await;
        let looks = watched.looks.load(Ordering::Relaxed);
        assert!((8..=10).contains(&looks), "{looks} looks in 2 s");
        watched.value.store(1, Ordering::Relaxed);
        for client in clients {
            assert_eq!(client.await.unwrap(), "change");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_looks_while_nobody_watches() {
        let watched = watched();
        let events = watched.live.watch("jobs".to_owned()).unwrap();
        sleep(Duration::from_secs(1)).await;
        drop(events);
        sleep(Duration::from_secs(1)).await;
        let looks = watched.looks.swap(0, Ordering::Relaxed);
        assert!(looks > 0 && watched.live.topics().is_empty());
        sleep(Duration::from_secs(60)).await;
        assert_eq!(watched.looks.load(Ordering::Relaxed), 0);
        assert_eq!(watched.live.0.clients.load(Ordering::Relaxed), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_never_reads_keeps_no_look_alive_and_is_dropped() {
        let watched = watched();
        let mut stuck = Box::pin(watched.live.watch("jobs".to_owned()).unwrap());
        assert_eq!(word(&stuck.next().await.unwrap()), "hello");
        sleep(READ_TIMEOUT + Duration::from_secs(1)).await;
        let looks = watched.looks.load(Ordering::Relaxed);
        watched.value.store(1, Ordering::Relaxed);
        sleep(Duration::from_secs(60)).await;
        assert_eq!(watched.looks.load(Ordering::Relaxed), looks, "nobody reads");
        assert!(watched.live.topics().is_empty());
        assert!(stuck.next().await.is_none(), "it is to ask again");
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_hears_of_changes_of_trouble_and_of_its_end() {
        let watched = watched();
        let mut events = Box::pin(watched.live.watch("jobs".to_owned()).unwrap());
        assert_eq!(word(&events.next().await.unwrap()), "hello");
        // Nothing happens for minutes, but heartbeats still arrive.
        for _ in 0..12 {
            assert_eq!(word(&events.next().await.unwrap()), "beat");
        }
        for (value, heard) in [(1, "change"), (u64::MAX, "stale"), (1, "change"), (2, "change")] {
            watched.value.store(value, Ordering::Relaxed);
            assert_eq!(word(&events.next().await.unwrap()), heard);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn more_clients_than_can_be_served_are_told_so() {
        let watched = watched();
        let all: Vec<_> =
            (0..MOST_CLIENTS).map(|_| watched.live.watch("jobs".to_owned()).unwrap()).collect();
        assert!(watched.live.watch("jobs".to_owned()).is_none());
        drop(all);
        assert!(watched.live.watch("jobs".to_owned()).is_some());
    }
}
