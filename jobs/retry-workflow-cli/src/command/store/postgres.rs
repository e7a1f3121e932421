//! The address of a store on a Postgres server.

use std::fmt;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use retry_runtime::{Event, Listening, on_event};
use retry_workflow::StoreError;
use retry_workflow_postgres::{PostgresOptions, PostgresStore};

use crate::terminal::text::one_line;

/// The time for which operations wait for a server that cannot be reached or is being replaced.
const PATIENCE: Duration = Duration::from_secs(120);

/// The first attempts of an operation fail in silence: conflicts end sooner than this one.
const REPORTED_FROM: u32 = 3;

/// The shortest time between two lines about outages, because each operation has its own attempts.
const REPORT_INTERVAL: Duration = Duration::from_secs(60);

/// Calls `report` with each failed attempt of an operation that waits for the server: at first, and
/// once a minute, with a line to show.
pub(super) fn report_outages(report: fn(Option<&str>)) {
    static LISTENING: OnceLock<Listening> = OnceLock::new();
    LISTENING.get_or_init(|| {
        let reported = Mutex::new(None::<Instant>);
        on_event(move |event| {
            let Event::Retry { name, attempt, error, .. } = event else { return };
            if name.as_str() != "retry_workflow_postgres" || *attempt < REPORTED_FROM {
                return;
            }
            let is_due = {
                let mut reported = reported.lock();
                let is_due = reported.is_none_or(|at| at.elapsed() >= REPORT_INTERVAL);
                if is_due {
                    *reported = Some(Instant::now());
                }
                is_due
            };
            let line = is_due.then(|| {
                let most = retry_rules::duration::format(PATIENCE);
                format!("waiting up to {most} for the store: {}", one_line(&error.to_string()))
            });
            report(line.as_deref());
        })
    });
}

/// `postgres://user:password@host/database?schema=jobs`
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Server {
    url: String,
    /// The schema that has the tables; `None` for the default one.
    schema: Option<String>,
}

impl Server {
    /// Reads an address; mistakes in it are reported on connecting.
    pub(super) fn read(text: &str) -> Self {
        // `schema` is a parameter of ours, which the server does not know.
        let is_schema = |parameter: &&str| parameter.starts_with("schema=");
        let (url, parameters) = text.split_once('?').unwrap_or((text, ""));
        let schema = parameters.split('&').find(is_schema);
        let schema = schema.and_then(|it| Some(it.split_once('=')?.1.to_owned()));
        Self { url: with(url, parameters.split('&').filter(|it| !is_schema(it))), schema }
    }

    pub(super) async fn connect(&self, must_exist: bool) -> Result<PostgresStore, StoreError> {
        self.options().must_exist(must_exist).connect(&self.url).await
    }

    /// The SQL statements that create the tables, for workers with this role.
    pub(super) fn sql(&self, role: &str) -> String {
        self.options().sql(role)
    }

    fn options(&self) -> PostgresOptions {
        let options = PostgresStore::options().patience(PATIENCE);
        match &self.schema {
            Some(schema) => options.schema(schema),
            None => options,
        }
    }
}

fn with<'a>(url: &str, parameters: impl Iterator<Item = &'a str>) -> String {
    let parameters: Vec<_> = parameters.filter(|it| !it.is_empty()).collect();
    match parameters.as_slice() {
        [] => url.to_owned(),
        parameters => format!("{url}?{}", parameters.join("&")),
    }
}

/// Without the password, wherever it is written.
impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, rest) = self.url.split_once("://").unwrap_or(("postgres", &self.url));
        // A password may contain any character, `@` included: the last `@` ends it.
        let (user, rest) = rest.rsplit_once('@').unwrap_or(("", rest));
        let user = user.split(':').next().filter(|user| !user.is_empty());
        let (place, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let schema = self.schema.as_ref().map(|schema| format!("schema={schema}"));
        let shown = parameters.split('&').filter(|parameter| !parameter.contains("password"));
        let at = user.map_or_else(String::new, |user| format!("{user}@"));
        f.write_str(&with(&format!("{kind}://{at}{place}"), shown.chain(schema.as_deref())))
    }
}

retry_rules::partial_debug!(Server, |self| { address: &self.to_string() });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        for (text, shown) in [
            ("postgres://ada@db/jobs", "postgres://ada@db/jobs"),
            ("postgres://ada:s3cret@db:5433/jobs", "postgres://ada@db:5433/jobs"),
            ("postgresql://ada:s3/cr:et@x@db/jobs", "postgresql://ada@db/jobs"),
            ("postgres://:s3cret@db", "postgres://db"),
            (
                "postgres://db/jobs?user=ada&password=s3cret&schema=two&sslmode=require",
                "postgres://db/jobs?user=ada&sslmode=require&schema=two",
            ),
        ] {
            let server = Server::read(text);
            assert_eq!(server.to_string(), shown);
            assert!(!format!("{server:?}").contains("s3"), "{server:?}");
        }
    }

    #[test]
    fn the_schema_is_removed_from_the_address_of_the_server() {
        let server = Server::read("postgres://db/jobs?schema=two&sslmode=require");
        assert_eq!(server.url, "postgres://db/jobs?sslmode=require");
        assert_eq!(server.schema.as_deref(), Some("two"));
        assert_eq!(Server::read("postgres://db/jobs?schema=two").url, "postgres://db/jobs");
    }
}
