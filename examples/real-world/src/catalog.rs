//! A commit to a catalog of tables, through a trait whose futures have to be `Send`: after a
//! conflict, the table is read again, and the commit is based on its current version. The table's
//! properties say how often.

use std::fmt::Debug;
use std::time::Duration;

use retry_runtime::retry;

use crate::remote::Remote;

/// The reason why a commit failed.
#[derive(Clone, Debug, PartialEq)]
pub enum CommitError {
    /// Another commit came first.
    Conflict,
    /// It is not known whether the commit was made.
    Unknown,
    /// The table does not exist.
    NoSuchTable,
}

/// The retry properties of tables.
#[derive(Clone, Debug)]
pub struct Properties {
    /// The number of times that a commit is repeated.
    pub num_retries: u8,
    /// The first wait.
    pub min_wait: Duration,
    /// The longest wait.
    pub max_wait: Duration,
    /// The longest time that a commit may take.
    pub total_timeout: Option<Duration>,
}

/// A catalog of tables.
pub trait Catalog {
    /// Appends files to a table, and returns its new version.
    fn append(
        &self,
        table: &str,
        files: Vec<String>,
    ) -> impl Future<Output = Result<u64, CommitError>> + Send;
}

/// A catalog behind HTTP.
#[derive(Debug)]
pub struct RestCatalog {
    /// The service to call.
    pub remote: Remote<u64, CommitError>,
    /// The properties of its tables.
    pub properties: Properties,
}

impl Catalog for RestCatalog {
    #[retry(
        attempts = u32::from(self.properties.num_retries) + 1,
        initial_delay = self.properties.min_wait,
        max_delay = self.properties.max_wait,
        max_elapsed = self.properties.total_timeout,
        retry_on = [matches(CommitError::Conflict)],
    )]
    async fn append(&self, table: &str, files: Vec<String>) -> Result<u64, CommitError> {
        let version = self.remote.call(format!("GET {table}")).await?;
        let files = files.join(" ");
        self.remote.call(format!("POST {table} if {version}: {files}")).await
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, sleep};

    use super::*;
    use crate::remote::Answer::{self, Fails, Gives};
    use crate::remote::ms;

    impl RestCatalog {
        async fn append_by_hand(
            &self,
            table: &str,
            files: Vec<String>,
        ) -> Result<u64, CommitError> {
            let began = Instant::now();
            let mut backoff = self.properties.min_wait;
            let mut retries = 0;
            loop {
                let result = async {
                    let version = self.remote.call(format!("GET {table}")).await?;
                    let files = files.join(" ");
                    self.remote.call(format!("POST {table} if {version}: {files}")).await
                };
                let result = result.await;
                if result != Err(CommitError::Conflict) || retries == self.properties.num_retries {
                    return result;
                }
                let is_late = |limit| began.elapsed() + backoff > limit;
                if self.properties.total_timeout.is_some_and(is_late) {
                    return result;
                }
                sleep(backoff).await;
                backoff = (backoff * 2).min(self.properties.max_wait);
                retries += 1;
            }
        }
    }

    struct ByHand(RestCatalog);

    impl Catalog for ByHand {
        async fn append(&self, table: &str, files: Vec<String>) -> Result<u64, CommitError> {
            self.0.append_by_hand(table, files).await
        }
    }

    /// Polls the futures of a catalog on another task, as a server does.
    async fn spawned<C: Catalog + Send + Sync + 'static>(
        catalog: C,
    ) -> (Result<u64, CommitError>, C) {
        let task = tokio::spawn(async move {
            let result = catalog.append("t", vec!["a".to_owned(), "b".to_owned()]).await;
            (result, catalog)
        });
        task.await.expect("nothing panics")
    }

    #[tokio::test(start_paused = true)]
    async fn a_conflicting_commit_is_rebuilt_on_the_new_head() {
        let conflict = [Gives(1), Fails(CommitError::Conflict)];
        let with_end = |end: [Answer<_, _>; 2]| [conflict.clone(), end].concat();
        let scripts: [(Vec<Answer<_, _>>, Option<Duration>, u128); 5] = [
            (with_end([Gives(2), Gives(3)]), None, 100),
            (with_end([Gives(2), Fails(CommitError::Unknown)]), None, 100),
            (vec![Fails(CommitError::NoSuchTable)], None, 0),
            ([conflict.clone(), conflict.clone(), conflict.clone()].concat(), Some(ms(300)), 300),
            ([const { [Gives(1), Fails(CommitError::Conflict)] }; 5].concat(), None, 800),
        ];
        for (script, total_timeout, end) in scripts {
            let catalog = || RestCatalog {
                remote: Remote::new(script.clone()),
                properties: Properties {
                    num_retries: 4,
                    min_wait: ms(100),
                    max_wait: ms(250),
                    total_timeout,
                },
            };
            let (annotated, catalog_of_it) = spawned(catalog()).await;
            let (looped, ByHand(catalog_of_loop)) = spawned(ByHand(catalog())).await;
            assert_eq!(annotated, looped);
            assert_eq!(catalog_of_it.remote.log(), catalog_of_loop.remote.log());
            assert_eq!(catalog_of_it.remote.log().last().map(|(at, _)| *at), Some(end));
        }
    }
}
