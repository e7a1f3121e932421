//! The settings from one source, a file or the environment, and the combined effect of several on
//! each function.

use core::fmt;
use std::collections::BTreeMap;

use retry_rules::file::{CommandKeys, Draft};
use retry_rules::{Field, Fields, Policy, Rule, Rules};

use super::names::Target;
use crate::site::Site;
use crate::site::registry;

/// The settings from one source: keys by target.
#[derive(Clone, Debug, Default)]
pub(super) struct Layer(BTreeMap<Target, CommandKeys>);

impl Layer {
    pub(super) fn contains(&self, target: Target) -> bool {
        self.0.contains_key(&target)
    }

    pub(super) fn insert(&mut self, target: Target, keys: CommandKeys) {
        self.0.insert(target, keys);
    }

    /// Returns whether the functions of this target would still obey the rules with these keys
    /// added.
    pub(super) fn check_insert(
        &self,
        target: Target,
        keys: &CommandKeys,
    ) -> Result<(), Unsuitable> {
        let Target::Function(name) = target else {
            // An entry under the function's own name may still fix it.
            return Ok(());
        };
        let mut layer = self.clone();
        layer.insert(target, keys.clone());
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

/// The compiled policy of a function, or the default if it is known only to calls.
pub(super) fn compiled(site: &Site) -> Policy {
    site.compiled().copied().unwrap_or_default()
}

/// The draft of a function's policy; `None` if these layers do not change it.
fn draft(layers: &[Layer], site: &'static Site) -> Result<Option<Draft>, Unsuitable> {
    let compiled = &compiled(site);
    let name = site.name();
    let unsuitable = |why: String| Unsuitable { name, why };
    let mut draft = Draft::from_policy(*compiled);
    // The settings of the topmost source under the function's own name. Only these are checked for
    // settings without effect: the layers below were checked before, and `"*"` is not aimed at this
    // function.
    let mut own = Fields::NONE;
    for layer in layers {
        own = Fields::NONE;
        if let Some(keys) = layer.0.get(&Target::Every) {
            let keys = keys.as_far_as_in(compiled, site.is_hedged(), &draft.policy());
            keys.write_to(&mut draft).map_err(|why| unsuitable(why.to_string()))?;
        }
        if let Some(keys) = layer.0.get(&Target::Function(name)) {
            if let Some(bound) = keys.bound_beyond(compiled, site.is_hedged()) {
                return Err(unsuitable(beyond(site, bound)));
            }
            let mut alone = Draft::from_policy(draft.policy());
            keys.write_to(&mut alone).map_err(|why| unsuitable(why.to_string()))?;
            own = alone.written();
            keys.write_to(&mut draft).map_err(|why| unsuitable(why.to_string()))?;
        }
    }
    if draft.written() == Fields::NONE {
        return Ok(None);
    }
    judge(&draft, own, site).map_err(unsuitable)?;
    Ok(Some(draft))
}

/// Returns why a time limit or a hedge that the compiled policy lacks cannot be changed.
fn beyond(site: &Site, bound: Field) -> String {
    let is_known = site.compiled().is_some() && !site.runtime().contains(bound);
    let there = if is_known || bound == Field::Hedge {
        "there is no"
    } else {
        "only its calls know whether there is a"
    };
    format!(
        "{there} `{}` in its #[retry], and an override can only change one that is there, \
         because the code for it is compiled into the function",
        bound.name()
    )
}

/// Returns whether the policy obeys the rules, including those on `written` fields that have no
/// effect. A rule that the compiled policy itself breaks is waived: the function has a
/// `retry_after`, which is not visible from here. And overriding the attempts is allowed even if it
/// leaves compiled delays unused, and `max_hedges` if the hedges have a delay that the policy does
/// not contain.
pub(super) fn judge(draft: &Draft, written: Fields, site: &Site) -> Result<(), String> {
    let mut spared = Rules::broken_by_policy(&compiled(site), Fields::NONE);
    if site.is_hedged() {
        spared = spared.with(Rule::MaxHedgesWithoutHedge);
    }
    if !written.contains(Field::Backoff) {
        spared = spared.with(Rule::CustomDelaysUnused);
    }
    draft.judge(written, spared).map(drop).map_err(|why| why.to_string())
}
