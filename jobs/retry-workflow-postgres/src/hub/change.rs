//! Changing a breaker's record: the rules decide, for one member at a time.

use retry_fleet::hub::Changed;
use retry_fleet::{Change, FleetBreaker, MemberId};
use retry_workflow::store::sql::micros;
use tokio_postgres::Row;

use super::HubTables;
use super::poll::record;
use crate::server::columns::columns;
use crate::server::text::encode;
use crate::server::{PooledClient, PostgresError};

const COLUMNS: &str = "epoch, until, probe_from, reopenings, probe_until, prober, held_until";

pub(super) async fn change(
    client: &mut PooledClient,
    hub: &HubTables,
    (fleet, breaker, member): &(String, String, MemberId),
    change: Change,
) -> Result<Changed, PostgresError> {
    let (fleet, breaker) = (encode(fleet), encode(breaker));
    // If many members request the same change, most of them are late, and read that without a lock.
    let select = hub
        .sql(&format!("SELECT $now, {COLUMNS} FROM @breakers WHERE fleet = $1 AND breaker = $2"));
    let statement = client.prepare_cached(&select).await?;
    match client.query_opt(&statement, &[&fleet, &breaker]).await? {
        Some(row) => {
            let seen = applied(&row, member, change)?;
            if !seen.done {
                return Ok(seen);
            }
        }
        None => {
            let add = "INSERT INTO @breakers (fleet, breaker, epoch) VALUES ($1, $2, 0) \
                       ON CONFLICT DO NOTHING";
            let statement = client.prepare_cached(&hub.sql(add)).await?;
            client.execute(&statement, &[&fleet, &breaker]).await?;
        }
    }

    let lock = client.prepare_cached(&format!("{select} FOR UPDATE")).await?;
    // Runs once the row is locked, for a fresh time: waiting for the lock may take long.
    let late = client.prepare_cached(&select).await?;
    let write = hub.sql(
        "UPDATE @breakers SET epoch = $3, until = $4, probe_from = $5, reopenings = $6, \
         probe_until = $7, prober = $8, held_until = $9 WHERE fleet = $1 AND breaker = $2",
    );
    let write = client.prepare_cached(&write).await?;
    let transaction = client.transaction().await?;
    transaction.query_one(&lock, &[&fleet, &breaker]).await?;
    let row = transaction.query_one(&late, &[&fleet, &breaker]).await?;
    let changed = applied(&row, member, change)?;
    if changed.done {
        let FleetBreaker { epoch, open, held_until } = &changed.record;
        let open = open.as_ref();
        let probe = open.and_then(|open| open.probe.as_ref());
        transaction
            .execute(
                &write,
                &[
                    &fleet,
                    &breaker,
                    &i64::try_from(*epoch).unwrap_or(i64::MAX),
                    &open.map(|open| micros(open.until)),
                    &open.map(|open| micros(open.probe_from)),
                    &open.map(|open| i64::from(open.reopenings)),
                    &probe.map(|(_, until)| micros(*until)),
                    &probe.map(|(holder, _)| encode(holder.as_str())),
                    &held_until.map(micros),
                ],
            )
            .await?;
    }
    transaction.commit().await?;
    Ok(changed)
}

/// Applies the change to a row: its time, then its record.
fn applied(row: &Row, member: &MemberId, change: Change) -> Result<Changed, PostgresError> {
    let mut columns = columns(row);
    let now = columns.duration()?;
    let mut record = record(&mut columns)?;
    let done = record.apply(member, change, now);
    Ok(Changed { now, done, record })
}
