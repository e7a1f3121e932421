//! [`Site`]: a function with `#[retry]`, as visible at runtime.

pub(crate) mod end_options;
#[cfg(all(feature = "sites", not(retry_loom)))]
pub(crate) mod families;
#[cfg(feature = "metrics")]
pub(crate) mod labels;
#[cfg(feature = "overrides")]
pub(crate) mod policy_override;
#[cfg(feature = "sites")]
pub(crate) mod registry;
pub(crate) mod stats;

use core::fmt::Write as _;
use core::panic::Location;
use std::sync::OnceLock;

use retry_rules::{Field, Fields, Policy};

use crate::base::name::Name;
use crate::event::log_level::LogLevel;
use crate::site::end_options::{EndLevel, EndOptions};
#[cfg(feature = "overrides")]
use crate::site::policy_override::PolicyOverride;
use crate::site::stats::{Counters, Stats};

/// A function with `#[retry]`: its name, location, policy, and the outcomes of its calls.
/// With the feature `sites`, [`sites`](crate::sites) lists them.
///
/// ```
/// use retry_runtime::{retry, sites};
///
/// #[retry(attempts = 5, name = "billing.invoice")]
/// async fn invoice() -> Result<u32, String> {
///     Ok(7)
/// }
///
/// let site = sites().into_iter().find(|site| site.name() == "billing.invoice").unwrap();
/// assert!(site.file().ends_with(".rs"));
/// assert_eq!(site.policy().unwrap().longest_total_wait().unwrap().as_secs(), 15);
/// assert_eq!(site.stats().attempts, 0);
/// ```
pub struct Site {
    name: Name,
    location: &'static Location<'static>,
    policy: Option<Policy>,
    // The bits of `Fields`: the bits of a policy come first.
    runtime: u32,
    end: EndOptions,
    // Apart, because a program has more functions than ever fail.
    failed: OnceLock<Box<FailureRecord>>,
    #[cfg(feature = "metrics")]
    labels: std::sync::OnceLock<crate::site::labels::Labels>,
    attempts: AttemptKind,
    #[cfg(feature = "overrides")]
    policy_override: PolicyOverride,
}

// Each annotated function is one, whether it is ever called or not.
#[cfg(all(target_pointer_width = "64", not(any(feature = "metrics", feature = "overrides"))))]
const _: () = assert!(size_of::<Site>() <= 272);

/// The kind of attempts that a function makes.
enum AttemptKind {
    Async,
    /// Hedges may join them.
    Hedged,
    /// Nothing cuts them off.
    Blocking,
}

/// The counters of a function, created once a call of it has failed.
struct FailureRecord {
    /// The policy at the first failure, if it depends on generic parameters.
    policy: OnceLock<Policy>,
    counters: Counters,
}

impl Site {
    /// Creates the site of a function with this policy, or `None` if that depends on the function's
    /// generic parameters. For expansions only: nothing else registers a site.
    #[doc(hidden)]
    #[track_caller]
    pub const fn new(name: &'static str, policy: Option<Policy>) -> Self {
        Self {
            name: Name::from_static(name),
            location: Location::caller(),
            policy,
            runtime: 0,
            end: EndOptions::DEFAULT,
            failed: OnceLock::new(),
            #[cfg(feature = "metrics")]
            labels: std::sync::OnceLock::new(),
            attempts: AttemptKind::Async,
            #[cfg(feature = "overrides")]
            policy_override: PolicyOverride::new(),
        }
    }

