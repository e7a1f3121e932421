//! The names of other libraries' settings, with the settings and values to write instead.
//!
//! None of these names is accepted; an error about one says what to write.

use std::borrow::ToOwned as _;
use std::format;
use std::string::{String, ToString as _};
use std::vec::Vec;

/// A setting that other libraries have, by its names there, and what is written here instead.
#[derive(Debug)]
pub struct ForeignName {
    /// In lower case, without `_`, `-` and a leading `with`.
    pub names: &'static [&'static str],
    /// The settings here, each with its value.
    pub here: &'static [(&'static str, Is)],
}

/// The form of the value to write.
#[derive(Clone, Copy, Debug)]
pub enum Is {
    /// This text, whatever the value was; a name alone if it is empty.
    Text(&'static str),
    /// The same value, or this example of one.
    Same(&'static str),
    /// A time; a bare number counts this unit.
    Time { unit: &'static str, example: &'static str },
    /// The same value if it is the path of an item, or this example of one.
    Path(&'static str),
    /// Errors in a list, or matchers.
    Matchers(&'static str),
    /// One more: the other setting counts retries.
    OneMore,
    /// The hundredth part: the other setting is written in percent.
    Percent(&'static str),
    /// The value between two texts, in an attribute and in a file.
    Between { attribute: [&'static str; 2], file: [&'static str; 2], example: &'static str },
}

/// The place in which the suggestion is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// `name = value`
    Attribute,
    /// `name: value`
    File,
}

const fn same(example: &'static str) -> Is {
    Is::Same(example)
}

const fn time(unit: &'static str, example: &'static str) -> Is {
    Is::Time { unit, example }
}

const BASE: Is = Is::Between {
    attribute: ["exponential(base = ", ")"],
    file: ["{ exponential: { base: ", " } }"],
    example: "2.0",
};
const WHEN: Is = Is::Between { attribute: ["[when(", ")]"], file: ["[", "]"], example: "f" };
const ERRORS: Is = Is::Matchers("MyError::Busy");
const FALLBACK: Is = Is::Between { attribute: ["fallback(", ")"], file: ["", ""], example: "f" };

const fn row(names: &'static [&'static str], here: &'static [(&'static str, Is)]) -> ForeignName {
    ForeignName { names, here }
}

/// Settings of retries in backoff, backon, failsafe, Polly, p-retry, resilience4j, seatbelt,
/// Spring, tenacity, tokio-retry and tower, and words that people try.
pub const RETRY: &[ForeignName] = &[
    row(
        &[
            "retries",
            "retry",
            "maxretries",
            "numretries",
            "maxtimes",
            "maxretry",
            "nretries",
            "maxretryattempts",
            "retryattempts",
            "retrycount",
            "retrylimit",
            "take",
        ],
        &[("attempts", Is::OneMore)],
    ),
    row(
        &[
            "tries",
            "times",
            "stop",
            "stopafterattempt",
            "maxtries",
            "totalattempts",
            "attempt",
            "maxattempt",
            "numattempts",
            "maxattempts",
            "count",
            "limit",
        ],
        &[("attempts", same("5"))],
    ),
    row(
        &["backofftype", "strategy", "backoffstrategy", "backoffpolicy", "curve"],
        &[("backoff", Is::Text("exponential"))],
    ),
    row(
        &[
            "base",
            "factor",
            "multiplier",
            "backofffactor",
            "exponentialbase",
            "exponentialbackoffmultiplier",
            "backoffmultiplier",
            "backoffcoefficient",
        ],
        &[("backoff", BASE)],
    ),
    row(
        &[
            "enableexponentialbackoff",
            "exponentialbackoff",
            "waitexponential",
            "exponentialbuilder",
        ],
        &[("backoff", Is::Text("exponential"))],
    ),
    row(&["fibonaccibuilder", "fibonaccibackoff"], &[("backoff", Is::Text("fibonacci"))]),
    row(
        &[
            "waitfixed",
            "fixeddelay",
            "fixedinterval",
            "constant",
            "constantbuilder",
            "constantbackoff",
        ],
        &[("backoff", Is::Text("fixed")), ("initial_delay", time("s", "\"1s\""))],
    ),
    row(
        &[
            "delay",
            "initialinterval",
            "mindelay",
            "interval",
            "wait",
            "basedelay",
            "initialbackoff",
            "minwait",
            "backoffmin",
            "delayfactor",
            "initialwait",
            "startdelay",
        ],
        &[("initial_delay", time("s", "\"1s\""))],
    ),
    row(
        &["waitduration", "mintimeout", "delayms", "retrydelay", "waitms"],
        &[("initial_delay", time("ms", "\"1s\""))],
    ),
    row(
        &[
            "maxinterval",
            "maxbackoff",
            "backoffmax",
            "maxwait",
            "delaymax",
            "maximumdelay",
            "maxdelayms",
        ],
        &[("max_delay", time("s", "\"30s\""))],
    ),
    row(
        &["maxtimeout", "maxwaitduration", "exponentialmaxwaitduration", "maxretrydelay"],
        &[("max_delay", time("ms", "\"30s\""))],
    ),
    row(&["usejitter", "randomize", "random", "enablerandomizedwait"], &[("jitter", Is::Text(""))]),
    row(
        &["jitterfactor", "randomizationfactor", "randomizedwaitfactor"],
        &[("jitter", same("0.3"))],
    ),
    row(&["retrybudget", "totaldelay", "maxtotaldelay"], &[("budget", time("s", "\"5m\""))]),
    row(
        &["totaltimeout", "maxduration", "overalltimeout", "giveupafter"],
        &[("deadline", time("s", "\"30s\""))],
    ),
    row(
        &["maxelapsedtime", "stopafterdelay", "maxretrytime", "maxtime", "retryfor"],
        &[("max_elapsed", time("s", "\"5m\""))],
    ),
    row(&["retryaftermax"], &[("max_retry_after", time("s", "\"1h\""))]),
    row(
        &["attempttimeout", "pertrytimeout", "calltimeout", "timeoutperattempt"],
        &[("timeout", time("s", "\"2s\""))],
    ),
    row(
        &[
            "retryif",
            "condition",
            "when",
            "shouldhandle",
            "shouldretry",
            "handle",
            "predicate",
            "retrypredicate",
            "retryonexceptionpredicate",
            "retryonresultpredicate",
            "recovery",
            "isretryable",
            "retrywhen",
        ],
        &[("retry_on", WHEN)],
    ),
    row(
        &[
            "retryexceptions",
            "retryonexceptions",
            "include",
            "retryiferror",
            "retryifexceptiontype",
        ],
        &[("retry_on", ERRORS)],
    ),
    row(
        &[
            "ignoreexceptions",
            "exclude",
            "noretryfor",
            "giveup",
            "abortif",
            "ignore",
            "unless",
            "except",
            "donotretryon",
            "noretryon",
            "skipon",
            "dontretryon",
            "permanent",
        ],
        &[("abort_on", ERRORS)],
    ),
    row(
        &[
            "fallbackmethod",
            "fallback",
            "recover",
            "recoverwith",
            "retryerrorcallback",
            "orelse",
            "default",
        ],
        &[("on_failure", FALLBACK)],
    ),
    row(
        &["maperr", "errormapper", "retryerrorcls", "exhaustederror"],
        &[("map_error", Is::Text("|error: RetryError<MyError>| …"))],
    ),
    row(
        &["notify", "beforesleep", "onbackoff", "onfailedattempt", "afterretry", "beforeretry"],
        &[("on_retry", Is::Text("|event| …"))],
    ),
    row(&["circuitbreaker", "cb"], &[("breaker", Is::Path("DB"))]),
    row(&["tripon", "recordexceptions"], &[("breaker_on", Is::Text("[server_error, timeout]"))]),
    row(
        &["cancellation", "abort", "shutdown", "cancellationtoken", "signal"],
        &[("cancel", Is::Text("shutdown.cancelled()"))],
    ),
    row(&["config", "retryconfig", "retrypolicy", "options"], &[("policy", same("HTTP"))]),
];

/// Settings of circuit breakers in failsafe, Polly, resilience4j and seatbelt.
pub const BREAKER: &[ForeignName] = &[
    row(
        &[
            "threshold",
            "failures",
            "consecutivefailures",
            "maxfailures",
            "errorthreshold",
            "requestvolumethreshold",
        ],
        &[("failure_threshold", same("5"))],
    ),
    row(
        &["failureratethreshold", "errorthresholdpercentage", "failurepercentage"],
        &[("failure_rate", Is::Percent("0.5"))],
    ),
    row(&["failureratio", "errorrate", "failurethresholdratio"], &[("failure_rate", same("0.5"))]),
    row(
        &["slidingwindowsize", "windowsize", "closedlen", "buckets"],
        &[("window_calls", same("100"))],
    ),
    row(
        &["samplingduration", "window", "slidingwindow", "rollingwindow"],
        &[("window_time", time("s", "\"30s\""))],
    ),
    row(
        &["minimumthroughput", "minimumnumberofcalls", "mincalls", "minrequests"],
        &[("minimum_calls", same("10"))],
    ),
    row(&["slowcalldurationthreshold", "slowcallduration"], &[("slow_call", time("ms", "\"1s\""))]),
    row(&["slowcallratethreshold"], &[("slow_rate", Is::Percent("0.5"))]),
    row(
        &[
            "resettimeout",
            "opentimeout",
            "wait",
            "breakduration",
            "openwait",
            "openduration",
            "durationofbreak",
            "openfor",
        ],
        &[("timeout", time("s", "\"30s\""))],
    ),
    row(&["waitdurationinopenstate", "sleepwindow"], &[("timeout", time("ms", "\"30s\""))]),
    row(&["growth", "multiplier"], &[("timeout_growth", same("2.0"))]),
    row(&["maxopentimeout"], &[("max_timeout", time("s", "\"5m\""))]),
    row(
        &["permittednumberofcallsinhalfopenstate", "halfopenlen", "halfopenmaxcalls", "probes"],
        &[("half_open_requests", same("3"))],
    ),
    row(&["successes", "consecutivesuccesses"], &[("success_threshold", same("3"))]),
];

/// Words for values, by the words of other libraries and tools.
const WORDS: &[(&[&str], &[&str])] = &[
    (&["ignore", "pass", "warn", "proceed", "skip", "resume"], &["continue", "skip"]),
    (&["fail", "abort", "exit", "halt", "raise", "break"], &["stop"]),
    (&["deadletter", "dead", "park", "quarantine"], &["dlq"]),
    (&["constant", "static", "const"], &["fixed"]),
    (&["exp", "double", "doubling", "geometric"], &["exponential"]),
    (&["infinite", "forever", "infinity", "always"], &["unlimited"]),
    (&["http5xx", "5xx", "server", "unavailable"], &["server_error"]),
    (&["throttle", "throttled", "throttling", "toomanyrequests"], &["rate_limit"]),
    (&["connection", "io"], &["network"]),
    (&["connectionrefused", "refused", "dns", "notsent"], &["connect"]),
    (&["deadlock", "locked", "serialization"], &["conflict"]),
    (&["all", "any", "temporary", "retryable"], &["transient"]),
];

/// Returns the word that is written for this one here, if it is one of the `known`.
pub fn word_here<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let word = plain(word);
    let (_, here) = WORDS.iter().find(|(names, _)| names.contains(&&*word))?;
    known.iter().copied().find(|known| here.contains(known))
}

/// A name as it is compared: without case, `_` and `-`, and without a leading `with`.
fn plain(word: &str) -> String {
    let letters = word.chars().filter(|letter| !matches!(letter, '_' | '-'));
    let plain = letters.flat_map(char::to_lowercase).collect::<String>();
    match plain.strip_prefix("with") {
        Some(rest) if !rest.is_empty() => rest.to_owned(),
        _ => plain,
    }
}

fn find<'a>(word: &str, table: &'a [ForeignName]) -> Option<&'a ForeignName> {
    let word = plain(word);
    table.iter().find(|row| row.names.contains(&&*word))
}

