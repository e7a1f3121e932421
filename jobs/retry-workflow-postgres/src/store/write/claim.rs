//! Leasing items that are due, or whose lease has expired.

use std::sync::LazyLock;
use std::time::Duration;

use retry_workflow::Timestamp;
use retry_workflow::store::sql::{self, limit};
use retry_workflow::store::{Lease, MAX_CLAIM_BYTES, Selection};
use tokio_postgres::Row;

use crate::server::PostgresResult;
use crate::server::columns::{column, columns};
use crate::store::cursors::{ClaimCursor, LevelCursors, Position};
use crate::store::layout::{CLAIM_RANKS, LEVELS};
use crate::store::session::{Session, Values};

/// The arguments of a claim.
#[derive(Debug)]
pub(crate) struct Claim {
    pub(crate) job: String,
    pub(crate) worker: String,
    pub(crate) now: Timestamp,
    pub(crate) selection: Selection,
    pub(crate) lease: Duration,
}

/// The rows that wait in the queue `#`, by their priority, after the cursor `@AFTER`, `@MOST` at
/// most. Rows that another transaction has locked are skipped. Levels are looked at one after the
/// other, until there are enough rows.
const QUEUED: &str = "\
SELECT @TURN AS turn, q.* FROM levels l CROSS JOIN LATERAL (
    SELECT l.level, s.item, s.due, s.state, s.token, s.run, s.attempt, s.worker, s.started,
        s.checkpoint, s.lost, s.dropped
    FROM @states s
    WHERE s.job = $1 AND s.claim_rank = 4 * l.priority + # AND s.due IS NOT NULL AND s.due <= $2
        AND (s.due, s.item) > (@AFTER)
    ORDER BY s.due, s.item LIMIT @MOST
    FOR UPDATE SKIP LOCKED) q LIMIT @MOST";

/// `taken` has the previous lease of each row. A lost lease goes to the history; an `own` one is
/// renewed. `OFFSET 0`
/// has each item looked up by its key: the number of rows that are due cannot be estimated, and a
/// join with all items of the job would look cheap.
const CLAIM: &str = "\
WITH @LEVELS, @QUEUES, sized AS (
    SELECT d.*, i.id, i.correlation, i.payload, d.state = 1 AND d.worker = $4::bigint AS own,
        row_number() OVER (ORDER BY d.turn, d.level, d.due, d.item) AS place,
        sum(octet_length(i.payload)::bigint) OVER (ORDER BY d.turn, d.level, d.due, d.item) AS bytes
    FROM due d CROSS JOIN LATERAL (
        SELECT id, correlation, payload FROM @items WHERE job = $1 AND item = d.item OFFSET 0) i
), taken AS MATERIALIZED (
    SELECT place, item, due, token, run, attempt, worker, started, checkpoint, id,
        correlation, payload, turn, level, own, state = 1 AND NOT own AS expired,
        token + (NOT own)::integer AS next_token,
        least(attempt + (NOT own)::integer, 4294967295) AS next_attempt,
        lost + (state = 1 AND NOT own AND started IS NOT NULL AND lost < 2147483647)::integer
            AS lost,
        dropped + (state = 1 AND NOT own AND started IS NULL AND dropped < 2147483647)::integer
            AS dropped
    FROM sized WHERE bytes - octet_length(payload) < $7::bigint
), leased AS (
    UPDATE @states s SET state = 1, due = $3::bigint, token = t.next_token,
        attempt = t.next_attempt, lost = t.lost, dropped = t.dropped,
        claim_rank = (s.claim_rank & -4)
            + CASE WHEN t.lost::bigint + t.dropped >= 1 THEN 1 ELSE 2 END,
        worker = $4::bigint, started = coalesce(CASE WHEN t.own THEN t.started END,
            CASE WHEN t.place <= $5::bigint THEN $6::bigint END)
    FROM taken t WHERE s.item = t.item
), written AS (
    INSERT INTO @history (item, token, run, attempt, started, duration, wait, worker, part, outcome)
    SELECT item, token, run, attempt, started,
        least(greatest(due::numeric - started, 0), 9223372036854775807)::bigint,
        0, worker, 0, 2
    FROM taken WHERE expired AND started IS NOT NULL
), counted AS (
    UPDATE @counts c SET pending = c.pending - n.pending, leased = c.leased + n.pending,
        lost = c.lost + n.lost
    FROM (SELECT count(*) FILTER (WHERE NOT own AND NOT expired) AS pending,
            count(*) FILTER (WHERE expired AND started IS NOT NULL) AS lost FROM taken) n
    WHERE c.job = $1 AND c.shard = mod(pg_backend_pid(), 16)::smallint
        AND (n.pending > 0 OR n.lost > 0)
)
SELECT item, next_token, run, next_attempt, lost, dropped,
    checkpoint, id, correlation, payload, due, turn, level
