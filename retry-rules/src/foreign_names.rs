//! The names of other libraries and tools, with what is written here instead.
//!
//! None of these names is accepted; an error about one says what to write.

use std::borrow::ToOwned as _;
use std::format;
use std::string::{String, ToString as _};

/// Names, separated by spaces, and the cure for all of them: a name, or a setting with an example of
/// its value, in the syntax of the attribute.
///
/// The names are in lower case, without `_`, `-` and a leading `with`.
pub type ForeignName = (&'static str, &'static str);

/// Settings that count retries, where ours count attempts.
const RETRIES: ForeignName = (
    "retries retry maxretries numretries maxtimes maxretry nretries maxretryattempts retryattempts \
     retrycount retrylimit take",
    "attempts",
);

/// Settings of retries in backoff, backon, failsafe, Polly, p-retry, resilience4j, seatbelt,
/// Spring, tenacity, tokio-retry and tower, and words that people try.
pub const RETRY: &[ForeignName] = &[
    RETRIES,
    (
        "tries times stop stopafterattempt maxtries totalattempts attempt maxattempt numattempts \
         maxattempts count limit max stopmaxattemptnumber",
        "attempts",
    ),
    (
        "backofftype strategy backoffstrategy backoffpolicy curve enableexponentialbackoff \
         exponentialbackoff waitexponential exponentialbuilder",
        "backoff = exponential",
    ),
    (
        "base factor multiplier backofffactor exponentialbase exponentialbackoffmultiplier \
         backoffmultiplier backoffcoefficient",
        "backoff = exponential(base = 2.0)",
    ),
    ("fibonaccibuilder fibonaccibackoff", "backoff = fibonacci"),
    ("delays waits intervals schedule", "backoff = custom(\"1s\", \"5s\")"),
    (
        "waitfixed fixeddelay fixedinterval constant constantbuilder constantbackoff",
        "backoff = fixed, initial_delay = \"1s\"",
    ),
    (
        "delay initial initialinterval mindelay interval wait basedelay initialbackoff minwait minbackoff \
         backoffmin delayfactor initialwait startdelay waitduration mintimeout delayms retrydelay waitms \
         retrywaitseconds waitseconds delayseconds retrydelayseconds",
        "initial_delay",
    ),
    (
        "maxinterval maxbackoff backoffmax maxwait delaymax maximumdelay maxdelayms maxtimeout \
         maxwaitduration exponentialmaxwaitduration maxretrydelay",
        "max_delay",
    ),
    (
        "usejitter randomize random enablerandomizedwait jitterfactor randomizationfactor \
         randomizedwaitfactor",
        "jitter",
    ),
    ("retrybudget totaldelay maxtotaldelay", "budget"),
    ("totaltimeout maxduration overalltimeout giveupafter", "deadline"),
    ("maxelapsedtime stopafterdelay maxretrytime maxtime retryfor", "max_elapsed"),
    ("retryaftermax", "max_retry_after"),
    ("attempttimeout pertrytimeout calltimeout timeoutperattempt", "timeout"),
    ("maxhedges hedges maxhedgedattempts", "hedge(after = \"200ms\", max = 2)"),
    (
        "retryif condition when shouldhandle shouldretry handle predicate retrypredicate \
         retryonexceptionpredicate retryonresultpredicate recovery isretryable retrywhen",
        "retry_on = [when(f)]",
    ),
    ("classifyresponse retryonresponse", "retry_on = [ok(f)]"),
    ("retryexceptions retryonexceptions exceptions on include retryiferror", "retry_on"),
    ("retryifexceptiontype onexceptions onerrors errors", "retry_on"),
    (
        "ignoreexceptions exclude noretryfor giveup abortif ignore unless except donotretryon \
         noretryon skipon dontretryon permanent",
        "abort_on",
    ),
    (
        "fallbackmethod fallback recover recoverwith retryerrorcallback orelse default",
        "on_failure = fallback(f)",
    ),
    ("maperr errormapper retryerrorcls exhaustederror", "map_error = f"),
    (
        "notify beforesleep onbackoff onfailedattempt afterretry beforeretry onretries",
        "on_retry = f",
    ),
    ("circuitbreaker cb", "breaker"),
    (
        "tripon recordexceptions readytotrip isfailure issuccessful failurepredicate \
         recordfailurepredicate failureclassifier",
        "breaker_on = [server_error, timeout]",
    ),
    ("waitwhenopen waitforbreaker", "when_open = wait"),
    ("cancellation abort shutdown cancellationtoken signal", "cancel = shutdown.cancelled()"),
    ("config retryconfig retrypolicy options", "policy"),
];

