//! Overrides from the environment: one variable for each key of a function.

use retry_rules::file::KEYS;
use retry_rules::suggest::key_of;
use retry_rules::suggest::{nearest, or_else};

use super::error::OverridesError;
use super::layer::Checked;
use super::names::{self, Target};
use super::text::{self, Written};

/// Reads the environment of this process.
pub(super) fn real(prefix: &str) -> Result<Checked, OverridesError> {
    // Invalid Unicode becomes replacement characters, which no valid value contains.
    let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
    given(prefix, std::env::vars_os().map(|(name, value)| (text(name), text(value))))
}

/// Reads the given variables.
pub(super) fn given<N, V>(
    prefix: &str,
    vars: impl IntoIterator<Item = (N, V)>,
) -> Result<Checked, OverridesError>
where
    N: AsRef<str>,
    V: AsRef<str>,
{
    let mut mistakes = Vec::new();
    let mut all = Vec::new();
    let mut targets = None;
    for (name, value) in vars {
        let variable = name.as_ref();
        let Some(rest) = variable.strip_prefix(prefix) else { continue };
        let targets = targets.get_or_insert_with(Variables::of_all);
        match targets.meant(prefix, rest) {
            Ok((target, key)) => {
                let value = value.as_ref().to_owned();
                all.push(Written { target, key, value, variable: Some(variable.to_owned()) });
            }
            Err(_) if is_taken(variable) => {}
            Err(why) => mistakes.push(why),
        }
    }
    text::checked(&all, mistakes)
}

/// Returns whether the variable belongs to a related program: the command `retry-workflow`, which
/// also passes information about their job to the programs that it starts, or the tests of these
/// crates.
fn is_taken(variable: &str) -> bool {
    ["RETRY_WORKFLOW_", "RETRY_TEST_"].iter().any(|taken| variable.starts_with(taken))
}

/// A name as written in a variable: in capitals, with `_` for each run of characters that are
/// neither letters nor digits.
fn capitals(name: &str) -> String {
    let mut capitals = String::new();
    for c in name.chars() {
        if c.is_alphanumeric() {
            capitals.extend(c.to_uppercase());
        } else if !capitals.ends_with('_') {
            capitals.push('_');
        }
    }
    capitals
}

/// All targets, each with its spelling in a variable.
struct Variables(Vec<(String, Target)>);

impl Variables {
    fn of_all() -> Self {
        let written = |target| match target {
            Target::Every => "ALL".to_owned(),
            Target::Function(name) => capitals(name),
        };
        Self(Target::all().into_iter().map(|target| (written(target), target)).collect())
    }

    /// The target and key of the variable whose name after the prefix is `rest`.
    fn meant(&self, prefix: &str, rest: &str) -> Result<(Target, &'static str), String> {
        let mut meant = Vec::new();
        // The text before a key; several may match: `RETRY_BUDGET` is a key, and so is `BUDGET`.
        let mut stems = Vec::new();
        for &key in KEYS.iter() {
            let stem = rest.strip_suffix(&capitals(key)).and_then(|stem| stem.strip_suffix('_'));
            let Some(stem) = stem else { continue };
            stems.push((stem, key));
            let targets = self.0.iter().filter(|(written, _)| written == stem);
            meant.extend(targets.map(|(_, target)| (*target, key)));
        }
        match &meant[..] {
            [(target, key)] => Ok((*target, key)),
            [] => Err(self.unknown(prefix, rest, &stems)),
            several => {
                let several: Vec<_> = several
                    .iter()
                    .map(|(target, key)| format!("`{key}` of `{}`", target.name()))
                    .collect();
                Err(format!(
                    "`{prefix}{rest}` is ambiguous: it could mean {}; use the full name, in a file \
                     or with `Overrides::from_pairs`, or give one of the functions another `name`",
                    several.join(" or ")
                ))
            }
        }
    }

    fn unknown(&self, prefix: &str, rest: &str, stems: &[(&str, &str)]) -> String {
        let variable = |written: &str, key: &str| format!("{prefix}{written}_{}", capitals(key));
        if let Some(key) = KEYS.iter().find(|key| rest == capitals(key)) {
            let meant = variable("ALL", key);
            return format!(
                "unknown variable `{prefix}{rest}`: did you mean `{meant}`, for all functions?"
            );
        }
        if let Some((stem, key)) = stems.first() {
            let written = nearest(stem, self.0.iter().map(|(written, _)| written.as_str()));
            let meant = written.map(|written| variable(written, key));
            return format!(
                "unknown variable `{prefix}{rest}`{}`{stem}` is neither a function with #[retry], \
                 written in capitals, nor ALL",
                or_else(meant.as_deref())
            );
        }
        // The longest match: `shop.order` rather than `shop`.
        let starts_so =
            |written: &str| rest.strip_prefix(written)?.strip_prefix('_').map(str::to_lowercase);
        let of = self
            .0
            .iter()
            .filter_map(|(written, target)| Some((written, target, starts_so(written)?)));
        if let Some((written, target, key)) = of.max_by_key(|(written, ..)| written.len()) {
            let meant = names::key_meant(&key);
            return match (meant.as_deref().map(key_of), names::key(&key)) {
                (Some(key), _) | (None, Ok(key)) => {
                    let meant = variable(written, key);
                    format!("unknown variable `{prefix}{rest}`: did you mean `{meant}`?")
                }
                (None, Err(why)) => format!("`{prefix}{rest}`, for `{}`: {why}", target.name()),
            };
        }
        let keys: Vec<_> = KEYS.iter().map(|key| capitals(key)).collect();
        let keys: Vec<_> = keys.iter().map(String::as_str).collect();
        format!(
            "unknown variable `{prefix}{rest}`: after `{prefix}` comes a function's name in \
             capitals, or ALL, and then one of {}",
            names::listed(&keys)
        )
    }
}