FROM taken ORDER BY place";

/// The cursor of a level, in parameters 9 and 10.
const BEGUN_AFTER: &str = "($9::bigint[])[l.level], ($10::bigint[])[l.level]";

/// The rows that wait in one queue, as `turn`.
fn queued(turn: &str, queue: &str, after: &str, most: &str) -> String {
    QUEUED
        .replace("@TURN", turn)
        .replace('#', queue)
        .replace("@AFTER", after)
        .replace("@MOST", most)
}

/// A claim of items that are no suspects. `$9` and `$10` are the cursors after which those that
/// have begun are looked for, one for each level, and `$11` and `$12` are the cursors for new ones;
/// `$13` is how many that have begun come first, `$8` how many items there are at most.
static CLAIM_ITEMS: LazyLock<String> = LazyLock::new(|| {
    let begun = queued("0", "2", BEGUN_AFTER, "$13::bigint");
    let new = queued(
        "1",
        "0",
        "($11::bigint[])[l.level], ($12::bigint[])[l.level]",
        "$8::bigint - (SELECT count(*) FROM begun)",
    );
    // The end of the first ones: this statement would lock them again.
    let rest = queued(
        "2",
        "2",
        "coalesce((SELECT b.due FROM begun b WHERE b.level = l.level \
             ORDER BY b.due DESC, b.item DESC LIMIT 1), ($9::bigint[])[l.level]), \
         coalesce((SELECT b.item FROM begun b WHERE b.level = l.level \
             ORDER BY b.due DESC, b.item DESC LIMIT 1), ($10::bigint[])[l.level])",
        // If there were fewer than so many, there are no more.
        "CASE WHEN (SELECT count(*) FROM begun) < $13::bigint THEN 0 ELSE $8::bigint \
         - (SELECT count(*) FROM begun) - (SELECT count(*) FROM new) END",
    );
    let queues = format!(
        "begun AS MATERIALIZED ({begun}), new AS MATERIALIZED ({new}), \
         rest AS MATERIALIZED ({rest}), due AS (SELECT * FROM begun UNION ALL \
         SELECT * FROM new UNION ALL SELECT * FROM rest)"
    );
    CLAIM.replace("@LEVELS", LEVELS).replace("@QUEUES", &queues)
});

/// A claim of the next suspect.
static CLAIM_SUSPECT: LazyLock<String> = LazyLock::new(|| {
    let suspect = queued("0", "1", BEGUN_AFTER, "$8::bigint");
    let queues = format!("due AS MATERIALIZED ({suspect})");
    CLAIM.replace("@LEVELS", LEVELS).replace("@QUEUES", &queues)
});

/// Finds what a claim leased whose answer was lost: its leases all expire at exactly that moment.
static CLAIMED: LazyLock<String> =
    LazyLock::new(|| CLAIMED_AT.replace("@CLAIM_RANKS", &CLAIM_RANKS));

const CLAIMED_AT: &str = "\
SELECT s.item, s.token, s.run, s.attempt, s.lost, s.dropped, s.checkpoint, i.id,
    i.correlation, i.payload, s.due
FROM @states s JOIN @items i ON i.job = s.job AND i.item = s.item
WHERE s.job = $1 AND s.claim_rank = ANY (@CLAIM_RANKS) AND s.due = $2 AND s.worker = $3 AND s.state = 1
ORDER BY s.item LIMIT $4::bigint";

/// The terms of a claim: the items that it leases, and for how long.
struct Terms<'a> {
    session: Session<'a>,
    job: i64,
    worker: i64,
    /// An item due at the end of time never is.
    due_by: i64,
    now: i64,
    until: i64,
}

/// The items that a statement leases: their largest number, how many that have begun before come
/// first, how many of them start at once, and the largest sum of payload bytes.
#[derive(Clone, Copy)]
struct Share {
    max: usize,
    begun_first: usize,
    starts: usize,
    bytes: usize,
}

