//! The settings from one source, a file or the environment, and the combined effect of several on
//! each function.

use core::fmt;
use core::time::Duration;
use std::collections::BTreeMap;

use retry_rules::file::Draft;
use retry_rules::options::{Needs, POLICY};
use retry_rules::{Backoff, Bound, Field, Fields, Jitter, Policy, Rule, Rules, Style};

use super::names::Target;
use crate::observe;
use crate::site::registry;
use crate::site::{Site, policy_override};

/// The settings from one source, by target.
#[derive(Clone, Debug, Default)]
pub(super) struct Layer(BTreeMap<Target, Draft>);

impl Layer {
    pub(super) fn contains(&self, target: Target) -> bool {
        self.0.contains_key(&target)
    }

    pub(super) fn insert(&mut self, target: Target, changes: Draft) {
        self.0.insert(target, changes);
    }

    /// Returns the changes to this target.
    pub(super) fn entry(&mut self, target: Target) -> &mut Draft {
        self.0.entry(target).or_default()
    }

    /// Returns whether the functions of this target would still obey the rules with these changes
    /// added.
    pub(super) fn check_insert(&self, target: Target, changes: Draft) -> Result<(), Unsuitable> {
        let Target::Function(name) = target else {
            // An entry under the function's own name may still fix it.
            return Ok(());
        };
        let mut layer = self.clone();
        layer.insert(target, changes);
        registry::sites()
            .into_iter()
            .filter(|site| site.name() == name)
            .try_for_each(|site| draft(core::slice::from_ref(&layer), site).map(drop))
    }
}

/// A function that a change does not fit, and why.
#[derive(Debug, PartialEq)]
pub(super) struct Unsuitable {
    pub(super) name: &'static str,
    why: String,
}

impl fmt::Display for Unsuitable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.name, self.why)
    }
}

/// The layers of several sources, later ones on top, and their effect on the functions that they
/// change.
#[derive(Default)]
pub(super) struct Checked {
    layers: Vec<Layer>,
    drafts: Vec<(&'static Site, Draft)>,
}

impl Checked {
    /// Combines these layers, or returns the functions that they do not fit.
    pub(super) fn of(layers: Vec<Layer>) -> Result<Self, Vec<Unsuitable>> {
        let drafts = drafts(&layers)?;
        Ok(Self { layers, drafts })
    }

    /// This with the other layers on top.
    pub(super) fn merge(&self, on_top: &Self) -> Result<Self, Vec<Unsuitable>> {
        Self::of(self.layers.iter().chain(&on_top.layers).cloned().collect())
    }

