//! Leasing items that are due, or whose lease has expired.

use std::time::Duration;

use retry_workflow::Timestamp;
use retry_workflow::store::{Lease, LeaseKey, MAX_CLAIM_BYTES, Selection};
use tokio_postgres::Row;

use super::place::BEGINNING;
use super::shared::{Shared, Values};
use crate::server::columns::{column, limit, small, text, text_opt, unsigned};
use crate::server::text::encode;
use crate::server::{PooledClient, PostgresError};

/// The arguments of a claim.
#[derive(Debug)]
pub(crate) struct Claim {
    pub(crate) job: String,
    pub(crate) worker: String,
    pub(crate) now: Timestamp,
    pub(crate) selection: Selection,
    pub(crate) lease: Duration,
}

/// `$3` and `$4` are the place after which it begins. Rows that another transaction has locked are
/// skipped. `taken` has the previous lease of each row, which goes to the history if it was lost.
const CLAIM: &str = "\
WITH due AS MATERIALIZED (
    SELECT s.item, s.due, s.state, s.token, s.run, s.attempt, s.worker, s.started, s.checkpoint,
        s.lost + (s.state = 1 AND s.started IS NOT NULL AND s.lost < 2147483647)::integer AS lost,
        s.dropped + (s.state = 1 AND s.started IS NULL AND s.dropped < 2147483647)::integer
            AS dropped
    FROM @states s
    WHERE s.job = $1 AND s.suspect = $5::smallint AND s.due IS NOT NULL AND s.due <= $2
        AND (s.due, s.item) > ($3::bigint, $4::bigint)
    ORDER BY s.due, s.item LIMIT $6::bigint
    FOR UPDATE SKIP LOCKED
), sized AS (
    SELECT d.*, i.id, i.correlation, i.payload,
        row_number() OVER (ORDER BY d.due, d.item) AS place,
        sum(octet_length(i.payload)::bigint) OVER (ORDER BY d.due, d.item) AS bytes
    FROM due d JOIN @items i ON i.job = $1 AND i.item = d.item
), taken AS MATERIALIZED (
    SELECT * FROM sized WHERE bytes - octet_length(payload) < $7::bigint
), leased AS (
    UPDATE @states s SET state = 1, due = $8::bigint, token = t.token + 1,
        attempt = least(t.attempt + 1, 4294967295), lost = t.lost, dropped = t.dropped,
        suspect = (t.lost::bigint + t.dropped >= 1)::integer, worker = $9::bigint,
        started = CASE WHEN t.place <= $10::bigint THEN $11::bigint END
    FROM taken t WHERE s.item = t.item
), written AS (
    INSERT INTO @history (item, token, run, attempt, started, duration, wait, worker, part, outcome)
    SELECT item, token, run, attempt, started,
        least(greatest(due::numeric - started, 0), 9223372036854775807)::bigint,
        0, worker, 0, 2
    FROM taken WHERE state = 1 AND started IS NOT NULL
), counted AS (
    UPDATE @counts c SET pending = c.pending - n.pending, leased = c.leased + n.pending,
        lost = c.lost + n.lost
    FROM (SELECT count(*) FILTER (WHERE state = 0) AS pending,
            count(*) FILTER (WHERE state = 1 AND started IS NOT NULL) AS lost FROM taken) n
    WHERE c.job = $1 AND c.shard = mod(pg_backend_pid(), 16)::smallint
        AND (n.pending > 0 OR n.lost > 0)
)
SELECT item, token + 1, run, least(attempt + 1, 4294967295), lost::bigint, dropped::bigint,
    checkpoint, id, correlation, payload, due
FROM taken ORDER BY place";

/// Finds what a claim leased whose answer was lost: its leases all expire at exactly that moment.
const CLAIMED: &str = "\
SELECT s.item, s.token, s.run, s.attempt, s.lost::bigint, s.dropped::bigint, s.checkpoint, i.id,
    i.correlation, i.payload, s.due
FROM @states s JOIN @items i ON i.job = s.job AND i.item = s.item
WHERE s.job = $1 AND s.suspect IN (0, 1) AND s.due = $2 AND s.worker = $3 AND s.state = 1
ORDER BY s.item LIMIT $4::bigint";