impl Terms<'_> {
    /// Leases items that are due after this cursor. Returns the leases, and how far it has come.
    async fn lease(
        &self,
        cursor: &ClaimCursor,
        share: Share,
    ) -> PostgresResult<(Vec<Lease>, ClaimCursor)> {
        let Share { max, begun_first, bytes, .. } = share;
        let new = cursor.new.columns();
        let more: Values<'_> = &[&new.0, &new.1, &limit(begun_first)];
        let rows = self.claim(&CLAIM_ITEMS, &cursor.begun, share, more).await?;
        let leases = rows.iter().map(leased).collect::<Result<Vec<_>, _>>()?;
        let (mut reached, mut first) = (*cursor, 0);
        for row in &rows {
            let after: Position = (column(row, 10)?, column(row, 0)?);
            let level = usize::try_from(column::<i32>(row, 12)?).unwrap_or_default();
            match column::<i32>(row, 11)? {
                1 => reached.new.advance(level, after),
                turn => {
                    reached.begun.advance(level, after);
                    first += usize::from(turn == 0);
                }
            }
        }
        let is_cut = size(&leases) >= bytes;
        if !is_cut && (first < begun_first || leases.len() < max) {
            // Those that were settled are passed over as well.
            reached.begun.advance_all((self.due_by, i64::MAX));
        }
        Ok((leases, reached))
    }

    /// Leases the next suspect.
    async fn lease_suspect(&self) -> PostgresResult<Vec<Lease>> {
        let one = Share { max: 1, begun_first: 1, starts: 1, bytes: MAX_CLAIM_BYTES };
        let rows = self.claim(&CLAIM_SUSPECT, &LevelCursors::BEGINNING, one, &[]).await?;
        rows.iter().map(leased).collect()
    }

    /// Runs the statement of a claim. `more` are the parameters after the cursor of items that have
    /// begun.
    async fn claim(
        &self,
        sql: &str,
        begun: &LevelCursors,
        share: Share,
        more: Values<'_>,
    ) -> PostgresResult<Vec<Row>> {
        let Self { session, job, worker, due_by, now, until } = self;
        let (starts, bytes, max) = (limit(share.starts), limit(share.bytes), limit(share.max));
        let begun = begun.columns();
        let values: Values<'_> =
            &[job, due_by, until, worker, &starts, now, &bytes, &max, &begun.0, &begun.1];
        session.query(sql, &[values, more].concat()).await
    }
}

/// The size of payloads, in bytes.
fn size(leases: &[Lease]) -> usize {
    leases.iter().map(|lease| lease.payload.len()).sum()
}

/// `maybe_done`: an earlier attempt at this claim was cut off.
pub(crate) async fn claim(
    session: Session<'_>,
    claim: &Claim,
    maybe_done: bool,
) -> PostgresResult<Vec<Lease>> {
    let Claim { job, worker, now, selection, lease } = claim;
    session.shared.clock.renew(session.client).await?;
    let Some(job) = session.find_job(job).await? else { return Ok(Vec::new()) };
    let worker = session.worker(worker).await?;
    let until = (*now + *lease).as_micros();
    let (is_suspect, max, starts) = selection.bounds();
    if max == 0 {
        return Ok(Vec::new());
    }
    if maybe_done {
        let values: Values<'_> = &[&job, &until, &worker, &limit(max)];
        let claimed = session.query(&CLAIMED, values).await?;
        if !claimed.is_empty() {
            return claimed.iter().map(leased).collect();
        }
    }
    let now = now.as_micros();
    let due_by = now.min(i64::MAX - 1);
    let terms = Terms { session, job, worker, due_by, now, until };
    if is_suspect {
        return terms.lease_suspect().await;
    }
    let under_way = session.shared.cursors.begin(job, now);
    // A zero-length lease expires immediately, so the item is due before the current cursor.
    let lasts = until > now;
    let cursor = if lasts { under_way.cursor } else { ClaimCursor::BEGINNING };
    let begun_first = selection.begun_first(claim.now);
    let share = Share { max, begun_first, starts, bytes: MAX_CLAIM_BYTES };
    let (mut leases, mut reached) = terms.lease(&cursor, share).await?;
    let bytes = MAX_CLAIM_BYTES.saturating_sub(size(&leases));
    if lasts && leases.len() < max && bytes > 0 && cursor != under_way.earlier {
        let share = Share {
            max: max - leases.len(),
            begun_first: begun_first.saturating_sub(leases.len()),
            starts: starts.saturating_sub(leases.len()),
            bytes,
        };
        match terms.lease(&under_way.earlier, share).await {
            Ok((more, end)) => {
                leases.extend(more);
                reached = ClaimCursor {
                    new: reached.new.max(end.new),
                    begun: reached.begun.max(end.begun),
                };
            }
            // Leased items stay leased: the rest comes with the next claim.
            Err(error) if !leases.is_empty() => {
                tracing::debug!(error = &error as &dyn std::error::Error, "a claim was cut short");
            }
            Err(error) => return Err(error),
        }
    }
    if lasts {
        under_way.advance_to(&reached);
    }
    drop(under_way);
    if !leases.is_empty() {
        // If the clock has gone back, these leases end before the cursor of an earlier claim.
        session.shared.cursors.rewind_to(until);
    }
    Ok(leases)
}

fn leased(row: &Row) -> PostgresResult<Lease> {
    sql::lease(&mut columns(row))
}