/// A value as it was written elsewhere.
enum Value {
    /// Nothing that can be carried over.
    Nothing,
    Number(f64),
    Other,
}

impl Value {
    fn read(written: &str) -> Self {
        let is_call = |written: &str| {
            written.ends_with(')')
                && !written.starts_with(['|', '[', '"', '('])
                && !written.starts_with("Duration::")
                && !written.contains("::Duration::")
        };
        match written.trim() {
            "" | "true" | "false" | "True" | "False" | "null" | "None" => Self::Nothing,
            number if number.replace('_', "").parse::<f64>().is_ok_and(f64::is_finite) => {
                Self::Number(number.replace('_', "").parse().unwrap_or_default())
            }
            written if is_call(written) || written.contains("Exponential") => Self::Nothing,
            _ => Self::Other,
        }
    }
}

impl Is {
    fn write(self, written: &str, place: Place) -> String {
        let value = Value::read(written);
        let or_example = |example: &str| match value {
            Value::Nothing => example.to_owned(),
            Value::Number(_) | Value::Other => written.trim().to_owned(),
        };
        match self {
            Self::Text(text) => text.to_owned(),
            Self::Same(example) => or_example(example),
            Self::Path(example) => {
                let is_path = |written: &str| {
                    written.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | ':' | '.'))
                };
                Some(written.trim())
                    .filter(|written| !written.is_empty() && is_path(written))
                    .unwrap_or(example)
                    .to_owned()
            }
            Self::Matchers(example) => {
                let list = or_example(example);
                let list = list.trim_matches(['[', ']']);
                let is_word = |word: &str| word.chars().all(|c| c.is_lowercase() || c == '_');
                if place == Place::File || list.split(',').map(str::trim).all(is_word) {
                    format!("[{list}]")
                } else {
                    format!("[matches({list})]")
                }
            }
            Self::Time { unit, example } => match value {
                Value::Number(number) if unit == "ms" && number % 1_000.0 == 0.0 => {
                    format!("\"{}s\"", number / 1_000.0)
                }
                Value::Number(number) => format!("\"{number}{unit}\""),
                _ => or_example(example),
            },
            Self::OneMore => match value {
                Value::Number(retries) if retries >= 0.0 => format!("{}", retries + 1.0),
                _ => "5".to_owned(),
            },
            Self::Percent(example) => match value {
                Value::Number(percent) if percent > 1.0 => (percent / 100.0).to_string(),
                _ => or_example(example),
            },
            Self::Between { attribute, file, example } => {
                let [before, after] = if place == Place::Attribute { attribute } else { file };
                format!("{before}{}{after}", or_example(example).trim_matches(['[', ']']))
            }
        }
    }
}