    /// Adds fields known only at runtime. For expansions.
    #[doc(hidden)]
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "the fields of a policy are the first")]
    pub const fn with_runtime(mut self, fields: Fields) -> Self {
        assert!(fields.bits() >> u32::BITS == 0, "only a field of a policy has a runtime value");
        self.runtime = fields.bits() as u32;
        self
    }

    /// Sets the number of failures that the error of a call keeps. For expansions.
    #[doc(hidden)]
    #[must_use]
    pub const fn with_history(mut self, failures: u32) -> Self {
        self.end = self.end.with_history(failures);
        self
    }

    retry_rules::accessors! {
        /// Records that hedges may join its attempts, so that overrides can change them. For
        /// expansions.
        #[doc(hidden)]
        #[must_use]
        pub const fn hedged(self) -> Self { attempts: AttemptKind::Hedged }

        /// Records that it is not async, so that nothing cuts its attempts off. For expansions.
        #[doc(hidden)]
        #[must_use]
        pub const fn blocking(self) -> Self { attempts: AttemptKind::Blocking }

        /// Sets the level of the event `gave up`. For expansions.
        #[doc(hidden)]
        #[must_use]
        pub const fn with_log(self, level: LogLevel) -> Self { end.log: EndLevel::Set(level) }

        /// Sets the level of the event of a retry. For expansions.
        #[doc(hidden)]
        #[must_use]
        pub const fn with_log_retries(self, level: LogLevel) -> Self { end.log_retries: level }

        /// Records that the function goes on without a result. For expansions.
        #[doc(hidden)]
        #[must_use]
        pub const fn handles_failures(self) -> Self { end.log: EndLevel::ByHandledEnd }

        /// Returns its name: module path and function name, unless set.
        ///
        /// ```
        /// use retry_runtime::{retry, sites};
        ///
        /// #[retry(name = "billing.name")]
        /// fn fetch() -> Result<u32, String> {
        ///     Ok(7)
        /// }
        ///
        /// assert!(sites().iter().any(|site| site.name() == "billing.name"));
        /// ```
        pub fn name(&self) -> &str { &name }

        /// Returns the source file, as given to the compiler.
        ///
        /// ```
        /// use retry_runtime::{retry, sites};
        ///
        /// #[retry(attempts = 5, name = "billing.file")]
        /// fn fetch() -> Result<u32, String> {
        ///     Ok(7)
        /// }
        ///
        /// let site = sites().into_iter().find(|site| site.name() == "billing.file").unwrap();
        /// println!("{}:{}", site.file(), site.line());
        /// ```
        pub const fn file(&self) -> &'static str { location.file() }

        /// Returns the line of the attribute; the first is 1.
        ///
        /// ```
        /// use retry_runtime::{retry, sites};
        ///
        /// #[retry(attempts = 5, name = "billing.line")]
        /// fn fetch() -> Result<u32, String> {
        ///     Ok(7)
        /// }
        ///
        /// let site = sites().into_iter().find(|site| site.name() == "billing.line").unwrap();
        /// assert!(site.line() > 0);
        /// ```
        pub const fn line(&self) -> u32 { location.line() }
    }

    /// Returns the policy that calls obey now. Returns `None` if each call evaluates it, and until
    /// the first failure if it depends on the function's generic parameters. With the feature
    /// `overrides` it may differ from the [`compiled`](Self::compiled) one.
    ///
    /// ```
    /// use retry_runtime::{retry, sites};
    ///
    /// #[retry(attempts = 5, name = "billing.policy")]
    /// fn fetch() -> Result<u32, String> {
    ///     Ok(7)
    /// }
    ///
    /// let site = sites().into_iter().find(|site| site.name() == "billing.policy").unwrap();
    /// assert_eq!(site.policy().unwrap(), retry_runtime::Policy::new().attempts(5));
    /// ```
    pub fn policy(&self) -> Option<Policy> {
        let policy = self.policy.or_else(|| self.failed.get()?.policy.get().copied())?;
        #[cfg(feature = "overrides")]
        if let Some(draft) = self.policy_override.draft() {
            return Some(policy_override::over(&policy, &draft).0);
        }
        Some(policy)
    }

    /// Returns whether its policy is known only to its calls, each of which may have another one.
    const fn is_known_to_calls(&self) -> bool {
        self.policy.is_none() && self.runtime != 0
    }

    /// Returns its policy in words: what calls obey now, as far as it is known.
    ///
    /// ```
    /// use retry_runtime::{Policy, retry, sites};
    ///
    /// #[retry(policy = *retries, name = "billing.text")]
    /// fn fetch(retries: &Policy) -> Result<u32, String> {
    ///     Ok(7)
    /// }
    ///
    /// let site = sites().into_iter().find(|site| site.name() == "billing.text").unwrap();
    /// assert_eq!(site.policy_text(), "known at runtime");
    /// ```
    pub fn policy_text(&self) -> String {
        let mut text = match self.policy() {
            Some(policy) => policy.to_string(),
            None if self.is_known_to_calls() => "known at runtime".to_owned(),
            None => "dependent on its type parameters".to_owned(),
        };
        if self.policy.is_some() && self.runtime != 0 {
            let names: Vec<_> = self.runtime().iter().map(Field::name).collect();
            let _ = write!(text, " (known at runtime: {})", names.join(", "));
        }
        #[cfg(feature = "overrides")]
        if let (None, Some(draft)) = (self.policy(), self.policy_override.draft()) {
            let _ = write!(text, ", with {draft}");
        }
        text
    }

    /// Returns whether it is not async, so that nothing cuts its attempts off.
    pub(crate) const fn is_blocking(&self) -> bool {
        matches!(self.attempts, AttemptKind::Blocking)
    }

    /// Returns whether hedges may join its attempts, after whatever delay.
    #[cfg(feature = "overrides")]
    pub(crate) const fn is_hedged(&self) -> bool {
        matches!(self.attempts, AttemptKind::Hedged)
    }

    pub(crate) fn learn(&self, policy: &Policy) {
        if self.policy.is_none() && !self.is_known_to_calls() {
            self.failed().policy.get_or_init(|| *policy);
        }
    }

    /// Returns the policy in the source code.
    ///
    /// ```
    /// use retry_runtime::{retry, sites};
    ///
    /// #[retry(attempts = 5, name = "billing.compiled")]
    /// fn fetch() -> Result<u32, String> {
    ///     Ok(7)
    /// }
    ///
    /// let site = sites().into_iter().find(|site| site.name() == "billing.compiled").unwrap();
    /// assert_eq!(site.compiled().unwrap(), &retry_runtime::Policy::new().attempts(5));
    /// ```
    pub const fn compiled(&self) -> Option<&Policy> {
        self.policy.as_ref()
    }

    /// Returns `true` if [`Overrides`](crate::Overrides) currently change its policy.
    ///
    /// ```
    /// use retry_runtime::{retry, sites};
    ///
    /// #[retry(attempts = 5, name = "billing.overridden")]
    /// fn fetch() -> Result<u32, String> {
    ///     Ok(7)
    /// }
    ///
    /// let site = sites().into_iter().find(|site| site.name() == "billing.overridden").unwrap();
    /// assert!(!site.is_overridden());
    /// ```
    #[cfg(feature = "overrides")]
    pub fn is_overridden(&self) -> bool {
        self.policy_override.draft().is_some()
    }

    /// Returns the fields of its policy that are known only at runtime: each call evaluates them
    /// once, before its first attempt, and [`policy`](Self::policy) omits them.
    ///
    /// ```
    /// use retry_runtime::{Field, retry, sites};
    ///
    /// #[retry(attempts = retries + 1, jitter, name = "stock.sync")]
    /// async fn sync(retries: u32) -> Result<u32, String> {
    ///     Ok(retries)
    /// }
    ///
    /// let site = sites().into_iter().find(|site| site.name() == "stock.sync").unwrap();
    /// assert!(site.runtime().contains(Field::Attempts));
    /// assert!(!site.runtime().contains(Field::Jitter));
    /// ```
    pub const fn runtime(&self) -> Fields {
        Fields::from_bits(self.runtime as u64)
    }

    pub(crate) const fn end_options(&self) -> EndOptions {
        self.end
    }

    /// Returns the outcomes of its calls.
    ///
    /// ```
    /// use retry_runtime::{retry, sites};
    ///
    /// #[retry(attempts = 5, name = "billing.stats")]
    /// fn fetch() -> Result<u32, String> {
    ///     Ok(7)
    /// }
    ///
    /// let site = sites().into_iter().find(|site| site.name() == "billing.stats").unwrap();
    /// assert_eq!(fetch(), Ok(7));
    /// assert_eq!(site.stats().gave_up(), 0);
    /// ```
    pub fn stats(&self) -> Stats {
        self.failed.get().map_or_else(Stats::default, |failed| failed.counters.read())
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.failed().counters
    }

    fn failed(&self) -> &FailureRecord {
        self.failed.get_or_init(|| {
            Box::new(FailureRecord { policy: OnceLock::new(), counters: Counters::new() })
        })
    }

    /// The labels of its metrics, created at its first failure.
    #[cfg(feature = "metrics")]
    pub(crate) fn labels(&self) -> &crate::site::labels::Labels {
        self.labels.get_or_init(|| crate::site::labels::labels(&self.name))
    }

    #[cfg(feature = "overrides")]
    pub(crate) const fn policy_override(&self) -> &PolicyOverride {
        &self.policy_override
    }
}

retry_rules::partial_debug!(Site, |self| {
    name: &self.name,
    at: &format_args!("{}", self.location),
    policy: &self.policy(),
    stats: &self.stats(),
});

/// The origin of a call: an annotated function, or a retrier with a name.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// The name in events.
    pub name: &'a Name,
    /// The function; `None` for a retrier, which is a value and has no fixed place in the program.
    pub site: Option<&'static Site>,
}

impl<'a> Origin<'a> {
    /// Creates the origin of a retrier.
    pub const fn retrier(name: &'a Name) -> Self {
        Self { name, site: None }
    }
}

impl From<&'static Site> for Origin<'_> {
    #[inline(always)]
    fn from(site: &'static Site) -> Self {
        Self { name: &site.name, site: Some(site) }
    }
}
