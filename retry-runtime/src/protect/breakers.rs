//! A family of circuit breakers by key: one for each host, tenant or shard.

mod map;
mod members;
mod ring;
mod table;

use core::borrow::Borrow;
use core::fmt;
use core::hash::Hash;
use std::collections::HashMap;

use retry_rules::{BreakerConfig, Invalid};

use self::members::Members;
use crate::base::const_panic::const_panic;
use crate::base::name::Name;
use crate::base::sync::{Arc, OnceLock, const_fn};
use crate::event::snapshot::Snapshot;
use crate::protect::breaker::CircuitBreaker;
#[cfg(all(feature = "sites", not(retry_loom)))]
use crate::site::families;

/// One circuit breaker for each host, tenant or shard, created on first use.
///
/// It never holds more than a given number of breakers. At that limit, a new one takes the place of
/// one that is idle and has not been asked for lately, whose counts are lost. A breaker is idle if
/// no call or handle holds it and it is closed, or open with its open time over and not called
/// since, or half-open and not called for `timeout`. One that is held, forced, or open with time
/// left is never evicted.
///
/// Which one leaves is decided by a clock with second chances, which is nearly the least recently
/// used: at most 64 breakers are looked at, so that a new key costs the same however many there
/// are. If none of these is idle, the caller gets a closed breaker of its own, which is not shared,
/// and an [`Event`](crate::Event) reports this once; the next new key looks at the next ones.
///
/// Calls with keys that the family knows do not exclude each other, and write to no memory that
/// they share but the breaker's own. A new key excludes them for the moment in which it is added.
///
/// With the feature `testing`, each test gets its own family in place of one created with
/// [`new`](Self::new), as with a `static` breaker.
///
/// ```
/// use std::io;
/// use retry_runtime::{BreakerConfig, Breakers, State, retry};
///
/// static HOSTS: Breakers<String> = Breakers::new("hosts", BreakerConfig::new(), 1_000);
///
/// #[retry(breaker = HOSTS.of(host))]
/// async fn get(host: &str, path: &str) -> io::Result<usize> {
///     Ok(host.len() + path.len())
/// }
///
/// HOSTS.of("down.example.org").force_open();
/// assert_eq!(HOSTS.of("down.example.org").state(), State::Open);
/// assert_eq!(HOSTS.of("up.example.org").state(), State::Closed);
/// ```
pub struct Breakers<K> {
    name: Name,
    config: BreakerConfig,
    capacity: usize,
    /// Set if it belongs to the whole program, so that each test gets its own.
    #[cfg(feature = "testing")]
    is_shared: bool,
    members: OnceLock<Arc<Members<K>>>,
}

impl<K> Breakers<K> {
    const_fn! {
    /// Creates a family of at most `capacity` breakers (at least 1), all with these settings.
    /// The name appears in events, followed by the key: `hosts[example.org]`.
    ///
    /// ```
    /// use retry_runtime::{BreakerConfig, Breakers};
    ///
    /// static TENANTS: Breakers<u64> = Breakers::new("tenants", BreakerConfig::new(), 500);
    /// assert_eq!(TENANTS.of(&7).name(), "tenants[7]");
    /// ```
    ///
    /// # Panics
    /// If the settings break a rule; while compiling, for a `static`.
    #[track_caller]
    pub const fn new(name: &'static str, config: BreakerConfig, capacity: usize /* the most keys */) -> Self {
        if let Err(invalid) = config.validate() {
            const_panic(invalid)
        }
        Self {
            name: Name::from_static(name),
            config,
            capacity,
            #[cfg(feature = "testing")]
            is_shared: true,
            members: OnceLock::new(),
        }
    }
    }

    /// Creates a family with a name and settings made at runtime.
    ///
    /// ```
    /// use retry_runtime::{BreakerConfig, Breakers};
    ///
    /// let shards = Breakers::<u32>::try_new(format!("shards {}", 1), BreakerConfig::new(), 64);
    /// assert_eq!(shards.unwrap().name(), "shards 1");
    /// ```
    ///
    /// # Errors
    /// The rules that the settings break.
    pub fn try_new(
        name: impl Into<Name>,
        config: BreakerConfig,
        capacity: usize,
    ) -> Result<Self, Invalid> {
        config.validate()?;
        Ok(Self {
            name: name.into(),
            config,
            capacity,
            #[cfg(feature = "testing")]
            is_shared: false,
            members: OnceLock::new(),
        })
    }

    retry_rules::accessors! {
        /// Returns the name of the family.
        ///
        /// ```
        /// # use retry_runtime::{BreakerConfig, Breakers};
        /// assert_eq!(Breakers::<u8>::new("hosts", BreakerConfig::new(), 9).name(), "hosts");
        /// ```
        pub fn name(&self) -> &str { &name }

        /// Returns the settings of each breaker.
        ///
        /// ```
        /// # use retry_runtime::{BreakerConfig, Breakers};
        /// let hosts = Breakers::<u8>::new("hosts", BreakerConfig::new(), 9);
        /// assert_eq!(hosts.config().get_failure_threshold(), 5);
        /// ```
        pub const fn config(&self) -> &BreakerConfig { &config }
    }
}

