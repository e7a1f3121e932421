//! [`Fleet`]: a process joins one to share its breakers.

use core::fmt;
use core::ptr;
use core::time::Duration;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use retry_runtime::random_between;
use retry_runtime::{Cause, CircuitBreaker, Shared, TransitionListener};
use tokio::sync::watch;

use crate::hub::{Hub, HubError, HubResult, Member};
use crate::member::contact::Contact;
use crate::member::shared_breaker::{OpensAt, ProbeVerdict, SharedBreaker, VerdictSlot};
use crate::member::task::{Common, MemberTask};
use crate::observe::{FleetEvent, Listeners};
use crate::rules::member_id::MemberId;
use crate::rules::timing::{ALIVE, REQUEST, SPREAD};
use crate::sync::lock;

/// The share of callers at which a breaker opens everywhere by default.
const OPENS_AT: f64 = 0.5;

/// This process as a member of a fleet. A clone is another handle on the same membership.
///
/// When the last handle is dropped, the member leaves in the background; use [`leave`](Self::leave)
/// to wait for it. Breakers then work alone.
///
/// ```
/// use retry_fleet::{Fleet, MemoryHub};
/// use retry_runtime::{BreakerConfig, CircuitBreaker};
///
/// static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), retry_fleet::HubError> {
/// let fleet = Fleet::join(MemoryHub::new(), "billing").await?;
/// fleet.share(&DB).opens_at(0.5);
/// # fleet.leave().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Fleet {
    handle: Arc<Handle>,
}

struct Handle {
    common: Arc<Common>,
    /// The shared breakers, by name.
    names: Mutex<HashMap<String, Named>>,
    left: watch::Receiver<()>,
}

/// A breaker shared under a name: its address, which identifies it, and its setting.
#[derive(Clone)]
struct Named {
    address: usize,
    opens_at: Arc<OpensAt>,
}

impl Fleet {
    /// Joins the fleet of this name with this process as a member.
    ///
    /// Members that start at the same time join within 400 ms, in random order. A hub that cannot
    /// be reached is not an error: the member works alone, an event reports it, and the member
    /// joins once the hub is back.
    ///
    /// ```
    /// # use retry_fleet::{Fleet, MemoryHub};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), retry_fleet::HubError> {
    /// let fleet = Fleet::join(MemoryHub::new(), "billing").await?;
    /// assert_eq!(fleet.name(), "billing");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`HubError::Refused`]; retrying does not help.
    ///
    /// # Panics
    /// Outside of a tokio runtime with time.
    pub async fn join(hub: impl Hub, name: impl Into<String>) -> HubResult<Self> {
        let contact = Contact {
            fleet: name.into(),
            id: MemberId::new(),
            hub: Arc::new(hub),
            listeners: Listeners::default(),
        };
        let common = Arc::new(Common::new(contact));
        let mut task = MemberTask::new(Arc::clone(&common));
        tokio::time::sleep(random_between(Duration::ZERO, SPREAD)).await;
        task.begin().await?;
        let (done, left) = watch::channel(());
        tokio::spawn(task.run(done));
        Ok(Self { handle: Arc::new(Handle { common, names: Mutex::default(), left }) })
    }

