//! The targets and the keys of changes, by name.

use retry_rules::file::{Draft, KEYS, Keys as _};
use retry_rules::suggest::{instead, nearest, shortened};
use retry_rules::{BreakerConfig, QuotaConfig};
use serde::de::value;

use crate::site::registry;

/// The target of a change. `Every` is ordered before each function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Target {
    /// `"*"`.
    Every,
    /// The functions of this name, of which there is at least one.
    Function(&'static str),
}

impl Target {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Every => "*",
            Self::Function(name) => name,
        }
    }

    /// All possible targets.
    pub(super) fn all() -> Vec<Self> {
        let mut all = vec![Self::Every];
        all.extend(registry::sites().into_iter().map(|site| Self::Function(site.name())));
        // Equal names are adjacent, because the list is sorted.
        all.dedup();
        all
    }

    /// The target named by `word`.
    pub(super) fn by(word: &str) -> Result<Self, String> {
        let all = Self::all();
        match all.iter().find(|target| target.name() == word) {
            Some(target) => Ok(*target),
            // Not `"*"`: a misspelling of it is unlikely.
            None => {
                let names: Vec<_> = all.iter().skip(1).map(|target| target.name()).collect();
                Err(unknown_function(&shortened(word), &names))
            }
        }
    }
}

fn unknown_function(word: &str, names: &[&str]) -> String {
    if names.is_empty() {
        return format!(
            "unknown function `{word}`: no function with #[retry] is linked into this program"
        );
    }
    // `billing.fetch` may stand for `shop::billing::fetch`.
    let dotted = |text: &str| text.replace("::", ".");
    let wanted = dotted(word);
    let ends_so =
        |name: &&&str| dotted(name).strip_suffix(&wanted).is_some_and(|path| path.ends_with('.'));
    let begins_so = |name: &&&str| dotted(name).starts_with(&format!("{wanted}."));
    // Functions that stand side by side begin alike: their own names have to be near as well.
    let own = |text: &str| dotted(text).rsplit('.').next().map(str::to_owned).unwrap_or_default();
    let is_near = |name: &&&str| nearest(&own(word), [own(name).as_str()]).is_some();
    let meant = names.iter().find(ends_so).copied();
    let meant = meant.or_else(|| nearest(word, names.iter().filter(is_near).copied()));
    let is_all = matches!(word, "default" | "defaults" | "all" | "global");
    let instead = if is_all || word.contains('*') || KEYS.contains(&word) {
        ": settings are below the name of one function, or below `\"*\"` for all".to_owned()
    } else if let Some(name) = names.iter().find(begins_so) {
        format!(": a name is one key: write one such as `\"{name}\"`")
    } else {
        instead(meant, names, "`retry_runtime::sites()`")
    };
    format!("unknown function `{word}`{instead}")
}

/// Options of the attribute that are code, and not part of a policy, separated by spaces.
const CODE: &str = "retry_on abort_on uncounted classify retry_after wait_by breaker circuit_breaker \
                    breaker_on when_open quota cancel on_failure map_error on_retry history log \
                    log_retries policy name clone carry context nested";

/// The key named by `word`.
pub(super) fn key(word: &str) -> Result<&'static str, String> {
    let (breaker, quota) = (<Draft<BreakerConfig>>::default(), <Draft<QuotaConfig>>::default());
    let mut code = CODE.split(' ').chain(breaker.keys().iter().chain(quota.keys()).copied());
    if code.any(|code| code == word) && !KEYS.contains(&word) {
        return Err(format!(
            "`{word}` cannot be changed while the program runs, because it is compiled into the \
             function: remove it here"
        ));
    }
    <Draft>::default().key::<value::Error>(word).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::unknown_function;

    #[test]
    fn a_name_without_its_beginning_is_understood_however_it_is_divided() {
        for word in ["pay", "shop.pay", "shop::pay"] {
            let message =
                unknown_function(word, &["shop::order", "acme::shop::pay", "shop.paying"]);
            assert!(message.contains("did you mean `acme::shop::pay`?"), "{message}");
        }
    }

    #[test]
    fn an_unknown_function_is_refused_with_the_known_ones() {
        let few = ["shop::order", "shop::pay"];
        let many = ["shop::order"; 13];
        for (word, names, instead) in [
            ("pay", &few[..], ": did you mean `shop::pay`?"),
            ("stock", &few, ": expected one of `shop::order`, `shop::pay`"),
            // As near as a misspelling, but another function.
            ("shop::buy", &few, ": expected one of `shop::order`, `shop::pay`"),
            ("shop::ordr", &many, ": did you mean `shop::order`?"),
            (
                "billing",
                &["billing.fetch"],
                ": a name is one key: write one such as `\"billing.fetch\"`",
            ),
            (
                "shop::*",
                &few,
                ": settings are below the name of one function, or below `\"*\"` for all",
            ),
            (
                "default",
                &few,
                ": settings are below the name of one function, or below `\"*\"` for all",
            ),
            (
                "attempts",
                &few,
                ": settings are below the name of one function, or below `\"*\"` for all",
            ),
        ] {
            assert_eq!(
                unknown_function(word, names),
                format!("unknown function `{word}`{instead}")
            );
        }
        assert_eq!(
            unknown_function("pay", &[]),
            "unknown function `pay`: no function with #[retry] is linked into this program"
        );
    }
}
