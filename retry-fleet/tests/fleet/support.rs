//! Members with a breaker each, a backend that they call, and connections to the hub that can be
//! cut.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use retry_fleet::hub::{Beat, Changed, HubResult, Member, View};
use retry_fleet::{Change, Fleet, Hub, HubError, MemberId, MemoryHub};
use retry_runtime::{BreakerConfig, CircuitBreaker, State};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

pub(crate) const MILLI: Duration = Duration::from_millis(1);
pub(crate) const SEC: Duration = Duration::from_secs(1);

/// The connection of one member to a hub.
#[derive(Clone)]
pub(crate) struct Wire {
    hub: Arc<Mutex<MemoryHub>>,
    is_cut: Arc<AtomicBool>,
    panics: Arc<AtomicBool>,
    requests: Arc<AtomicU64>,
    /// The round-trip time.
    latency: Duration,
}

impl Wire {
    pub(crate) fn new(hub: &MemoryHub) -> Self {
        Self::slow(hub, 2 * MILLI)
    }

    pub(crate) fn slow(hub: &MemoryHub, latency: Duration) -> Self {
        Self {
            hub: Arc::new(Mutex::new(hub.clone())),
            is_cut: Arc::default(),
            panics: Arc::default(),
            requests: Arc::default(),
            latency,
        }
    }

    pub(crate) fn cut(&self) {
        self.is_cut.store(true, Ordering::Relaxed);
    }

    /// The next request panics.
    pub(crate) fn panic_once(&self) {
        self.panics.store(true, Ordering::Relaxed);
    }

    pub(crate) fn restore(&self) {
        self.is_cut.store(false, Ordering::Relaxed);
    }

    /// From now on it leads to another hub: what was there has lost its memory.
    pub(crate) fn lead_to(&self, hub: &MemoryHub) {
        *self.hub.lock().unwrap() = hub.clone();
    }

    fn hub(&self) -> MemoryHub {
        self.hub.lock().unwrap().clone()
    }

    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    async fn pass(&self) -> HubResult<()> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        assert!(!self.panics.swap(false, Ordering::Relaxed), "a mistake in a hub");
        sleep(self.latency / 2).await;
        if self.is_cut.load(Ordering::Relaxed) {
            return Err(HubError::unavailable("the wire is cut"));
        }
        Ok(())
    }

    async fn back<T>(&self, answer: T) -> HubResult<T> {
        sleep(self.latency / 2).await;
        if self.is_cut.load(Ordering::Relaxed) {
            return Err(HubError::unavailable("the wire was cut before the answer came"));
        }
        Ok(answer)
    }
}

impl Hub for Wire {
    async fn poll(&self, fleet: &str, beat: &Beat) -> HubResult<View> {
        self.pass().await?;
        self.back(self.hub().poll(fleet, beat).await?).await
    }

    async fn change(
        &self,
        fleet: &str,
        breaker: &str,
        member: &MemberId,
        change: Change,
    ) -> HubResult<Changed> {
        self.pass().await?;
        self.back(self.hub().change(fleet, breaker, member, change).await?).await
    }

    async fn leave(&self, fleet: &str, member: &MemberId) -> HubResult<()> {
        self.pass().await?;
        self.hub().leave(fleet, member).await
    }

    async fn members(&self, fleet: &str, alive: Duration) -> HubResult<Vec<Member>> {
        self.pass().await?;
        self.hub().members(fleet, alive).await
    }
}

/// The backend that members call. It counts the calls that reach it.
#[derive(Clone, Default)]
pub(crate) struct Backend {
    is_down: Arc<AtomicBool>,
    calls: Arc<AtomicU64>,
    now: Arc<AtomicU32>,
    most: Arc<AtomicU32>,
}

impl Backend {
    pub(crate) fn set_down(&self, down: bool) {
        self.is_down.store(down, Ordering::Relaxed);
    }

    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// The largest number of concurrent calls since the last time this was called.
    pub(crate) fn take_most(&self) -> u32 {
        self.most.swap(0, Ordering::Relaxed)
    }

    async fn call(&self) -> bool {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let now = self.now.fetch_add(1, Ordering::Relaxed) + 1;
        self.most.fetch_max(now, Ordering::Relaxed);
        // A guard, because a caller may be dropped in the middle of the call.
        let _under_way = UnderWay(&self.now);
        sleep(5 * MILLI).await;
        !self.is_down.load(Ordering::Relaxed)
    }
}

struct UnderWay<'a>(&'a AtomicU32);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A process: its breaker, its membership, and its calls.
pub(crate) struct Node {
    pub(crate) breaker: Arc<CircuitBreaker>,
    pub(crate) fleet: Fleet,
    pub(crate) wire: Wire,
    calling: JoinHandle<()>,
}

impl Node {
    /// A member that calls `backend` every `pause`.
    pub(crate) async fn new(
        hub: &MemoryHub,
        config: BreakerConfig,
        backend: &Backend,
        pause: Duration,
    ) -> Self {
        Self::on(Wire::new(hub), config, backend, pause).await
    }

    pub(crate) async fn on(
        wire: Wire,
        config: BreakerConfig,
        backend: &Backend,
        pause: Duration,
    ) -> Self {
        let breaker = Arc::new(CircuitBreaker::new("db", config));
        let fleet = Fleet::join(wire.clone(), "billing").await.expect("joined");
        fleet.share(Arc::clone(&breaker));
        let calling = tokio::spawn(call_forever(Arc::clone(&breaker), backend.clone(), pause));
        Self { breaker, fleet, wire, calling }
    }

    pub(crate) fn state(&self) -> State {
        self.breaker.state()
    }

    pub(crate) fn stop_calling(&self) {
        self.calling.abort();
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.calling.abort();
    }
}

pub(crate) async fn call_forever(breaker: Arc<CircuitBreaker>, backend: Backend, pause: Duration) {
    loop {
        if let Ok(permit) = breaker.try_acquire() {
            if backend.call().await { permit.success() } else { permit.failure() }
        }
        sleep(pause).await;
    }
}

pub(crate) async fn nodes(
    count: usize,
    hub: &MemoryHub,
    config: BreakerConfig,
    backend: &Backend,
    pause: Duration,
) -> Vec<Node> {
    let mut nodes = Vec::new();
    for _ in 0..count {
        nodes.push(Node::new(hub, config, backend, pause).await);
    }
    nodes
}

pub(crate) fn count(nodes: &[Node], state: State) -> usize {
    nodes.iter().filter(|node| node.state() == state).count()
}

/// Waits until the condition holds, and returns how long that took. It looks each millisecond: a
/// call takes five, and a breaker may be half-open no longer.
pub(crate) async fn until(most: Duration, mut is_so: impl FnMut() -> bool) -> Duration {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < most, "not so after {most:?}");
        sleep(MILLI).await;
    }
    begin.elapsed()
}