    /// Shares a circuit breaker with all members that share one of the same name. It has to be a
    /// `static` or an `Arc`.
    ///
    /// Sharing it again changes nothing. If a process shares two under one name, the second one
    /// works alone, and an event reports it.
    ///
    /// ```
    /// # use retry_fleet::{Fleet, MemoryHub};
    /// # use retry_runtime::{BreakerConfig, CircuitBreaker};
    /// # use std::sync::Arc;
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), retry_fleet::HubError> {
    /// let fleet = Fleet::join(MemoryHub::new(), "billing").await?;
    /// let shard = Arc::new(CircuitBreaker::named("db-7".to_owned(), BreakerConfig::new()));
    /// fleet.share(Arc::clone(&shard)).opens_at(0.3);
    /// # Ok(())
    /// # }
    /// ```
    pub fn share(&self, breaker: impl Into<Shared<CircuitBreaker>>) -> BreakerSharing {
        let breaker = breaker.into();
        let known = breaker.as_ref();
        let (opens_at, is_new) = self.name_it(known);
        if is_new {
            let verdict = VerdictSlot::default();
            let common = &self.handle.common;
            let listener = listen(common, known, Arc::downgrade(&verdict));
            let shared = SharedBreaker::new(breaker, Arc::clone(&opens_at), verdict, listener);
            common.share_breaker(shared);
        }
        BreakerSharing { opens_at }
    }

    /// Returns the live members, sorted by id, including this one.
    ///
    /// ```
    /// # use retry_fleet::{Fleet, MemoryHub};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), retry_fleet::HubError> {
    /// let fleet = Fleet::join(MemoryHub::new(), "billing").await?;
    /// for member in fleet.members().await? {
    ///     println!("{} joined {:?} ago", member.id, member.joined);
    /// }
    /// # assert_eq!(fleet.members().await?.len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Any error of the hub.
    pub async fn members(&self) -> HubResult<Vec<Member>> {
        let contact = &self.handle.common.contact;
        let members = contact.hub.members(&contact.fleet, ALIVE);
        tokio::time::timeout(REQUEST, members).await.unwrap_or(Err(HubError::Timeout(REQUEST)))
    }

    /// Returns the identity of this process in the fleet.
    ///
    /// ```
    /// # use retry_fleet::{Fleet, MemoryHub};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), retry_fleet::HubError> {
    /// let fleet = Fleet::join(MemoryHub::new(), "billing").await?;
    /// println!("this process is {}", fleet.id());
    /// # Ok(())
    /// # }
    /// ```
    pub fn id(&self) -> &MemberId {
        &self.handle.common.contact.id
    }

    /// Returns the fleet's name.
    pub fn name(&self) -> &str {
        &self.handle.common.contact.fleet
    }

    /// Calls `listener` for each [`FleetEvent`] of this member from now on. It is called from the
    /// member's background task, so it should return quickly.
    ///
    /// ```
    /// # use retry_fleet::{Fleet, MemoryHub};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), retry_fleet::HubError> {
    /// let fleet = Fleet::join(MemoryHub::new(), "billing").await?;
    /// fleet.on_event(|event| eprintln!("{event}"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn on_event(&self, listener: impl Fn(&FleetEvent<'_>) + Send + Sync + 'static) {
        self.handle.common.contact.listeners.add(listener);
    }

    /// Leaves the fleet. It completes once the hub has confirmed that, or has not answered for some
    /// seconds.
    ///
    /// A process that ends without leaving counts as a member for another 10 s.
    ///
    /// ```
    /// # use retry_fleet::{Fleet, MemoryHub};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), retry_fleet::HubError> {
    /// let fleet = Fleet::join(MemoryHub::new(), "billing").await?;
    /// fleet.leave().await;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn leave(&self) {
        self.handle.common.leave();
        // The value never changes; this returns when the sender is dropped.
        let _ended = self.handle.left.clone().changed().await;
    }

    /// Registers the name of a breaker; returns its setting, and whether it is new.
    fn name_it(&self, breaker: &CircuitBreaker) -> (Arc<OpensAt>, bool) {
        let (name, address) = (breaker.name(), ptr::from_ref(breaker).addr());
        let opens_at = Arc::new(OpensAt::new(OPENS_AT));
        let mut names = lock(&self.handle.names);
        match names.get(name).cloned() {
            Some(known) if known.address == address => (known.opens_at, false),
            Some(_) => {
                drop(names);
                let contact = &self.handle.common.contact;
                contact.emit(&FleetEvent::NameTaken { fleet: &contact.fleet, name });
                (opens_at, false)
            }
            None => {
                let entry = Named { address, opens_at: Arc::clone(&opens_at) };
                names.insert(name.to_owned(), entry);
                (opens_at, true)
            }
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.common.leave();
    }
}

impl fmt::Debug for Fleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fleet")
            .field("name", &self.name())
            .field("id", &self.id().as_str())
            .finish_non_exhaustive()
    }
}

/// A circuit breaker that is shared with a fleet, as returned by [`Fleet::share`].
///
/// ```
/// # use retry_fleet::{Fleet, MemoryHub};
/// use retry_runtime::{BreakerConfig, CircuitBreaker};
///
/// static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), retry_fleet::HubError> {
/// let fleet = Fleet::join(MemoryHub::new(), "billing").await?;
/// fleet.share(&DB).opens_at(0.3);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct BreakerSharing {
    opens_at: Arc<OpensAt>,
}

impl BreakerSharing {
    /// Sets the share of the members calling the breaker that have to open it before it opens
    /// everywhere. The default is half of them. At least two members are needed, unless there is
    /// only one.
    ///
    /// ```
    /// # use retry_fleet::{Fleet, MemoryHub};
    /// use retry_runtime::{BreakerConfig, CircuitBreaker};
    ///
    /// static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), retry_fleet::HubError> {
    /// let fleet = Fleet::join(MemoryHub::new(), "billing").await?;
    /// fleet.share(&DB).opens_at(0.3);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Panics
    /// Panics unless the share is above 0 and at most 1.
    #[track_caller]
    #[expect(clippy::must_use_candidate, reason = "it is set as well where nobody looks")]
    pub fn opens_at(self, share: f64) -> Self {
        assert!(
            share > 0.0 && share <= 1.0,
            "`opens_at` is a share of the members: write one above 0 and at most 1, such as 0.5, \
             not {share}"
        );
        self.opens_at.set(share);
        self
    }
}

/// Wakes the member's task at once on transitions that other members are waiting for.
fn listen(
    common: &Arc<Common>,
    breaker: &CircuitBreaker,
    slot: Weak<Mutex<Option<ProbeVerdict>>>,
) -> TransitionListener {
    let common = Arc::downgrade(common);
    breaker.on_transition(move |transition| {
        let (verdict, opens) = match transition.cause {
            Cause::Recovered => (Some(ProbeVerdict::Recovered), false),
            Cause::ProbeFailed | Cause::ProbeSlow => (Some(ProbeVerdict::Failed), true),
            Cause::Failures | Cause::FailureRate | Cause::SlowRate => (None, true),
            _ => (None, false),
        };
        if let (Some(verdict), Some(slot)) = (verdict, slot.upgrade()) {
            *lock(&slot) = Some(verdict);
        }
        if let (true, Some(common)) = (verdict.is_some() || opens, common.upgrade()) {
            common.wake.notify_one();
        }
    })
}
