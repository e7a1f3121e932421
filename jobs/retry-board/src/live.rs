//! Live pages: the board polls what they show once for all clients, and not at all while there are
//! none.
//!
//! A page is notified that it has changed, and then requests itself again. A client that does not
//! read costs nothing: no events are queued for it, it keeps no poll running, and its stream ends
//! when it reads again.
//!
//! A stream has the topics of all tabs of a browser. Its events contain the number of the topic.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::response::sse::Event;
use futures_util::Stream;
use futures_util::future::select_all;
use futures_util::stream::unfold;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout_at};

use crate::streams::StreamPermit;

/// The poll interval.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// The longest time without an event for a client.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// A client that has not read for this long no longer counts.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// The largest number of topics of a stream.
pub(crate) const MAX_TOPICS: usize = 32;

/// Polls a topic: returns a hash, which differs once the topic has changed.
type PollFn = Arc<dyn Fn(String) -> Polling + Send + Sync>;
type Polling = Pin<Box<dyn Future<Output = Polled> + Send>>;

/// A hash of the displayed state, or the reason that it is unknown.
pub(crate) type Polled = Result<u64, PollError>;

/// The reason that a topic cannot be polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PollError {
    /// The next poll may succeed.
    Failed,
    /// The store is gone: streams end, and clients connect again, perhaps to another store.
    Gone,
}

/// The topics that are being watched.
#[derive(Clone)]
pub(crate) struct Live(Arc<Watched>);

struct Watched {
    poll: PollFn,
    topics: Mutex<HashMap<String, Arc<Topic>>>,
}