/// `maybe_done`: an earlier attempt at this claim was cut off.
pub(crate) async fn claim(
    client: &PooledClient,
    shared: &Shared,
    claim: &Claim,
    maybe_done: bool,
) -> Result<Vec<Lease>, PostgresError> {
    let Claim { job, worker, now, selection, lease } = claim;
    let Some(job) = shared.find_job(client, job).await? else { return Ok(Vec::new()) };
    let worker = shared.worker(client, worker).await?;
    let until = (*now + *lease).as_micros();
    // An item due at the end of time never is.
    let at = now.as_micros();
    let due_by = at.min(i64::MAX - 1);
    let (is_suspect, max, starts) = selection.bounds();
    let suspect = i16::from(is_suspect);
    if max == 0 {
        return Ok(Vec::new());
    }
    if maybe_done {
        let values: Values<'_> = &[&job, &until, &worker, &limit(max)];
        let claimed = shared.query(client, CLAIMED, values).await?;
        if !claimed.is_empty() {
            return claimed.iter().map(leased).collect();
        }
    }
    let look = async |behind: (i64, i64), max: usize, starts: usize, bytes: usize| {
        let bytes = limit(MAX_CLAIM_BYTES.saturating_sub(bytes));
        let values: Values<'_> = &[
            &job,
            &due_by,
            &behind.0,
            &behind.1,
            &suspect,
            &limit(max),
            &bytes,
            &until,
            &worker,
            &limit(starts),
            &at,
        ];
        let rows = shared.query(client, CLAIM, values).await?;
        let leases = rows.iter().map(leased).collect::<Result<Vec<_>, _>>()?;
        let last =
            rows.last().map(|row| Ok::<_, PostgresError>((column(row, 10)?, column(row, 0)?)));
        Ok::<_, PostgresError>((leases, last.transpose()?))
    };
    if is_suspect {
        return Ok(look(BEGINNING, max, starts, 0).await?.0);
    }
    let from = shared.places.of(job);
    // What is leased for no time is due again at once, before the place that the claim has come to.
    let lasts = until > at;
    let place = if lasts { from.place } else { BEGINNING };
    let (mut leases, mut last) = look(place, max, starts, 0).await?;
    let bytes = leases.iter().map(|lease| lease.payload.len()).sum::<usize>();
    if leases.len() < max && bytes < MAX_CLAIM_BYTES && place != BEGINNING {
        let rest = starts.saturating_sub(leases.len());
        match look(BEGINNING, max - leases.len(), rest, bytes).await {
            Ok((more, end)) => {
                leases.extend(more);
                last = last.max(end);
            }
            // What is leased stays leased: the rest comes with the next claim.
            Err(error) if !leases.is_empty() => {
                tracing::debug!(error = &error as &dyn std::error::Error, "a claim was cut short");
            }
            Err(error) => return Err(error),
        }
    }
    if let Some(last) = last.filter(|_| lasts) {
        shared.places.advance_to(job, from, last);
    }
    Ok(leases)
}

fn leased(row: &Row) -> Result<Lease, PostgresError> {
    let key = LeaseKey { item: column(row, 0)?, token: unsigned(row, 1)? };
    let mut lease = Lease::new(key, text(row, 7)?, text(row, 9)?);
    lease.run = small(row, 2)?;
    lease.attempt = small(row, 3)?;
    lease.lost = small(row, 4)?;
    lease.dropped = small(row, 5)?;
    lease.checkpoint = text_opt(row, 6)?;
    lease.correlation = text_opt(row, 8)?;
    Ok(lease)
}

pub(crate) async fn expire(
    client: &PooledClient,
    shared: &Shared,
    job: &str,
    workers: &[String],
    now: Timestamp,
) -> Result<u64, PostgresError> {
    let Some(job) = shared.find_job(client, job).await? else { return Ok(0) };
    let workers: Vec<_> = workers.iter().map(|worker| encode(worker)).collect();
    let now = now.as_micros();
    shared
        .execute(
            client,
            "UPDATE @states s SET due = $3 WHERE s.job = $1 AND s.suspect IN (0, 1) \
             AND s.due > $3 AND s.state = 1 \
             AND s.worker = ANY (ARRAY(SELECT worker FROM @workers WHERE name = ANY ($2)))",
            &[&job, &workers, &now],
        )
        .await
}
