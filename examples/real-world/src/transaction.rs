//! Optimistic transactions: the database rejects one that conflicts with another, and the whole
//! transaction is repeated. The work is the caller's, and borrows the transaction.

use retry_runtime::retry;

use crate::remote::Remote;

/// The reason why a statement failed.
#[derive(Clone, Debug, PartialEq)]
pub enum DbError {
    /// It conflicted with another transaction.
    Serialization,
    /// Two transactions were waiting for each other.
    Deadlock,
    /// A constraint is violated.
    Constraint(&'static str),
}

/// A connection to a database.
#[derive(Debug)]
pub struct Connection {
    /// The database.
    pub remote: Remote<u32, DbError>,
}

/// A transaction that has begun, and is not yet committed.
#[derive(Debug)]
pub struct Transaction<'a> {
    remote: &'a Remote<u32, DbError>,
}

impl Transaction<'_> {
    /// Runs a statement, and returns a number.
    ///
    /// # Errors
    /// The database's error.
    pub async fn run(&mut self, statement: &str) -> Result<u32, DbError> {
        self.remote.call(statement).await
    }
}

impl Connection {
    /// Does this work in a transaction, and repeats it while it conflicts with others.
    ///
    /// # Errors
    /// The last failure.
    #[retry(
        attempts = 5,
        initial_delay = "20ms",
        max_delay = "100ms",
        jitter = equal,
        retry_on = [matches(DbError::Serialization | DbError::Deadlock)],
    )]
    pub async fn transaction<T, F>(&mut self, mut work: F) -> Result<T, DbError>
    where
        F: AsyncFnMut(&mut Transaction<'_>) -> Result<T, DbError>,
    {
        self.remote.call("BEGIN ISOLATION LEVEL SERIALIZABLE").await?;
        let mut transaction = Transaction { remote: &self.remote };
        match work(&mut transaction).await {
            Ok(value) => {
                self.remote.call("COMMIT").await?;
                Ok(value)
            }
            Err(error) => {
                self.remote.call("ROLLBACK").await?;
                Err(error)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::SmallRng;
    use rand::{RngExt as _, SeedableRng};
    use tokio::time::sleep;

    use super::*;
    use crate::remote::Answer::{self, Fails, Gives};
    use crate::remote::ms;

    impl Connection {
        async fn transaction_by_hand<T, F>(
            &mut self,
            random: &mut SmallRng,
            mut work: F,
        ) -> Result<T, DbError>
        where
            F: AsyncFnMut(&mut Transaction<'_>) -> Result<T, DbError>,
        {
            let mut backoff = ms(20);
            let mut attempt = 1;
            loop {
                let result = async {
                    self.remote.call("BEGIN ISOLATION LEVEL SERIALIZABLE").await?;
                    let mut transaction = Transaction { remote: &self.remote };
                    match work(&mut transaction).await {
                        Ok(value) => {
                            self.remote.call("COMMIT").await?;
                            Ok(value)
                        }
                        Err(error) => {
                            self.remote.call("ROLLBACK").await?;
                            Err(error)
                        }
                    }
                };
                match result.await {
                    Err(DbError::Serialization | DbError::Deadlock) if attempt < 5 => {}
                    result => return result,
                }
                sleep(backoff.mul_f64(random.random_range(0.5..=1.0))).await;
                backoff = (backoff * 2).min(ms(100));
                attempt += 1;
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_transaction_is_done_again_as_a_whole() {
        let ok = || Gives(1);
        let conflict = || Fails(DbError::Serialization);
        let deadlock = || Fails(DbError::Deadlock);
        let broken = || Fails(DbError::Constraint("balance >= 0"));
        let lost = [ok(), deadlock(), ok()];
        let scripts: [(Vec<Answer<_, _>>, usize); 4] = [
            (vec![ok(), ok(), ok()], 1),
            (vec![ok(), ok(), conflict(), ok(), deadlock(), ok(), ok(), ok(), ok()], 3),
            (vec![ok(), broken(), ok()], 1),
            ([&lost; 5].into_iter().flatten().cloned().collect(), 5),
        ];
        for (script, attempts) in scripts {
            let trace = async |by_hand: bool| {
                let mut connection = Connection { remote: Remote::new(script.clone()) };
                let mut done = 0;
                let work = async |transaction: &mut Transaction<'_>| {
                    done += 1;
                    transaction.run("UPDATE accounts").await
                };
                let result = if by_hand {
                    let mut random = SmallRng::seed_from_u64(7);
                    connection.transaction_by_hand(&mut random, work).await
                } else {
                    connection.transaction(work).await
                };
                // Jitter is random, so each wait is checked separately.
                let log = connection.remote.log();
                let begins = log.iter().filter(|(_, request)| request.starts_with("BEGIN"));
                let begins: Vec<_> = begins.map(|(at, _)| *at).collect();
                for (wait, longest) in begins.windows(2).zip([20, 40, 80, 100]) {
                    let wait = wait[1] - wait[0];
                    // A tokio timer ends up to 1 ms late.
                    assert!((longest / 2..=longest + 1).contains(&wait), "{wait} of {longest}");
                }
                (result, done, connection.remote.requests())
            };
            let annotated = trace(false).await;
            assert_eq!(annotated.1, attempts);
            assert_eq!(annotated, trace(true).await);
        }
    }
}