/// Something that pages show.
struct Topic {
    seen: watch::Sender<TopicState>,
    /// The time at which a client last read an event.
    read: Mutex<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TopicState {
    /// The number of times it has changed.
    changes: u64,
    /// Set if the last poll failed.
    is_stale: bool,
    /// `true` once the topic is no longer polled.
    is_gone: bool,
}

/// A client, which watches its topics until it is dropped.
struct Client {
    topics: Vec<WatchedTopic>,
    read: Instant,
    is_new: bool,
    _permit: StreamPermit,
}

/// A topic of a client.
struct WatchedTopic {
    /// The number of the topic in the client's request.
    number: usize,
    topic: Arc<Topic>,
    seen: watch::Receiver<TopicState>,
}

impl Live {
    pub(crate) fn new<F>(poll: impl Fn(String) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Polled> + Send + 'static,
    {
        Self(Arc::new(Watched {
            poll: Arc::new(move |topic| Box::pin(poll(topic))),
            topics: Mutex::default(),
        }))
    }

    /// Returns the events of topics, each with its number, from now on.
    pub(crate) fn watch(
        &self,
        names: Vec<(usize, String)>,
        permit: StreamPermit,
    ) -> impl Stream<Item = Event> + Send + use<> {
        let now = Instant::now();
        let topics = names.into_iter().map(|(number, name)| {
            let topic = self.topic(name);
            topic.is_read(now);
            WatchedTopic { number, seen: topic.seen.subscribe(), topic }
        });
        let client = Client { topics: topics.collect(), read: now, is_new: true, _permit: permit };
        unfold(client, Client::next)
    }

    /// The topic with this name, which is polled from now on.
    fn topic(&self, name: String) -> Arc<Topic> {
        let mut topics = self.0.topics.lock();
        if let Some(topic) = topics.get(&name) {
            return Arc::clone(topic);
        }
        let (seen, _) = watch::channel(TopicState { changes: 0, is_stale: false, is_gone: false });
        let topic = Arc::new(Topic { seen, read: Mutex::new(Instant::now()) });
        topics.insert(name.clone(), Arc::clone(&topic));
        tokio::spawn(poll_topic(self.clone(), name, Arc::clone(&topic)));
        topic
    }

    /// Ends a topic without watchers; returns `false` if it has some.
    fn end(&self, name: &str, topic: &Topic) -> bool {
        let mut topics = self.0.topics.lock();
        let is_watched =
            topic.seen.receiver_count() > 0 && topic.read.lock().elapsed() < READ_TIMEOUT;
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
        if poll == Err(PollError::Gone) {
            live.0.topics.lock().remove(&name);
            topic.seen.send_modify(|seen| seen.is_gone = true);
            return;
        }
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
}

impl Client {
    async fn next(mut self) -> Option<(Event, Self)> {
        if self.is_new {
            self.is_new = false;
            return Some((event("hello", None).retry(Duration::from_secs(1)), self));
        }
        let changed = timeout_at(Instant::now() + HEARTBEAT, self.changed()).await;
        let now = Instant::now();
        if now.duration_since(self.read) > READ_TIMEOUT {
            // It has not read for long, so polling may have stopped in between.
            return None;
        }
        self.read = now;
        for watched in &self.topics {
            watched.topic.is_read(now);
        }
        let event = match changed {
            Err(_) => event("beat", None),
            Ok(None) => return None,
            Ok(Some(place)) => {
                let watched = &mut self.topics[place];
                let seen = *watched.seen.borrow_and_update();
                if seen.is_gone {
                    return None;
                }
                event(if seen.is_stale { "stale" } else { "change" }, Some(watched.number))
            }
        };
        Some((event, self))
    }

    /// Waits until one of the topics changes, and returns its place; `None` if none can change.
    async fn changed(&mut self) -> Option<usize> {
        if self.topics.is_empty() {
            return None;
        }
        let changes = self.topics.iter_mut().map(|watched| Box::pin(watched.seen.changed()));
        let (done, place, _) = select_all(changes).await;
        done.ok().map(|()| place)
    }
}

/// An event, about the topic with this number or about the whole stream. Browsers ignore events
/// without data.
fn event(word: &str, topic: Option<usize>) -> Event {
    let event = Event::default().event(word);
    match topic {
        Some(number) => event.data(number.to_string()),
        None => event.data(word),
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::atomic::AtomicU64;

    use futures_util::StreamExt as _;
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::streams::Streams;

    /// Watches topics with these names.
    fn watch(live: &Live, names: &[&str]) -> impl Stream<Item = Event> + Send + use<> {
        let names = names.iter().map(|name| (*name).to_owned()).enumerate().collect();
        live.watch(names, Arc::<Streams>::default().open(None).expect("the first one"))
    }

    /// Values with which a poll fails.
    const FAILED: u64 = u64::MAX;
    const GONE: u64 = u64::MAX - 1;

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
            async move {
                match shown {
                    GONE => Err(PollError::Gone),
                    FAILED => Err(PollError::Failed),
                    shown => Ok(shown),
                }
            }
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
                let events = watch(&watched.live, &["jobs"]);
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
    async fn the_store_is_not_polled_without_subscribers() {
        let watched = watched();
        let events = watch(&watched.live, &["jobs"]);
        sleep(Duration::from_secs(1)).await;
        drop(events);
        sleep(Duration::from_secs(1)).await;
        let looks = watched.looks.swap(0, Ordering::Relaxed);
        assert!(looks > 0 && watched.live.0.topics.lock().is_empty());
        sleep(Duration::from_secs(60)).await;
        assert_eq!(watched.looks.load(Ordering::Relaxed), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_never_reads_is_disconnected_and_stops_polling() {
        let watched = watched();
        let mut stuck = Box::pin(watch(&watched.live, &["jobs"]));
        assert_eq!(word(&stuck.next().await.unwrap()), "hello");
        sleep(READ_TIMEOUT + Duration::from_secs(1)).await;
        let looks = watched.looks.load(Ordering::Relaxed);
        watched.value.store(1, Ordering::Relaxed);
        sleep(Duration::from_secs(60)).await;
        assert_eq!(watched.looks.load(Ordering::Relaxed), looks, "nobody reads");
        assert!(watched.live.0.topics.lock().is_empty());
        assert!(stuck.next().await.is_none(), "it is to ask again");
    }

    #[tokio::test(start_paused = true)]
    async fn a_subscriber_receives_changes_errors_and_the_end() {
        let watched = watched();
        let mut events = Box::pin(watch(&watched.live, &["jobs"]));
        assert_eq!(word(&events.next().await.unwrap()), "hello");
        // Nothing happens for minutes, but heartbeats still arrive.
        for _ in 0..12 {
            assert_eq!(word(&events.next().await.unwrap()), "beat");
        }
        for (value, heard) in [(1, "change"), (FAILED, "stale"), (1, "change"), (2, "change")] {
            watched.value.store(value, Ordering::Relaxed);
            assert_eq!(word(&events.next().await.unwrap()), heard);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_ends_with_its_store_and_the_next_one_polls_again() {
        let watched = watched();
        let mut events = Box::pin(watch(&watched.live, &["jobs"]));
        assert_eq!(word(&events.next().await.unwrap()), "hello");
        watched.value.store(GONE, Ordering::Relaxed);
        assert!(events.next().await.is_none());
        watched.value.store(1, Ordering::Relaxed);
        let mut events = Box::pin(watch(&watched.live, &["jobs"]));
        assert_eq!(word(&events.next().await.unwrap()), "hello");
        sleep(POLL_INTERVAL * 2).await;
        watched.value.store(2, Ordering::Relaxed);
        assert_eq!(word(&events.next().await.unwrap()), "change");
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_reports_the_number_of_the_topic_that_changed() {
        let values = Arc::new(Mutex::new(HashMap::<String, u64>::new()));
        let shown = Arc::clone(&values);
        let live = Live::new(move |topic| {
            let value = shown.lock().get(&topic).copied().unwrap_or(0);
            async move { Ok(value) }
        });
        let mut events = Box::pin(watch(&live, &["a", "b", "c"]));
        assert_eq!(word(&events.next().await.unwrap()), "hello");
        sleep(POLL_INTERVAL * 2).await;
        for (name, number) in [("c", "2"), ("a", "0"), ("b", "1"), ("b", "1")] {
            *values.lock().entry(name.to_owned()).or_default() += 1;
            let event = events.next().await.unwrap();
            let text = format!("{event:?}");
            assert_eq!(word(&event), "change");
            assert!(text.contains(&format!("data: {number}")), "{text}");
        }
        drop(events);
        sleep(POLL_INTERVAL * 2).await;
        assert!(live.0.topics.lock().is_empty(), "nothing is polled any more");
    }
}