/// Returns what to write for a setting that other libraries call `word`, with its value carried
/// over as far as it can be; `None` for a word that none of them has.
///
/// A value that is another setting, such as `stop = stop_after_attempt(3)`, is what counts.
pub fn instead(word: &str, written: &str, table: &[ForeignName], place: Place) -> Option<String> {
    let row = find(word, table)?;
    if let Some((call, inside)) = written.trim().split_once('(') {
        let inside = inside.strip_suffix(')').and_then(|inside| inside.split(',').next());
        let name = call.rsplit("::").find(|part| find(part, table).is_some());
        if let (Some(inside), Some(name)) = (inside, name) {
            let is_number = matches!(Value::read(inside), Value::Number(_));
            if is_number && call.ends_with("_millis") {
                return instead(name, &format!("\"{inside}ms\""), table, place);
            }
            return instead(name, inside, table, place);
        }
    }
    let pairs =
        row.here.iter().map(|(name, is)| match (is.write(written, place).as_str(), place) {
            ("", Place::Attribute) => (*name).to_owned(),
            ("", Place::File) => format!("{name}: true"),
            (value, Place::Attribute) => format!("{name} = {value}"),
            (value, Place::File) => format!("{name}: {}", value.trim_matches('"')),
        });
    Some(pairs.collect::<Vec<_>>().join(", "))
}

