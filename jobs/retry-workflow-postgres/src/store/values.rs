//! Small values, each with a revision.

use std::collections::HashMap;

use parking_lot::Mutex;
use retry_workflow::store::{Change, Choose};

use super::session::{Earlier, Session, Values};
use crate::server::columns::{column, columns, text};
use crate::server::text::{encode, prefix_end};
use crate::server::{PostgresError, PostgresResult};

pub(crate) async fn get(session: Session<'_>, key: &str) -> PostgresResult<Option<(u64, String)>> {
    let sql = "SELECT revision, value FROM @vals WHERE key = $1";
    let row = session.query_opt(sql, &[&encode(key)]).await?;
    let read = |row| {
        let mut columns = columns(&row);
        Ok((columns.count()?, columns.text()?))
    };
    row.map(read).transpose()
}

/// `maybe_done`: an earlier attempt was cut off. It succeeded if the value and its revision are
/// what it would have written.
pub(crate) async fn cas(
    session: Session<'_>,
    key: &str,
    value: &str,
    revision: u64,
    maybe_done: bool,
) -> PostgresResult<bool> {
    // A revision that is too large was never issued.
    let Ok(revision) = i64::try_from(revision) else { return Ok(false) };
    let (kept_key, kept_value) = (encode(key), encode(value));
    let changed = if revision == 0 {
        add_job_of(session, key).await?;
        let sql = "INSERT INTO @vals (key, revision, value) VALUES ($1, 1, $2) \
                   ON CONFLICT DO NOTHING";
        session.execute(sql, &[&kept_key, &kept_value]).await?
    } else {
        let sql = "UPDATE @vals SET revision = revision + 1, value = $3 \
                   WHERE key = $1 AND revision = $2";
        session.execute(sql, &[&kept_key, &revision, &kept_value]).await?
    };
    if changed == 1 || !maybe_done {
        return Ok(changed == 1);
    }
    let found = get(session, key).await?;
    Ok(found.is_some_and(|(now, found)| now == revision.unsigned_abs() + 1 && found == value))
}

pub(crate) async fn values(
    session: Session<'_>,
    prefix: &str,
) -> PostgresResult<Vec<(String, String)>> {
    let prefix = encode(prefix);
    let rows = match prefix_end(&prefix) {
        Some(end) => {
            let sql = "SELECT key, value FROM @vals WHERE key >= $1 AND key < $2 ORDER BY key";
            session.query(sql, &[&prefix, &end]).await?
        }
        None => {
            let sql = "SELECT key, value FROM @vals WHERE key >= $1 ORDER BY key";
            session.query(sql, &[&prefix]).await?
        }
    };
    rows.iter().map(|row| Ok((text(row, 0)?, text(row, 1)?))).collect()
}

/// A job exists as soon as its record does; one with neither a record nor items is not listed.
async fn add_job_of(session: Session<'_>, key: &str) -> PostgresResult<()> {
    match key.strip_prefix("job/") {
        Some(job) => session.add_job(job).await,
        None => Ok(()),
    }
}

/// Adds and changes values, and returns how many were added.
const UPDATE: &str = "\
WITH changed AS (
    UPDATE @vals v SET revision = v.revision + 1, value = u.value
    FROM unnest($1::text[], $2::text[]) AS u(key, value) WHERE v.key = u.key
), added AS (
    INSERT INTO @vals (key, revision, value)
    SELECT u.key, 1, u.value FROM unnest($3::text[], $4::text[]) AS u(key, value) ORDER BY u.key
    ON CONFLICT DO NOTHING RETURNING key
)
SELECT count(*), pg_current_xact_id()::text FROM added";

/// Returns the keys whose values have changed. `maybe_done`: an earlier attempt was cut off, and a
/// repetition would change what it has written.
pub(crate) async fn update(
    session: Session<'_>,
    (keys, change, earlier): &(Vec<String>, Mutex<Change>, Earlier<Vec<String>>),
    maybe_done: bool,
) -> PostgresResult<Vec<String>> {
    if maybe_done && let Some(changed) = session.committed(earlier).await? {
        return Ok(changed);
    }
    loop {
        session.begin().await?;
        match update_locked(session, keys, change, earlier).await {
            // Another session has added a value meanwhile: now there is a row to lock.
            Ok(None) => session.roll_back().await?,
            done => return session.end(done.map(Option::unwrap_or_default)).await,
        }
    }
}

/// As [`update`], in a transaction; `None` if a value that was missing has been added by another
/// session.
async fn update_locked(
    session: Session<'_>,
    keys: &[String],
    change: &Mutex<Change>,
    earlier: &Earlier<Vec<String>>,
) -> PostgresResult<Option<Vec<String>>> {
    let kept: Vec<_> = keys.iter().map(|key| encode(key)).collect();
    // Rows are locked in the order of their keys, as in every statement that locks several.
    let sql = "SELECT key, value FROM @vals WHERE key = ANY ($1) ORDER BY key FOR UPDATE";
    let rows = session.query(sql, &[&kept]).await?;
    let found = |row| Ok::<_, PostgresError>((text(row, 0)?, text(row, 1)?));
    let found = rows.iter().map(found).collect::<Result<HashMap<_, _>, _>>()?;
    let before: Vec<_> = keys.iter().map(|key| found.get(key).cloned()).collect();
    let mut after = before.clone();
    {
        let mut change = change.lock();
        change(&mut after)?;
    }
    let mut changed = Vec::new();
    let (mut known, mut new) = ((Vec::new(), Vec::new()), (Vec::new(), Vec::new()));
    for (((key, kept), before), after) in keys.iter().zip(&kept).zip(&before).zip(&after) {
        let Some(value) = after.as_ref().filter(|_| before != after) else { continue };
        let (keys, values) = if before.is_some() { &mut known } else { &mut new };
        keys.push(kept);
        values.push(encode(value));
        if before.is_none() {
            add_job_of(session, key).await?;
        }
        changed.push(key.clone());
    }
    if changed.is_empty() {
        return Ok(Some(changed));
    }
    let values: Values<'_> = &[&known.0, &known.1, &new.0, &new.1];
    let Some(row) = session.query_opt(UPDATE, values).await? else { return Ok(None) };
    let added: i64 = column(&row, 0)?;
    *earlier.lock() = Some((column(&row, 1)?, changed.clone()));
    Ok((usize::try_from(added) == Ok(new.0.len())).then_some(changed))
}

/// Returns what was found or added, and whether it was added. Writers of values wait until this is
/// done.
pub(crate) async fn find_or_insert(
    session: Session<'_>,
    prefix: &str,
    choose: &Mutex<Choose>,
) -> PostgresResult<((String, String), bool)> {
    session.begin().await?;
    session.end(choose_locked(session, prefix, choose).await).await
}

/// As [`find_or_insert`], in a transaction.
async fn choose_locked(
    session: Session<'_>,
    prefix: &str,
    choose: &Mutex<Choose>,
) -> PostgresResult<((String, String), bool)> {
    let lock = session.shared.sql("LOCK TABLE @vals IN SHARE ROW EXCLUSIVE MODE");
    session.client.batch_execute(&lock).await?;
    let known = values(session, prefix).await?;
    let chosen = {
        let mut choose = choose.lock();
        choose(&known)
    };
    let (key, value) = chosen?;
    // If there is one already, it stays.
    let is_new = cas(session, &key, &value, 0, false).await?;
    let found = if is_new { None } else { get(session, &key).await? };
    Ok(((key, found.map_or(value, |(_, value)| value)), is_new))
}
