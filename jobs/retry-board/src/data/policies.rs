//! The retries of this process: functions with their policies and call statistics, breakers and
//! quotas, and the changes made at runtime.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use retry_runtime::{
    Event, Field, Listening, Policy, Reason, RetryQuota, Shared, Site, Snapshot, family_breakers,
    on_event, sites,
};
use retry_workflow::Timestamp;
use retry_workflow::words::cut;
use serde::Serialize;

use crate::board::Board;

/// The number of functions shown.
const SITES: usize = 500;
/// The number of breakers shown per family.
const MEMBERS: usize = 200;
/// The length of the history.
const REMEMBERED: usize = 100;
/// The limit for texts.
const TEXT: usize = 300;

/// The data of the page.
#[derive(Debug, Serialize)]
pub(crate) struct Policies {
    pub(crate) sites: Vec<SiteLine>,
    pub(crate) more_sites: usize,
    pub(crate) breakers: Vec<BreakerLine>,
    pub(crate) quotas: Vec<QuotaLine>,
    /// The changes made on the board: function, key and value.
    pub(crate) changed: Vec<Change>,
    /// The latest changes of breakers, quotas and policies, newest first.
    pub(crate) history: Vec<HistoryEntry>,
}

/// A function with `#[retry]`.
#[derive(Debug, Serialize)]
pub(crate) struct SiteLine {
    pub(crate) name: String,
    pub(crate) file: &'static str,
    pub(crate) line: u32,
    /// In words.
    pub(crate) policy: String,
    /// The policy in the source code, if it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) compiled: Option<String>,
    /// The settings that are known only to its calls.
    pub(crate) runtime: Vec<&'static str>,
    pub(crate) attempts: u64,
    pub(crate) retries: u64,
    pub(crate) recovered: u64,
    pub(crate) hedges: u64,
    pub(crate) hedge_wins: u64,
    pub(crate) gave_up: BTreeMap<&'static str, u64>,
    /// In seconds.
    pub(crate) waited: f64,
    /// The policy for the chart.
    #[serde(skip)]
    pub(crate) chart_policy: Option<Policy>,
}

impl SiteLine {
    fn new(site: &'static Site) -> Self {
        let (policy, stats) = (site.policy(), site.stats());
        let given_up = |reason: &Reason| (reason.as_str(), stats.gave_up_by(*reason));
        Self {
            name: cut(site.name(), TEXT),
            file: site.file(),
            line: site.line(),
            policy: site.policy_text(),
            compiled: site.is_overridden().then(|| match site.compiled() {
                Some(compiled) => compiled.to_string(),
                None => "known at runtime".to_owned(),
            }),
            runtime: site.runtime().iter().map(Field::name).collect(),
            attempts: stats.attempts,
            retries: stats.retries,
            recovered: stats.recovered,
            hedges: stats.hedges,
            hedge_wins: stats.hedge_wins,
            gave_up: Reason::ALL.iter().map(given_up).filter(|(_, times)| *times > 0).collect(),
            waited: stats.waited.as_secs_f64(),
            chart_policy: policy,
        }
    }

    pub(crate) fn gave_up(&self) -> u64 {
        self.gave_up.values().fold(0, |sum, times| sum.saturating_add(*times))
    }

    pub(crate) fn waited(&self) -> Duration {
        Duration::try_from_secs_f64(self.waited).unwrap_or_default()
    }
}

#[derive(Debug, Default, Serialize)]
pub(crate) struct BreakerLine {
    pub(crate) name: String,
    pub(crate) state: &'static str,
    /// Set if the state was forced.
    pub(crate) forced: bool,
    /// Set if the state was set by a fleet.
    pub(crate) led: bool,
    /// The time for which it stays open, in seconds; `None` if unknown, or if it stays open until
    /// it is reset.
    pub(crate) open_for: Option<u64>,
    /// The time for which it holds all calls, in seconds; `None` if it does not, or if unknown.
    pub(crate) held_for: Option<u64>,
    pub(crate) consecutive_failures: Option<u32>,
    pub(crate) failures: Option<u64>,
    pub(crate) rejected: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) opened_by: Option<String>,
}