/// Returns whether a word counts retries elsewhere, where ours count attempts.
pub fn counts_retries(word: &str) -> bool {
    find(word, RETRY).is_some_and(|row| matches!(row.here, [(_, Is::OneMore)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_whatever_their_case_and_their_underscores() {
        let attribute = |word, value| instead(word, value, RETRY, Place::Attribute);
        for (word, value, here) in [
            ("MaxRetryAttempts", "3", "attempts = 4"),
            ("with_max_times", "4", "attempts = 5"),
            ("stop", "stop_after_attempt(3)", "attempts = 3"),
            ("wait", "wait_fixed(2)", "backoff = fixed, initial_delay = \"2s\""),
            ("minTimeout", "1_000", "initial_delay = \"1s\""),
            ("Delay", "\"2s\"", "initial_delay = \"2s\""),
            ("UseJitter", "true", "jitter"),
            ("multiplier", "3", "backoff = exponential(base = 3)"),
            ("BackoffType", "DelayBackoffType::Exponential", "backoff = exponential"),
            ("should_handle", "is_busy", "retry_on = [when(is_busy)]"),
            ("ignore_exceptions", "[E::Fatal]", "abort_on = [matches(E::Fatal)]"),
            ("unless", "[timeout, network]", "abort_on = [timeout, network]"),
            ("circuit_breaker", "\"db\"", "breaker = DB"),
            ("circuit_breaker", "self.breaker", "breaker = self.breaker"),
            ("fallback_method", "cached", "on_failure = fallback(cached)"),
            ("delay", "Duration::from_secs(2)", "initial_delay = Duration::from_secs(2)"),
            (
                "delay",
                "FixedInterval::from_millis(100)",
                "backoff = fixed, initial_delay = \"100ms\"",
            ),
            ("delay", "settings().delay()", "initial_delay = \"1s\""),
        ] {
            assert_eq!(attribute(word, value).as_deref(), Some(here), "{word} = {value}");
        }
        assert_eq!(attribute("colour", "red"), None);
    }

    #[test]
    fn percent_is_a_share_and_files_have_their_own_form() {
        let of = |word, value, place| instead(word, value, BREAKER, place).expect("a setting");
        assert_eq!(of("failureRateThreshold", "50", Place::Attribute), "failure_rate = 0.5");
        assert_eq!(of("slow_call_rate_threshold", "0.3", Place::Attribute), "slow_rate = 0.3");
        assert_eq!(of("breakDuration", "30", Place::File), "timeout: 30s");
        let file = instead("retries", "3", RETRY, Place::File);
        assert_eq!(file.as_deref(), Some("attempts: 4"));
        let file = instead("factor", "1.5", RETRY, Place::File);
        assert_eq!(file.as_deref(), Some("backoff: { exponential: { base: 1.5 } }"));
    }

    #[test]
    fn words_are_those_that_are_known_in_their_place() {
        assert_eq!(word_here("ignore", &["stop", "continue", "fallback"]), Some("continue"));
        assert_eq!(word_here("Ignore", &["dlq", "retry", "skip", "stop"]), Some("skip"));
        assert_eq!(word_here("ignore", &["fixed", "linear"]), None);
    }

    #[test]
    fn no_name_stands_for_two_settings() {
        for table in [RETRY, BREAKER] {
            let mut names: Vec<_> = table.iter().flat_map(|row| row.names).collect();
            let all = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all);
            assert!(names.iter().all(|name| **name == plain(name)), "{names:?}");
        }
    }
}