    /// Returns whether both have the same effect on each function.
    pub(super) fn does_same(&self, other: &Self) -> bool {
        let same = |((one, draft), (other, other_draft)): (
            (&'static Site, &Draft),
            (&'static Site, &Draft),
        )| { core::ptr::eq::<Site>(one, other) && draft == other_draft };
        self.drafts.len() == other.drafts.len() && self.all().zip(other.all()).all(same)
    }

    /// The functions that are changed, with their drafts.
    pub(super) fn all(&self) -> impl Iterator<Item = (&'static Site, &Draft)> {
        self.drafts.iter().map(|(site, draft)| (*site, draft))
    }

    /// The draft of this function's policy, if it is changed.
    pub(super) fn draft(&self, site: &'static Site) -> Option<&Draft> {
        self.all().find(|(changed, _)| core::ptr::eq(*changed, site)).map(|(_, draft)| draft)
    }
}

/// The drafts of the functions that these layers change.
fn drafts(layers: &[Layer]) -> Result<Vec<(&'static Site, Draft)>, Vec<Unsuitable>> {
    let mut drafts = Vec::new();
    let mut unsuitable = Vec::new();
    for site in registry::sites() {
        match draft(layers, site) {
            Ok(Some(draft)) => drafts.push((site, draft)),
            Ok(None) => {}
            Err(why) => unsuitable.push(why),
        }
    }
    // Functions with the same name mostly break the same rules.
    unsuitable.dedup();
    if unsuitable.is_empty() { Ok(drafts) } else { Err(unsuitable) }
}

/// The fields of a function's policy that are known only to its calls.
pub(super) fn unknown(site: &Site) -> Fields {
    if site.compiled().is_some() { site.runtime() } else { Fields::from_slice(Field::ALL) }
}

/// The policy against which changes are checked: the compiled one. Fields known only to calls have
/// values that break a rule with no other field.
pub(super) fn base(site: &Site) -> Policy {
    let neutral = Policy::new()
        .attempts(u32::MAX)
        .backoff(Backoff::Fixed)
        .initial_delay(Duration::ZERO)
        .max_delay(Duration::MAX)
        .with_budget(Bound::Unlimited);
    let mut base = site.compiled().copied().unwrap_or_default();
    base.copy(&neutral, unknown(site));
    base
}

/// Returns the policy of a call with the changes of `draft`. If part of `policy` was known only to
/// the call, the result is the nearest valid policy. Otherwise the changes were checked; if they
/// break a rule together with those of other scopes, they are used alone.
pub(super) fn over(site: &'static Site, policy: &Policy, draft: &Draft) -> Policy {
    if unknown(site).is_empty() {
        let both = draft.written_over(*policy);
        let is_sound = judge(&both, Fields::NONE, site).is_ok();
        return if is_sound { both.policy() } else { draft.policy() };
    }
    let (nearest, invalid) = policy_override::over(policy, draft);
    observe::warn_invalid(site.into(), invalid);
    nearest
}

/// The draft of a function's policy; `None` if these layers do not change it.
fn draft(layers: &[Layer], site: &'static Site) -> Result<Option<Draft>, Unsuitable> {
    let absent = absent(site);
    let name = site.name();
    let unsuitable = |why: String| Unsuitable { name, why };
    let mut draft = Draft::from_config(base(site));
    // The settings of the topmost source under the function's own name. Only these are checked for
    // settings without effect: the layers below were checked before, and `"*"` is not aimed at this
    // function.
    let mut own = Fields::NONE;
    for layer in layers {
        own = Fields::NONE;
        if let Some(changes) = layer.0.get(&Target::Every) {
            draft = as_far_as_possible(*changes, absent, &draft.policy()).over(draft);
        }
        if let Some(changes) = layer.0.get(&Target::Function(name)) {
            if let Some(bound) = bound_beyond(changes, absent) {
                return Err(unsuitable(beyond(site, bound)));
            }
            own = changes.over(Draft::from_config(draft.policy())).written();
            draft = changes.over(draft);
        }
    }
    if draft.written() == Fields::NONE {
        return Ok(None);
    }
    judge(&draft, own, site).map_err(unsuitable)?;
    Ok(Some(draft))
}

/// The options for which a function has no code: limits, and the hedge.
fn absent(site: &Site) -> Fields {
    let compiled = site.compiled().copied().unwrap_or_default();
    let absent = POLICY.iter().filter(|option| match option.needs {
        [] => false,
        [Needs::Hedges, ..] => !site.is_hedged(),
        _ => {
            // A runtime policy may have a timeout, but a function that is not async ignores it.
            option.field == Field::Timeout && site.is_blocking()
                || compiled.time(option.field).limit().is_none()
                    && !site.runtime().contains(option.field)
        }
    });
    absent.fold(Fields::NONE, |absent, option| absent.with(option.field))
}

/// Returns the limit or the hedge that is set by these changes, although it is `absent`.
fn bound_beyond(changes: &Draft, absent: Fields) -> Option<Field> {
    let (policy, written) = (changes.policy(), changes.written());
    absent.iter().find(|field| {
        written.contains(*field) && policy.time(*field).limit().is_some()
            || *field == Field::Hedge && written.contains(Field::MaxHedges)
    })
}

/// Returns these changes without those that would change something `absent`, or the factor of a
/// jitter that `base` does not have.
fn as_far_as_possible(changes: Draft, mut absent: Fields, base: &Policy) -> Draft {
    if absent.contains(Field::Hedge) {
        absent = absent.with(Field::MaxHedges);
    }
    if !matches!(base.get_jitter(), Jitter::Proportional(_)) {
        absent = absent.with(Field::JitterFactor);
    }
    changes.without(absent)
}

/// Checks that a function of this target has the code that its changes need.
pub(super) fn check_absent(target: Target, changes: &Draft) -> Result<(), String> {
    let sites = registry::sites().into_iter();
    for site in sites.filter(|site| target == Target::Function(site.name())) {
        if let Some(bound) = bound_beyond(changes, absent(site)) {
            return Err(Unsuitable { name: site.name(), why: beyond(site, bound) }.to_string());
        }
    }
    Ok(())
}

/// Returns why a time limit or a hedge that is absent cannot be set.
fn beyond(site: &Site, bound: Field) -> String {
    let name = bound.name();
    if site.is_blocking() && bound == Field::Timeout {
        return "a `timeout` cannot cut off a function that is not async: remove the key here; a \
                `deadline` in the #[retry] ends the call between attempts"
            .to_owned();
    }
    if site.compiled().is_none() && site.runtime().is_empty() && bound != Field::Hedge {
        return format!(
            "only its type parameters tell whether it has a `{name}`, so no override can set one: \
             remove the key here"
        );
    }
    format!(
        "its #[retry] has no `{name}`, so the function contains no code that obeys one: write a \
         `{name}` in the #[retry], or remove the key here"
    )
}

/// Returns whether the policy obeys the rules, including those on `written` fields that have no
/// effect. A rule that the compiled policy itself breaks is waived: the function has a
/// `retry_after`, which is not visible from here. And overriding the attempts is allowed even if it
/// leaves compiled delays unused, and `max_hedges` if the hedges have a delay that the policy does
/// not contain. The first wait is checked only if it is known.
fn judge(draft: &Draft, written: Fields, site: &Site) -> Result<(), String> {
    let mut spared = Rules::broken_by_policy(&base(site), Fields::NONE);
    if unknown(site).difference(draft.written()).contains(Field::InitialDelay) {
        spared = spared.with(Rule::GrowthFromZero).with(Rule::UnlimitedWithoutWaits);
    }
    if site.is_hedged() {
        spared = spared.with(Rule::MaxHedgesWithoutHedge);
    }
    if !written.contains(Field::Backoff) {
        spared = spared.with(Rule::CustomDelaysUnused);
    }
    draft.judge(written, spared, Style::Override).map(drop).map_err(|why| why.to_string())
}
