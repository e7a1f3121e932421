//! Changes of items that no worker makes: see [`Alteration`].

use std::time::Duration;

use retry_workflow::store::sql::{limit, micros};
use retry_workflow::store::{Alteration, Waiting};
use retry_workflow::{Filter, ItemState, Timestamp};

use super::settle::{counted, json};
use crate::server::PostgresResult;
use crate::server::columns::column;
use crate::server::text::encode;
use crate::store::layout::CLAIM_RANKS;
use crate::store::selection::{FilteredItems, Values, of_ids};
use crate::store::session::{Earlier, Session};

/// `maybe_done`: an earlier attempt was cut off. Its items no longer match the filter, so a
/// repetition would find none, or others.
pub(crate) async fn alter(
    session: Session<'_>,
    filter: &Filter,
    alteration: &Alteration,
    earlier: &Earlier<u64>,
    max: usize,
    now: Timestamp,
    maybe_done: bool,
) -> PostgresResult<u64> {
    if let Alteration::MakeDue(_) | Alteration::Skip(_) | Alteration::Expire(_) = alteration {
        return alter_unended(session, filter, alteration, max, now).await;
    }
    if maybe_done && let Some(altered) = session.committed(earlier).await? {
        return Ok(altered);
    }
    let Some(mut items) = FilteredItems::resolve_failed(session, filter).await? else {
        return Ok(0);
    };
    let max = items.add(limit(max));
    let changed = match alteration {
        Alteration::Redrive { every, by, from_failed } => {
            let user = match by {
                Some(user) => Some(session.worker(user).await?),
                None => None,
            };
            redriven(&mut items, (now, *every), user, *from_failed)
        }
        Alteration::Edit(payload) => edited(&mut items, payload),
        _ => purged(),
    };
    let (clauses, order) = (items.clauses(), items.order);
    let sql = format!(
        "WITH meant AS MATERIALIZED (\
             SELECT s.item, s.job, s.state {clauses} {order} LIMIT {max}::bigint FOR UPDATE OF s), \
         {changed} SELECT count(*), pg_current_xact_id()::text FROM meant"
    );
    session.begin().await?;
    let altered = async {
        let Some(row) = session.query_opt(&sql, &items.values()).await? else { return Ok(0) };
        let altered = u64::try_from(column::<i64>(&row, 0)?).unwrap_or(0);
        *earlier.lock() = Some((column(&row, 1)?, altered));
        Ok(altered)
    };
    session.end(altered.await).await
}

/// Removes the failures of the items in `meant`, and moves the items to the counts `to`.
fn moved(to: &str) -> String {
    let moved = format!(
        "gone AS (DELETE FROM @failures f USING meant m WHERE f.item = m.item), counted AS (\
         @COUNTED FROM (SELECT job, 0 AS leased, 0 AS succeeded, \
             -count(*) FILTER (WHERE state = 3) AS dead, {to}, 0 AS attempts, 0 AS lost, \
             0 AS worked, 0 AS waited FROM meant GROUP BY job) n @HERE)"
    );
    counted(&moved)
}

fn redriven(
    items: &mut FilteredItems,
    (now, every): (Timestamp, Duration),
    user: Option<i64>,
    from_failed: bool,
) -> String {
    let (now, every, user) =
        (items.add(now.as_micros()), items.add(micros(every)), items.add(user));
    let checkpoint = if from_failed { "s.checkpoint" } else { "NULL" };
    format!(
        "placed AS MATERIALIZED (\
             SELECT item, row_number() OVER (ORDER BY item) - 1 AS place FROM meant), \
         moved AS (\
             UPDATE @states s SET state = 0, attempt = 0, lost = 0, dropped = 0, \
                 claim_rank = s.claim_rank & -4, \
                 run = least(s.run + 1, 4294967295), ended = NULL, checkpoint = {checkpoint}, \
                 due = least({now}::bigint + least(p.place::numeric * {every}::bigint, \
                     9223372036854775807), 9223372036854775807)::bigint, \
                 token = s.token + ({user}::bigint IS NOT NULL)::integer \
             FROM placed p WHERE s.item = p.item RETURNING s.item, s.token, s.run), \
         noted AS (\
             INSERT INTO @history (item, token, run, attempt, started, duration, wait, worker, \
                 part, outcome) \
             SELECT item, token, run, 0, {now}::bigint, 0, 0, {user}::bigint, 0, 4 FROM moved \
             WHERE {user}::bigint IS NOT NULL), {}",
        moved("count(*) AS pending, -count(*) FILTER (WHERE state = 4) AS skipped")
    )
}

fn purged() -> String {
    format!(
        "moved AS (\
             UPDATE @states s SET state = 5, checkpoint = NULL FROM meant m WHERE s.item = m.item), \
         emptied AS (UPDATE @items i SET payload = '' FROM meant m \
             WHERE i.job = m.job AND i.item = m.item), \
         forgotten AS (DELETE FROM @history h USING meant m WHERE h.item = m.item), {}",
        moved("0 AS pending, count(*) FILTER (WHERE state = 3) AS skipped")
    )
}

fn edited(items: &mut FilteredItems, payload: &str) -> String {
    let payload = items.add(encode(payload).into_owned());
    format!(
        "edited AS (UPDATE @items i SET payload = {payload}::text FROM meant m \
             WHERE i.job = m.job AND i.item = m.item), \
         restarted AS (UPDATE @states s SET checkpoint = NULL FROM meant m WHERE s.item = m.item)"
    )
}

