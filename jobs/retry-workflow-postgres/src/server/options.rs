//! [`PostgresOptions`]: how to connect to a server, and where in it a store is.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// The options for opening a [`PostgresStore`](crate::PostgresStore).
///
/// ```no_run
/// # use std::time::Duration;
/// # use retry_workflow_postgres::PostgresOptions;
/// # async fn open() -> Result<(), Box<dyn std::error::Error>> {
/// let store = PostgresOptions::default()
///     .schema("billing")
///     .patience(Duration::from_secs(30))
///     .connect("postgres://ada@db.example.com/jobs")
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "options do nothing until a store is opened with them"]
pub struct PostgresOptions {
    pub(crate) schema: String,
    pub(crate) pool_size: usize,
    pub(crate) statement_timeout: Duration,
    pub(crate) patience: Duration,
    pub(crate) must_exist: bool,
    pub(crate) root_certificates: Option<PathBuf>,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            schema: "retry".to_owned(),
            pool_size: 8,
            statement_timeout: Duration::from_secs(30),
            patience: Duration::from_secs(120),
            must_exist: false,
            root_certificates: None,
        }
    }
}

impl PostgresOptions {
    retry_rules::accessors! {
        /// Sets the schema that the tables are in; `retry` by default. Each schema is a separate
        /// store.
        ///
        /// ```
        /// # use retry_workflow_postgres::PostgresStore;
        /// let options = PostgresStore::options().schema("billing");
        /// ```
        pub fn schema(self, schema: impl Into<String>) -> Self { schema: schema.into() }

        /// Sets the maximum number of connections; 8 by default. `LISTEN` needs one more.
        ///
        /// ```
        /// # use retry_workflow_postgres::PostgresStore;
        /// let options = PostgresStore::options().pool_size(16);
        /// ```
        pub fn pool_size(self, connections: usize) -> Self { pool_size: connections }

        /// Sets how long a statement may take before the server ends it and it is retried; 30 s by
        /// default.
        ///
        /// ```
        /// # use std::time::Duration;
        /// # use retry_workflow_postgres::PostgresStore;
        /// let options = PostgresStore::options().statement_timeout(Duration::from_secs(5));
        /// ```
        pub fn statement_timeout(self, timeout: Duration) -> Self { statement_timeout: timeout }

        /// Sets how long operations are retried while the server cannot be reached, is restarted or
        /// is being replaced; 2 min by default. Opening the store is retried for a few seconds at
        /// most.
        ///
        /// A read-only server is one that is being replaced, once it has accepted a write of this
        /// process; before, it is an error at once.
        ///
        /// ```
        /// # use std::time::Duration;
        /// # use retry_workflow_postgres::PostgresStore;
        /// let options = PostgresStore::options().patience(Duration::from_secs(30));
        /// ```
        pub fn patience(self, patience: Duration) -> Self { patience: patience }

        /// Sets whether the store must exist already; `false` by default: missing tables are
        /// created.
        ///
        /// ```
        /// # use retry_workflow_postgres::PostgresStore;
        /// let options = PostgresStore::options().must_exist(true);
        /// ```
        pub fn must_exist(self, must_exist: bool) -> Self { must_exist: must_exist }
    }

    /// Trusts the certificates in this file (PEM) instead of those that the machine trusts, and
    /// verifies the server's certificate even with `sslmode=prefer`.
    ///
    /// ```
    /// # use retry_workflow_postgres::PostgresStore;
    /// let options = PostgresStore::options().root_certificates("/etc/ssl/db.pem");
    /// ```
    pub fn root_certificates(mut self, file: impl Into<PathBuf>) -> Self {
        self.root_certificates = Some(file.into());
        self
    }
}

/// The address without its password, so that it may be shown.
pub(super) fn shown(config: &Config) -> String {
    let mut name = "postgres://".to_owned();
    if let Some(user) = config.get_user() {
        name.push_str(user);
        name.push('@');
    }
    let mut ports = config.get_ports().iter();
    let mut port = 5432;
    for (place, host) in config.get_hosts().iter().enumerate() {
        if place > 0 {
            name.push(',');
        }
        match host {
            Host::Tcp(host) => name.push_str(host),
            #[cfg(unix)]
            Host::Unix(folder) => name.push_str(&folder.to_string_lossy()),
        }
        port = *ports.next().unwrap_or(&port);
        if port != 5432 {
            let _infallible = write!(name, ":{port}");
        }
    }
    name.push('/');
    name.push_str(config.get_dbname().or(config.get_user()).unwrap_or_default());
    name
}

/// A name quoted for SQL, whatever is in it.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        for (url, name) in [
            ("postgres://ada:secret@db.example.com/jobs", "postgres://ada@db.example.com/jobs"),
            ("postgres://ada:secret@a:5433,b:5434/jobs", "postgres://ada@a:5433,b:5434/jobs"),
            ("host=/run/postgresql user=ada password=secret", "postgres://ada@/run/postgresql/ada"),
        ] {
            assert_eq!(shown(&url.parse().unwrap()), name);
        }
    }

    #[test]
    fn a_schema_is_a_name_whatever_is_in_it() {
        assert_eq!(quoted("a\"; DROP TABLE x; --"), "\"a\"\"; DROP TABLE x; --\"");
    }
}