/// Settings of retries for which there is not one cure: what to write, in a sentence.
pub const RETRY_ADVICE: &[ForeignName] = &[
    (
        "sleep pause",
        "use `initial_delay` for the first wait, or `budget` for all waits of a call together",
    ),
    (
        "reraise raiselast rethrow",
        "remove it, because the caller gets the last error anyway; return `Result<T, \
         RetryError<E>>` to know why the retries ended",
    ),
    (
        "resetafter resettimeout reset",
        "remove it, because each call begins with all of its attempts; to start again after a \
         session that worked, call `cx.reset()` (`context = cx`)",
    ),
    (
        "delayfor waitfor delayby",
        "use `wait_by`, a function of the attempt, the failure and the wait that is due, which \
         returns `ControlFlow::Continue` with the wait that follows, or `Break(())` to give up",
    ),
    (
        "state shared",
        "remove it; what all attempts share is a `&mut` argument, or a variable before \
         `retrying!(…)`",
    ),
    (
        "onerror onfail",
        "use `on_retry` for each failure that is retried, or `on_failure` for the last one",
    ),
];

/// Settings of breakers for which there is none: what to write, in a sentence.
pub const BREAKER_ADVICE: &[ForeignName] = &[
    (
        "onstatechange ontransition onopen onopened onclose onclosed onhalfopen onbreak onreset listener",
        "a listener is added to a breaker that is a `static`: `DB.on_transition(listener)`, with \
         `breaker = DB`",
    ),
    (
        "automatictransitionfromopentohalfopenenabled autoreset",
        "remove it, because the first call after the open time is a probe",
    ),
];

/// Settings of circuit breakers in failsafe, gobreaker, Hystrix, Polly, recloser, resilience4j, seatbelt
/// and tower-resilience.
pub const BREAKER: &[ForeignName] = &[
    (
        "threshold failures consecutivefailures maxfailures failurecount failmax maxerrors \
         consecutiveerrors failurelimit errorcount tripafter tripthreshold openafter maxfails \
         allowedfailures failuresallowed errorlimit exceptionsallowedbeforebreaking \
         handledeventsallowedbeforebreaking",
        "failure_threshold",
    ),
    (
        "failureratethreshold errorthresholdpercentage failurepercentage failurepercent \
         errorpercentthreshold errorpercentage failurethresholdpercentage",
        "failure_rate = 0.5",
    ),
    ("failureratio errorrate errorthreshold failurethresholdratio", "failure_rate"),
    ("slidingwindowsize windowsize closedlen buckets rollingwindowsize", "window_calls"),
    (
        "samplingduration window slidingwindow rollingwindow interval windowduration \
         timewindow slidingwindowduration samplingperiod period",
        "window_time",
    ),
    (
        "minimumthroughput minimumnumberofcalls mincalls minrequests minimumrequests \
         minthroughput requestvolumethreshold volumethreshold minimumnumberofrequests",
        "minimum_calls",
    ),
    ("slowcalldurationthreshold slowcallduration slowthreshold slowafter", "slow_call"),
    ("slowcallratethreshold", "slow_rate = 0.5"),
    (
        "resettimeout opentimeout breakduration openwait openduration durationofbreak openfor \
         waitdurationinopenstate waitdurationinopen openstateduration opentime breaktime",
        "timeout",
    ),
    (
        "wait waitduration sleepwindow sleep cooldown cooldownperiod resetafter resettime reset \
         recoverytimeout recoverytime recovery halfopenafter halfopentimeout delay",
        "timeout",
    ),
    ("growth multiplier backoff", "timeout_growth"),
    ("maxopentimeout", "max_timeout"),
    (
        "permittednumberofcallsinhalfopenstate halfopenlen halfopenmaxcalls probes trials \
         permittedcalls halfopencalls halfopenmaxrequests maxrequests trialcalls maxprobes \
         permittedcallsinhalfopen halfopenattempts halfopenprobes halfopenlimit",
        "half_open_requests",
    ),
    (
        "successes consecutivesuccesses requiredsuccesses closeafter successcount",
        "success_threshold",
    ),
    ("enabled disabled dryrun", "observe_only = true"),
];

/// Settings of retry quotas in the AWS SDKs, Finagle, gRPC and linkerd.
pub const QUOTA: &[ForeignName] = &[
    ("maxtokens tokens size bucketsize max limit burst maxcapacity", "capacity"),
    (
        "refill refillrate rate persecond tokenspersecond minretriespersec \
         minretriespersecond",
        "refill_per_sec",
    ),
    ("cost tokencost", "retry_cost"),
    ("refund tokenratio", "success_refund"),
    ("ratio retryratio percentcanretry budgetpercent percent", "share"),
];

