//! Collects the failures of each client, and what the library makes of them.

use std::time::Duration;

use crate::judge::{CONTEXTS, Judged, Words, judge, texts};
use crate::report::{Case, Decision, Judgement, Report, Wrapping};

#[derive(Default)]
pub struct Suite {
    pub report: Report,
}

/// A client in a version, whose failures are being collected.
pub struct Client<'a> {
    suite: &'a mut Suite,
    name: &'static str,
    version: String,
    asks: Option<Duration>,
}

impl Suite {
    /// Begins with a client; `package` and `line` ("0.12") find its version in the lock file.
    ///
    /// # Panics
    /// There is no such package.
    pub fn client(&mut self, name: &'static str, package: &str, line: &str) -> Client<'_> {
        let version = locked(package, line).expect("a package of the lock file");
        Client { suite: self, name, version, asks: None }
    }

    /// Says aloud that a client is left out.
    ///
    /// # Panics
    /// With `RETRY_TEST_REQUIRE_CLIENTS` set, nothing may be left out.
    pub fn skip(&mut self, server: &str) {
        let why = format!("skipped: {server} is not installed");
        assert!(std::env::var_os("RETRY_TEST_REQUIRE_CLIENTS").is_none(), "{why}");
        eprintln!("{why}");
        self.report.skipped.push(server.to_owned());
    }
}

impl Client<'_> {
    /// The next failure's server asks for this wait.
    pub fn asking(&mut self, wait: Option<Duration>) -> &mut Self {
        self.asks = wait;
        self
    }

    /// A failure, with the decision of an experienced engineer. It is provoked again for each
    /// judgement, because few errors can be cloned.
    ///
    /// # Panics
    /// It does not fail within seconds.
    pub async fn case<E: Judged>(
        &mut self,
        failure: &str,
        decision: Decision,
        provoke: impl AsyncFn() -> E,
    ) {
        // A step that hangs reports its place.
        let provoke = async || {
            let soon = tokio::time::timeout(Duration::from_secs(15), provoke()).await;
            soon.unwrap_or_else(|_| panic!("it hangs: {}, {failure}", self.name))
        };
        let began = std::time::Instant::now();
        let context = CONTEXTS[self.suite.report.cases.len() % CONTEXTS.len()];
        let mut judgements = Vec::new();
        let texts = texts(&provoke().await);
        for wrapping in Wrapping::ALL {
            let verdict = judge(provoke().await, wrapping, context, Words::Transient);
            // Conflicts are also checked for being known as conflicts.
            let conflict = match decision {
                Decision::Conflict => {
                    judge(provoke().await, wrapping, context, Words::Conflict).matched
                }
                _ => false,
            };
            judgements.push(Judgement {
                wrapping,
                retried: verdict.matched,
                wait: verdict.wait,
                conflict,
                class: verdict.class,
                texts: verdict.texts,
            });
        }
        if std::env::var_os("RETRY_CLIENTS_TIMES").is_some() {
            eprintln!("{:>6} ms: {}, {failure}", began.elapsed().as_millis(), self.name);
        }
        self.suite.report.cases.push(Case {
            client: self.name.to_owned(),
            version: self.version.clone(),
            failure: failure.to_owned(),
            decision,
            asks: self.asks.take(),
            texts,
            judgements,
        });
    }
}

/// The error of something that has to fail.
///
/// # Panics
/// It succeeded.
#[track_caller]
pub fn error<T, E>(result: Result<T, E>) -> E {
    result.err().expect("a failure that was to be provoked")
}

/// The version of a package in the lock file, which the figures belong to.
fn locked(package: &str, line: &str) -> Option<String> {
    let lock = include_str!("../Cargo.lock");
    lock.split("[[package]]").find_map(|entry| {
        let field = |name: &str| {
            let value = entry.lines().find_map(|line| line.strip_prefix(name))?;
            value.strip_prefix(" = \"")?.strip_suffix('"')
        };
        let version = field("version")?;
        let fits = version.strip_prefix(line)?.starts_with('.');
        (field("name") == Some(package) && fits).then(|| version.to_owned())
    })
}
