//! Overrides from the environment: one variable for each key of a function.

use retry_rules::file::KEYS;
use retry_rules::suggest::{nearest, shortened};

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
        let capitals = variable.to_uppercase();
        let is_exact = variable.starts_with(prefix);
        let known = if is_exact { variable } else { &*capitals };
        let Some(rest) = known.strip_prefix(prefix) else { continue };
        let targets = targets.get_or_insert_with(Variables::of_all);
        match targets.meant(prefix, rest) {
            Ok(_) if !is_exact => {
                mistakes.push(format!("`{variable}` is not in capitals: write `{capitals}`"));
            }
            Ok((target, key)) => {
                let value = value.as_ref().to_owned();
                all.push(Written { target, key, value, variable: Some(variable.to_owned()) });
            }
            Err(_) if !is_exact || is_taken(variable) => {}
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

/// All variables, without their prefix: the target and the key of each, by its spelling.
struct Variables(Vec<(String, Target, &'static str)>);

impl Variables {
    fn of_all() -> Self {
        let mut all = Vec::new();
        for target in Target::all() {
            for &key in KEYS.iter() {
                all.push((format!("{}_{}", spelling(target), capitals(key)), target, key));
            }
        }
        Self(all)
    }

    /// The target and key of the variable whose name after the prefix is `rest`.
    fn meant(&self, prefix: &str, rest: &str) -> Result<(Target, &'static str), String> {
        let meant: Vec<_> = self.0.iter().filter(|(written, ..)| written == rest).collect();
        match &meant[..] {
            [(_, target, key)] => Ok((*target, key)),
            [] => Err(self.unknown(prefix, rest)),
            several => {
                let several: Vec<_> = several
                    .iter()
                    .map(|(_, target, key)| format!("`{key}` of `{}`", target.name()))
                    .collect();
                Err(format!(
                    "`{prefix}{rest}` is ambiguous: it could mean {}; use the full name, in a file \
                     or with `Overrides::from_pairs`, or give one of the functions another `name`",
                    several.join(" or ")
                ))
            }
        }
    }

    fn unknown(&self, prefix: &str, rest: &str) -> String {
        let rest = &*shortened(rest);
        let mut written = self.0.iter().map(|(written, ..)| written);
        if let Some(capital) = written.find(|written| **written == rest.to_uppercase()) {
            return format!("`{prefix}{rest}` is not in capitals: write `{prefix}{capital}`");
        }
        let all = Target::all();
        // The longest match: `shop.order` rather than `shop`.
        let longest = all.iter().filter_map(|target| {
            let key = rest.strip_prefix(&spelling(*target))?.strip_prefix('_')?;
            Some((key.to_lowercase(), target))
        });
        if let Some((key, target)) = longest.min_by_key(|(key, _)| key.len()) {
            if let Err(why) = names::key(&key) {
                return format!("`{prefix}{rest}`, for `{}`: {why}", target.name());
            }
        }
        let name = all.iter().map(|target| spelling(*target)).find(|name| name == rest);
        let name = name.unwrap_or_else(|| "ALL".to_owned());
        let form = format!(
            ": a function in capitals and its key follow `{prefix}`, as in `{prefix}{name}_ATTEMPTS`"
        );
        // The same key of a function whose name is near.
        let meant = self.0.iter().find(|(_, target, key)| {
            let name = rest.strip_suffix(&format!("_{}", capitals(key)));
            name.is_some_and(|name| nearest(name, [spelling(*target).as_str()]).is_some())
        });
        let instead =
            meant.map_or(form, |(meant, ..)| format!(": did you mean `{prefix}{meant}`?"));
        format!("unknown variable `{prefix}{rest}`{instead}")
    }
}

/// A target as written in a variable.
fn spelling(target: Target) -> String {
    match target {
        Target::Every => "ALL".to_owned(),
        Target::Function(name) => capitals(name),
    }
}