/// Settings of a curve.
pub const BACKOFF: &[ForeignName] = &[
    ("factor exponentialbase ratio growth", "base"),
    ("step by add", "increment"),
    ("start min first", "initial"),
    ("list waits values", "delays"),
];

/// Words for values.
const VALUES: &[ForeignName] = &[
    ("ignore pass warn proceed skip resume", "continue"),
    ("ignore pass warn proceed resume continue next", "skip"),
    ("fail abort exit halt raise break", "stop"),
    ("deadletter dead park quarantine", "dlq"),
    ("constant static const flat none", "fixed"),
    ("exp expo double doubling geometric", "exponential"),
    ("fibo fib", "fibonacci"),
    ("infinite forever infinity always endless inf", "unlimited"),
    // No bound, but not a number of attempts.
    ("none never", "none"),
    (
        "http5xx 5xx http500 http502 http503 http504 server unavailable internal serviceunavailable badgateway",
        "server_error",
    ),
    ("throttle throttled throttling toomanyrequests http429", "rate_limit"),
    ("connection io", "network"),
    ("connectionrefused refused dns notsent", "connect"),
    ("deadlock locked serialization busy", "conflict"),
    ("all any temporary retryable retriable retry", "transient"),
    ("permanent fatal none ignore abort terminal unretryable nonretryable noretry", "never"),
    ("source from inner", "transparent"),
    ("regex regexp re text contains", "pattern"),
    ("on yes", "true"),
    ("off no", "false"),
];

/// Returns the value that is written for this word here, if it is one of the `known`.
pub fn word_here<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    rows(word, VALUES).find_map(|(_, here)| known.iter().copied().find(|known| known == here))
}

/// A name as it is compared: without case, `_` and `-`, and without a leading `with`.
pub fn plain(word: &str) -> String {
    let letters = word.chars().filter(|letter| !matches!(letter, '_' | '-'));
    let plain = letters.flat_map(char::to_lowercase).collect::<String>();
    match plain.strip_prefix("with") {
        Some(rest) if !rest.is_empty() => rest.to_owned(),
        _ => plain,
    }
}

/// Returns the rows with this name.
fn rows<'t>(
    word: &str,
    table: &'t [ForeignName],
) -> impl Iterator<Item = &'t ForeignName> + use<'t> {
    let word = plain(word);
    table.iter().filter(move |(names, _)| names.split(' ').any(|name| name == word))
}

/// Returns the cures for a setting that is called `word` elsewhere, with the value `written` there.
///
/// A value that is another setting, such as `stop = stop_after_delay(30)`, is what counts.
pub fn cures(word: &str, written: &str, table: &[ForeignName]) -> impl Iterator<Item = String> {
    let (call, inside) = written.trim().split_once('(').unwrap_or_default();
    let count = inside.trim_end_matches(')');
    let is_setting = |name: &&str| rows(name, table).next().is_some();
    let setting = Some(word).filter(is_setting).and_then(|_| call.rsplit("::").find(is_setting));
    rows(setting.unwrap_or(word), table).map(move |row| match attempts_for(written) {
        // The only value that is converted: taken over as it is, it would make one call less.
        Some(attempts) if *row == RETRIES => format!("attempts = {attempts}"),
        _ if written.is_empty() => row.1.to_owned(),
        _ if row.1 == "attempts" && count.parse::<u32>().is_ok() => format!("attempts = {count}"),
        _ => match row.1.strip_suffix(" = f") {
            Some(name) => format!("{name} = {}", function(written)),
            None => row.1.replace("(f)", &format!("({})", function(written))),
        },
    })
}

/// Returns the function that is `written`, or else the `f` of a cure: a value there may be a
/// function's name in quotes, or no function.
fn function(written: &str) -> &str {
    let function = written.trim();
    let is_closure = function.starts_with('|') && !function.starts_with("||");
    // The name of a constant is in upper case.
    let name = function.rsplit("::").next().unwrap_or_default();
    let is_name = name.starts_with(|first: char| first.is_lowercase() || first == '_')
        && function.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | ':'));
    let is_function = is_closure || is_name && !matches!(name, "true" | "false");
    if is_function { function } else { "f" }
}