/// Alters items that have not ended: such an item has no failure, and no time at which it ended.
async fn alter_unended(
    session: Session<'_>,
    filter: &Filter,
    alteration: &Alteration,
    max: usize,
    now: Timestamp,
) -> PostgresResult<u64> {
    match session.job_of(filter).await?.filter(|_| !filter.wants_ended()) {
        None => return Ok(0),
        Some(Some(job)) => return alter_in(session, job, (filter, alteration), max, now).await,
        Some(None) => {}
    }
    session.begin().await?;
    session.end(alter_in_all(session, (filter, alteration), max, now).await).await
}

/// Alters items of any job, in a transaction.
async fn alter_in_all(
    session: Session<'_>,
    wanted: (&Filter, &Alteration),
    mut max: usize,
    now: Timestamp,
) -> PostgresResult<u64> {
    let mut altered = 0;
    for row in session.query("SELECT job FROM @jobs ORDER BY job", &[]).await? {
        let some = alter_in(session, column(&row, 0)?, wanted, max, now).await?;
        max = max.saturating_sub(usize::try_from(some).unwrap_or(usize::MAX));
        altered += some;
    }
    Ok(altered)
}

const SKIPPED: &str = "\
skipped AS (
    UPDATE @states s SET state = 4, due = NULL, ended = @NOW::bigint, lost = 0, dropped = 0,
        claim_rank = s.claim_rank & -4
    FROM meant m WHERE s.item = m.item
), failed AS (
    INSERT INTO @failures (item, job, ended, state, class, signature, failure)
    SELECT item, $1, @NOW::bigint, 4, @CLASS::text, @SIGNATURE::text, @FAILURE::text FROM meant
), written AS (
    INSERT INTO @history (item, token, run, attempt, started, duration, wait, worker, part, outcome)
    SELECT item, token, run, attempt, started, greatest(@NOW::bigint - started, 0), 0, worker, 0, 2
    FROM meant WHERE state = 1 AND started IS NOT NULL
), counted AS (
    UPDATE @counts c SET pending = c.pending - n.items + n.leased, leased = c.leased - n.leased,
        skipped = c.skipped + n.items, lost = c.lost + n.lost
    FROM (SELECT count(*) AS items, count(*) FILTER (WHERE state = 1) AS leased,
            count(*) FILTER (WHERE state = 1 AND started IS NOT NULL) AS lost FROM meant) n
    WHERE c.job = $1 AND c.shard = mod(pg_backend_pid(), 16)::smallint AND n.items > 0
)";

/// Alters items of a job. They are found by the index of what can be claimed.
async fn alter_in(
    session: Session<'_>,
    job: i64,
    (filter, alteration): (&Filter, &Alteration),
    max: usize,
    now: Timestamp,
) -> PostgresResult<u64> {
    let mut values = Values::default();
    // `$1`, which the claim ranks are of as well.
    values.add(job);
    let (max, at) = (values.add(limit(max)), values.add(now.as_micros()));
    let later = format!(" AND s.due > {at}::bigint");
    let mut meant = match alteration {
        Alteration::MakeDue(Waiting::All) => format!("s.state = 0{later}"),
        // They have been claimed, and have no worker.
        Alteration::MakeDue(Waiting::ForLimit) => {
            format!("s.state = 0{later} AND s.claim_rank & 3 <> 0 AND s.worker IS NULL")
        }
        Alteration::Expire(workers) => {
            let workers: Vec<_> = workers.iter().map(|one| encode(one).into_owned()).collect();
            let workers = values.add(workers);
            format!(
                "s.state = 1{later} AND s.worker = ANY (ARRAY(\
                 SELECT worker FROM @workers WHERE name = ANY ({workers}::text[])))"
            )
        }
        _ if filter.wants_state(ItemState::Leased) => {
            "s.state IN (0, 1) AND s.due IS NOT NULL".to_owned()
        }
        _ => "s.state = 0 AND s.due IS NOT NULL".to_owned(),
    };
    if let Some(ids) = &filter.ids {
        meant.push_str(&of_ids("s", Some(job), ids, &mut values));
        // A settlement locks its rows in this order, too.
        meant.push_str(" ORDER BY s.item");
    }
    let changed = match alteration {
        Alteration::Skip(why) => {
            let class = values.add(encode(&why.class).into_owned());
            let signature = values.add(encode(why.signature.as_str()).into_owned());
            let failure = values.add(json(why)?);
            SKIPPED
                .replace("@NOW", &at)
                .replace("@CLASS", &class)
                .replace("@SIGNATURE", &signature)
                .replace("@FAILURE", &failure)
        }
        _ => format!(
            "moved AS (UPDATE @states s SET due = {at}::bigint FROM meant m WHERE s.item = m.item)"
        ),
    };
    let sql = format!(
        "WITH meant AS MATERIALIZED (\
             SELECT s.item, s.state, s.token, s.run, s.attempt, s.started, s.worker \
             FROM @states s WHERE s.job = $1 AND s.claim_rank = ANY ({}) AND {meant} \
             LIMIT {max}::bigint FOR UPDATE), {changed} SELECT count(*) FROM meant",
        *CLAIM_RANKS
    );
    session.count(&sql, &values.all()).await
}