impl BreakerLine {
    fn new(snapshot: &Snapshot) -> Self {
        let is_held = !snapshot.held.is_zero();
        let is_bounded = !snapshot.remaining.is_zero() && snapshot.remaining < Duration::MAX;
        Self {
            name: cut(&snapshot.name, TEXT),
            state: snapshot.state.as_str(),
            forced: snapshot.forced,
            led: snapshot.by_fleet,
            open_for: is_bounded.then(|| snapshot.remaining.as_secs().saturating_add(1)),
            held_for: is_held.then(|| snapshot.held.as_secs().saturating_add(1)),
            consecutive_failures: Some(snapshot.consecutive_failures),
            failures: Some(snapshot.outcomes.failures),
            rejected: Some(snapshot.outcomes.rejected),
            opened_by: snapshot.opened_by.as_deref().map(|text| cut(text, TEXT)),
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct QuotaLine {
    pub(crate) name: String,
    /// The tokens left; `None` if only its name is known, because it was empty.
    pub(crate) available: Option<u32>,
    /// The capacity.
    pub(crate) limit: Option<u32>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Change {
    pub(crate) name: String,
    pub(crate) key: String,
    pub(crate) value: String,
}

/// An event in the history.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct HistoryEntry {
    pub(crate) at: Timestamp,
    /// `breaker`, `quota` or `policy`.
    pub(crate) what: &'static str,
    pub(crate) name: String,
    /// For a breaker, its new state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) state: Option<&'static str>,
    pub(crate) text: String,
}

/// Records the events of breakers, quotas and policies until it is dropped.
pub(crate) struct Watch {
    log: Arc<Mutex<EventLog>>,
    listening: Option<Listening>,
}

#[derive(Debug, Default)]
struct EventLog {
    history: VecDeque<HistoryEntry>,
    /// The last state of each breaker that has changed state.
    states: BTreeMap<String, (&'static str, Option<String>)>,
    /// Quotas that have been empty.
    quotas: Vec<String>,
}

/// The number of breakers and quotas remembered from events, in case a program keeps creating new
/// ones.
const KNOWN: usize = 200;

impl Watch {
    pub(crate) fn new() -> Self {
        let log = Arc::<Mutex<EventLog>>::default();
        let inbox = Arc::clone(&log);
        let listening = on_event(move |event| {
            if let Some(entry) = entry(event) {
                inbox.lock().add(entry, event);
            }
        });
        Self { log, listening: Some(listening) }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(listening) = self.listening.take() {
            listening.stop();
        }
    }
}

fn entry(event: &Event<'_>) -> Option<HistoryEntry> {
    let (what, state) = match event {
        Event::Breaker(transition) => ("breaker", Some(transition.to.as_str())),
        Event::Held { .. } => ("breaker", None),
        Event::QuotaEmpty { .. } => ("quota", None),
        Event::Policy { .. } => ("policy", None),
        _ => return None,
    };
    let (name, text) = (cut(event.name(), TEXT), cut(&event.to_string(), TEXT));
    Some(HistoryEntry { at: Timestamp::now(), what, name, state, text })
}

impl EventLog {
    fn add(&mut self, entry: HistoryEntry, event: &Event<'_>) {
        match event {
            Event::Breaker(transition) => {
                let opened_by = transition.error.as_deref().map(|text| cut(text, TEXT));
                if self.states.len() < KNOWN || self.states.contains_key(&entry.name) {
                    self.states.insert(entry.name.clone(), (transition.to.as_str(), opened_by));
                }
            }
            Event::QuotaEmpty { .. }
                if self.quotas.len() < KNOWN && !self.quotas.contains(&entry.name) =>
            {
                self.quotas.push(entry.name.clone());
            }
            _ => {}
        }
        self.history.push_front(entry);
        self.history.truncate(REMEMBERED);
    }
}

impl Policies {
    pub(crate) fn load(board: &Board, watch: &Watch, changed: Vec<Change>) -> Self {
        let sites = sites();
        let log = watch.log.lock();
        let mut breakers: Vec<_> =
            board.breakers.iter().map(|it| BreakerLine::new(&it.as_ref().snapshot())).collect();
        for (_, members) in &board.families {
            breakers.extend(members().iter().take(MEMBERS).map(BreakerLine::new));
        }
        let is_known = |name: &String| breakers.iter().any(|one| one.name == *name);
        let mut others: Vec<_> = log.states.iter().filter(|(name, _)| !is_known(name)).collect();
        if !others.is_empty() {
            let members: Vec<_> = family_breakers().iter().map(BreakerLine::new).collect();
            let is_other = |line: &BreakerLine| others.iter().any(|(name, _)| **name == line.name);
            let members: Vec<_> = members.into_iter().filter(is_other).collect();
            others.retain(|(name, _)| !members.iter().any(|line| line.name == **name));
            breakers.extend(members);
        }
        for (name, (state, opened_by)) in others {
            let (name, opened_by) = (name.clone(), opened_by.clone());
            breakers.push(BreakerLine { name, state, opened_by, ..BreakerLine::default() });
        }
        let mut quotas: Vec<_> = board.quotas.iter().map(quota).collect();
        for name in &log.quotas {
            if !quotas.iter().any(|quota| quota.name == *name) {
                quotas.push(QuotaLine { name: name.clone(), available: None, limit: None });
            }
        }
        Self {
            more_sites: sites.len().saturating_sub(SITES),
            sites: sites.into_iter().take(SITES).map(SiteLine::new).collect(),
            breakers,
            quotas,
            changed,
            history: log.history.iter().cloned().collect(),
        }
    }
}

fn quota(quota: &Shared<RetryQuota>) -> QuotaLine {
    let quota: &RetryQuota = quota.as_ref();
    QuotaLine {
        name: cut(quota.name(), TEXT),
        available: Some(quota.available()),
        limit: Some(quota.config().get_capacity()),
    }
}