/// Returns the cure as it is written in a file.
pub fn in_file(cure: &str) -> String {
    let Some((name, value)) = cure.split_once(" = ") else { return cure.to_owned() };
    match value.split_once('(') {
        Some((kind, setting)) if setting.contains(" = ") => {
            let setting = setting.trim_end_matches(')').replace(" = ", ": ");
            format!("{name}: {{ {kind}: {{ {setting} }} }}")
        }
        // The value is code.
        Some(_) => name.to_owned(),
        None => cure.replace(" = ", ": ").replace('"', ""),
    }
}

/// Returns whether a word counts retries elsewhere; the setting here counts attempts.
pub fn counts_retries(word: &str) -> bool {
    rows(word, &[RETRIES]).next().is_some()
}

/// Returns the number of attempts that is the same as this number of retries.
pub fn attempts_for(retries: &str) -> Option<String> {
    let retries: u32 = retries.trim().replace('_', "").parse().ok()?;
    Some(retries.saturating_add(1).to_string())
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    #[test]
    fn names_are_known_whatever_their_case_and_their_underscores() {
        for (word, value, here) in [
            ("MaxRetryAttempts", "3", "attempts = 4"),
            ("with_max_times", "4", "attempts = 5"),
            ("retries", "LIMIT", "attempts"),
            ("stop", "stop_after_attempt(3)", "attempts = 3"),
            ("stop", "stop_after_delay(30)", "max_elapsed"),
            ("wait", "wait_fixed(2)", "backoff = fixed, initial_delay = \"1s\""),
            ("minTimeout", "1_000", "initial_delay"),
            ("UseJitter", "true", "jitter"),
            ("multiplier", "3", "backoff = exponential(base = 2.0)"),
            ("circuit_breaker", "\"db\"", "breaker"),
            ("delay", "tokio_retry::FixedInterval(100)", "backoff = fixed, initial_delay = \"1s\""),
            ("delay", "settings().delay()", "initial_delay"),
            ("recover", "|_| 0", "on_failure = fallback(|_| 0)"),
            ("retry_if", "errors::is_busy", "retry_on = [when(errors::is_busy)]"),
            ("notify", "log", "on_retry = log"),
            ("notify", "self.log", "on_retry = f"),
            ("condition", "is_busy(3)", "retry_on = [when(f)]"),
            ("retry_if", "\"is_busy\"", "retry_on = [when(f)]"),
            ("fallback_method", "\"recover\"", "on_failure = fallback(f)"),
            ("default", "0", "on_failure = fallback(f)"),
            ("default", "true", "on_failure = fallback(f)"),
            ("default", "Config::DEFAULT", "on_failure = fallback(f)"),
            ("or_else", "|| 0", "on_failure = fallback(f)"),
        ] {
            let cure = cures(word, value, RETRY).next();
            assert_eq!(cure.as_deref(), Some(here), "{word} = {value}");
        }
        assert_eq!(cures("colour", "delay(3)", RETRY).next(), None);
    }

    #[test]
    fn files_have_their_own_form() {
        for (word, value, table, here) in [
            ("retries", "3", RETRY, "attempts: 4"),
            ("factor", "1.5", RETRY, "backoff: { exponential: { base: 2.0 } }"),
            ("wait_fixed", "2", RETRY, "backoff: fixed, initial_delay: 1s"),
            ("fallback", "f", RETRY, "on_failure"),
            ("failureRateThreshold", "50", BREAKER, "failure_rate: 0.5"),
        ] {
            let cure = cures(word, value, table).next().expect("a name of the table");
            assert_eq!(in_file(&cure), here, "{word}: {value}");
        }
    }

    #[test]
    fn foreign_words_are_recognised_by_position() {
        assert_eq!(word_here("ignore", &["stop", "continue", "fallback"]), Some("continue"));
        assert_eq!(word_here("Ignore", &["dlq", "retry", "skip", "stop"]), Some("skip"));
        assert_eq!(word_here("ignore", &["fixed", "linear"]), None);
        assert_eq!(word_here("forever", &["unlimited"]), Some("unlimited"));
        assert_eq!(word_here("never", &["unlimited"]), None);
    }

    #[test]
    fn no_name_stands_for_two_settings() {
        let retry = RETRY.iter().chain(RETRY_ADVICE);
        for table in [retry.collect::<Vec<_>>(), BREAKER.iter().collect(), QUOTA.iter().collect()] {
            let mut names: Vec<_> = table.iter().flat_map(|(names, _)| names.split(' ')).collect();
            let all = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all);
        }
        for (names, _) in [RETRY, RETRY_ADVICE, BREAKER, BREAKER_ADVICE, QUOTA, VALUES].concat() {
            assert!(names.split(' ').all(|name| name == plain(name)), "{names}");
        }
    }
}
