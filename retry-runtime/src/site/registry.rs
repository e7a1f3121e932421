//! Every function with `#[retry]` in the program: each one is registered when the program is
//! linked.

use core::fmt::{self, Write as _};
use core::ops::RangeInclusive;
use core::time::Duration;

use crate::base::linked::linked;
use crate::outcome::ended::Reason;
use crate::outcome::ended::Rounded;
use crate::site::Site;

linked! {
    /// The annotated functions, in one array assembled by the linker. It is also the name of the
    /// section, so that two releases in one program keep theirs apart.
    pub static RETRY_SITES_0_1: [&'static Site];
}

const _: () = assert!(
    matches!(env!("CARGO_PKG_VERSION_MAJOR").as_bytes(), b"0")
        && matches!(env!("CARGO_PKG_VERSION_MINOR").as_bytes(), b"1"),
    "the slices of the linker are named after the release"
);

/// Returns every function with `#[retry]` that is linked into this program, by name.
///
/// Functions that the linker left out, because nothing calls them, may be missing. A generic
/// function is one site. On `wasm32-unknown-unknown`, whose linker gathers nothing, the list is
/// empty.
///
/// ```
/// use retry_runtime::{retry, sites};
///
/// #[retry(attempts = 4, name = "shop.order")]
/// async fn order() -> Result<u32, String> {
///     Ok(7)
/// }
///
/// for site in sites() {
///     println!("{} at {}:{}", site.name(), site.file(), site.line());
/// }
/// # assert!(sites().iter().any(|site| site.name() == "shop.order"));
/// ```
pub fn sites() -> Vec<&'static Site> {
    let mut sites: Vec<_> = RETRY_SITES_0_1.to_vec();
    sites.sort_by_key(|site| (site.name(), site.file(), site.line()));
    sites
}

/// Returns all [`sites`] as a table for people: where they are, their policies, and the outcomes of
/// their calls. [`family_breakers`](crate::family_breakers) lists the breakers of families.
///
/// ```
/// println!("{}", retry_runtime::report());
/// ```
pub fn report() -> Report {
    Report(sites())
}

/// The table that [`report`] returns; its `Display` reads the counters.
///
/// ```
/// println!("{}", retry_runtime::report());
/// ```
#[derive(Clone, Debug)]
pub struct Report(Vec<&'static Site>);

const HEADINGS: [&str; 9] = [
    "function",
    "attempts",
    "retries",
    "recovered",
    "gave up",
    "waited",
    "longest waits",
    "policy",
    "at",
];

/// The columns with numbers, which are right-aligned.
const NUMBERS: RangeInclusive<usize> = 1..=6;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if cfg!(all(target_family = "wasm", target_os = "unknown")) {
            f.write_str("functions with #[retry] cannot be listed on wasm32-unknown-unknown\n")?;
        } else if self.0.is_empty() {
            f.write_str("no function with #[retry] is linked into this program\n")?;
        } else {
            table(f, &self.0)?;
        }
        for site in &self.0 {
            let stats = site.stats();
            if stats.hedges > 0 {
                let (name, hedges, wins) = (site.name(), stats.hedges, stats.hedge_wins);
                writeln!(
                    f,
                    "\n{name} hedged: {hedges} attempts joined others, {wins} of them won"
                )?;
            }
            if stats.gave_up() > 0 {
                writeln!(f, "\n{} gave up:", site.name())?;
                for &reason in Reason::ALL {
                    let times = stats.gave_up_by(reason);
                    if times > 0 {
                        writeln!(f, "  {times:>6} x {reason}")?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Writes a row for each function under the headings, with the numbers right-aligned.
fn table(f: &mut fmt::Formatter<'_>, sites: &[&Site]) -> fmt::Result {
    let mut all = vec![HEADINGS.map(str::to_owned)];
    all.extend(sites.iter().map(|site| row(site)));
    let widths: [usize; HEADINGS.len()] = core::array::from_fn(|column| {
        all.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
    });
    for row in &all {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
            if column > 0 {
                line.push_str("  ");
            }
            if NUMBERS.contains(&column) {
                write!(line, "{cell:>width$}")?;
            } else {
                write!(line, "{cell:<width$}")?;
            }
        }
        writeln!(f, "{}", line.trim_end())?;
    }
    Ok(())
}

fn time(time: Duration) -> String {
    // Without this, a zero would be shown as `0ns`.
    if time.is_zero() { "0s".to_owned() } else { Rounded(time).to_string() }
}

fn row(site: &Site) -> [String; 9] {
    let stats = site.stats();
    let number = |number: u64| number.to_string();
    let known = site.policy().filter(|_| site.runtime().is_empty());
    let longest = match known.map(|policy| policy.longest_total_wait()) {
        Some(Some(longest)) => time(longest),
        Some(None) => "unbounded".to_owned(),
        None => "-".to_owned(),
    };
    #[cfg_attr(not(feature = "overrides"), expect(unused_mut, reason = "only overrides add to it"))]
    let mut shown = site.policy_text();
    #[cfg(feature = "overrides")]
    if site.is_overridden() {
        shown.push_str(" (overridden)");
    }
    [
        site.name().to_owned(),
        number(stats.attempts),
        number(stats.retries),
        number(stats.recovered),
        number(stats.gave_up()),
        time(stats.waited),
        longest,
        shown,
        format!("{}:{}", site.file(), site.line()),
    ]
}