impl<K: Hash + Eq + fmt::Display + Clone + Send + Sync + 'static> Breakers<K> {
    /// Returns the breaker for this key, creating it if needed.
    ///
    /// It is shared by all callers that ask for the key while the family holds it; a breaker in use
    /// is never evicted.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use retry_runtime::{BreakerConfig, Breakers};
    ///
    /// let hosts = Breakers::<String>::new("hosts", BreakerConfig::new(), 1_000);
    /// let breaker = hosts.of("example.org");
    /// breaker.try_acquire().unwrap().success();
    /// assert!(Arc::ptr_eq(&breaker, &hosts.of("example.org")));
    /// ```
    ///
    /// The key is borrowed: a `&str`, a `&String` or the host of a URL for a family of `String`, and
    /// `&key` for any other type. Only a new key is copied.
    ///
    #[cfg_attr(all(feature = "reqwest", feature = "macros"), doc = "```")]
    #[cfg_attr(not(all(feature = "reqwest", feature = "macros")), doc = "```ignore")]
    /// use reqwest::Url;
    /// use retry_runtime::{BreakerConfig, Breakers, retry};
    /// use std::{fmt, io};
    ///
    /// static HOSTS: Breakers<String> = Breakers::new("hosts", BreakerConfig::new(), 1_000);
    /// static REGIONS: Breakers<Region> = Breakers::new("regions", BreakerConfig::new(), 3);
    ///
    /// #[derive(Clone, Copy, PartialEq, Eq, Hash)]
    /// enum Region { Europe, Asia }
    ///
    /// // The key in the breaker's name: `regions[europe]`.
    /// impl fmt::Display for Region {
    ///     fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    ///         f.write_str(match self { Self::Europe => "europe", Self::Asia => "asia" })
    ///     }
    /// }
    ///
    /// #[retry(breaker = HOSTS.of(host))]
    /// async fn by_str(host: &str) -> io::Result<()> { Ok(()) }
    ///
    /// #[retry(breaker = HOSTS.of(&host))]
    /// async fn by_string(host: String) -> io::Result<()> { Ok(()) }
    ///
    /// // A URL without a host, such as `data:`, has the key "".
    /// #[retry(breaker = HOSTS.of(url.host_str().unwrap_or_default()))]
    /// async fn by_url(url: &Url) -> io::Result<()> { Ok(()) }
    ///
    /// #[retry(breaker = REGIONS.of(&region))]
    /// async fn by_enum(region: Region) -> io::Result<()> { Ok(()) }
    ///
    /// let url = Url::parse("https://up.example/a").unwrap();
    /// let breaker = HOSTS.of("up.example");
    /// assert_eq!(breaker.name(), HOSTS.of(url.host_str().unwrap_or_default()).name());
    /// assert_eq!(REGIONS.of(&Region::Asia).name(), "regions[asia]");
    /// ```
    pub fn of<Q>(&self, key: &Q) -> Arc<CircuitBreaker>
    where
        Q: FamilyKey<K> + ?Sized,
    {
        let family = self.current();
        let members = family.members();
        if let Some(breaker) = members.find(key) {
            return breaker;
        }
        // Created before the lock is taken: showing a key runs its author's code.
        let key = key.owned();
        let name = Name::of_member(members.name(), &key);
        members.insert(key, Arc::new(CircuitBreaker::valid(name, family.config)))
    }

    /// Returns a snapshot of each breaker of the family, in the order of their keys.
    ///
    /// ```
    /// use retry_runtime::{BreakerConfig, Breakers, State};
    ///
    /// let hosts = Breakers::<String>::new("hosts", BreakerConfig::new(), 1_000);
    /// hosts.of("a.example").force_open();
    /// let snapshots = hosts.snapshots();
    /// assert_eq!(snapshots[0].name.key(), Some("a.example"));
    /// assert_eq!(snapshots[0].state, State::Open);
    /// ```
    pub fn snapshots(&self) -> Vec<Snapshot> {
        self.current().members().snapshots()
    }

    /// The family that calls use: in a test, the test's own.
    fn current(&self) -> &Self {
        #[cfg(feature = "testing")]
        if let Some(hooks) = crate::test_hooks::current().filter(|_| self.is_shared) {
            let like = |own: &Self| own.name == self.name && own.config == self.config;
            return hooks.test_instance(self, like, || Self {
                name: self.name.clone(),
                config: self.config,
                capacity: self.capacity,
                is_shared: false,
                members: OnceLock::new(),
            });
        }
        self
    }

    fn members(&self) -> &Members<K> {
        self.members.get_or_init(|| {
            let members = Arc::new(Members::new(self.name.clone(), self.capacity.max(1)));
            #[cfg(all(feature = "sites", not(retry_loom)))]
            families::register(&members);
            members
        })
    }
}

retry_rules::partial_debug!([K] Breakers<K>, |self| {
    name: &self.name,
    most: &self.capacity,
    config: &self.config,
});

/// A key of a family whose keys have the type `K`, or a borrowed form of one.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "the keys of this family of breakers are of type `{K}`, not `{Self}`",
    label = "not a key of this family",
    note = "as in `HOSTS.of(&key)`, with a key of type `{K}`; a family of `String` also takes a `&str`, as in `HOSTS.of(host)`",
    note = "or declare the family with keys of another type that is `Clone + Display + Eq + Hash`"
)]
pub trait FamilyKey<K> {
    /// Finds the value of this key.
    fn find<'m, V>(&self, map: &'m HashMap<K, V>) -> Option<&'m V>;

    /// Returns the key to be added.
    fn owned(&self) -> K;
}

#[diagnostic::do_not_recommend]
impl<K, Q> FamilyKey<K> for Q
where
    K: Borrow<Q> + Hash + Eq,
    Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
{
    fn find<'m, V>(&self, map: &'m HashMap<K, V>) -> Option<&'m V> {
        map.get(self)
    }

    fn owned(&self) -> K {
        self.to_owned()
    }
}
