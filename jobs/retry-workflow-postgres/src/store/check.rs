//! Checking a whole store: its layout, its size, and whether its counts match its items.

use retry_workflow::store::codes;
use retry_workflow::store::{StoreCheck, Summary};
use retry_workflow::{ItemState, Timestamp};

use super::layout::LAYOUT;
use super::shared::Shared;
use super::summary;
use crate::server::columns::{column, text, unsigned};
use crate::server::{PooledClient, PostgresError};

const SIZE: &str = "\
SELECT (SELECT max(version) FROM @store_layout), coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint
FROM pg_class c
WHERE c.relkind = 'r' AND c.relnamespace =
    (SELECT t.relnamespace FROM pg_class t WHERE t.oid = to_regclass($1))";

/// One statement, so that all counts are of the same snapshot.
const COUNTS: &str = "\
SELECT j.name, coalesce(c.pending, 0), coalesce(c.leased, 0), coalesce(c.succeeded, 0),
    coalesce(c.dead, 0), coalesce(c.skipped, 0), coalesce(s.pending, 0), coalesce(s.leased, 0),
    coalesce(s.succeeded, 0), coalesce(s.dead, 0), coalesce(s.skipped, 0)
FROM @jobs j
LEFT JOIN (SELECT job, sum(pending)::bigint AS pending, sum(leased)::bigint AS leased,
        sum(succeeded)::bigint AS succeeded, sum(dead)::bigint AS dead,
        sum(skipped)::bigint AS skipped
    FROM @counts GROUP BY job) c USING (job)
LEFT JOIN (SELECT job, count(*) FILTER (WHERE state = 0) AS pending,
        count(*) FILTER (WHERE state = 1) AS leased, count(*) FILTER (WHERE state = 2) AS succeeded,
        count(*) FILTER (WHERE state = 3) AS dead, count(*) FILTER (WHERE state >= 4) AS skipped
    FROM @states GROUP BY job) s USING (job)
ORDER BY j.name";

/// The groups for which the summary and the items differ, with both counts.
fn groups() -> String {
    format!(
        "SELECT j.name, state, class, signature, hour, coalesce(g.count, 0), coalesce(f.count, 0) \
         FROM (SELECT job, state, class, signature, hour, sum(count)::bigint AS count \
             FROM @groups GROUP BY 1, 2, 3, 4, 5) g \
         FULL JOIN (SELECT s.job, s.state, f.class, f.signature, {} AS hour, count(*) AS count \
             FROM @failures f JOIN @states s ON s.item = f.item WHERE s.ended IS NOT NULL \
             GROUP BY 1, 2, 3, 4, 5) f USING (job, state, class, signature, hour) \
         JOIN @jobs j USING (job) \
         WHERE coalesce(g.count, 0) <> coalesce(f.count, 0) ORDER BY 1, 2, 3, 4, 5",
        summary::hour("s.ended")
    )
}

/// Selects roll-ups that are not the sum of their groups, which are compared with the items.
const ROLLUP: &str = "\
SELECT state, class, signature, hour, sum(rolled)::bigint, sum(grouped)::bigint
FROM (SELECT state, class, signature, hour, count AS rolled, 0 AS grouped FROM @rollup
    UNION ALL SELECT state, class, signature, hour, 0, count FROM @groups) r
GROUP BY 1, 2, 3, 4 HAVING sum(rolled) <> sum(grouped) ORDER BY 1, 2, 3, 4";

/// As [`groups`], but for the minutes in which items succeeded.
const MINUTES: &str = "\
SELECT j.name, minute, coalesce(m.succeeded, 0), coalesce(s.count, 0)
FROM (SELECT job, minute, sum(succeeded)::bigint AS succeeded FROM @minutes GROUP BY 1, 2) m
FULL JOIN (SELECT job, ended - mod(mod(ended, 60000000) + 60000000, 60000000) AS minute,
        count(*) AS count
    FROM (SELECT job, greatest(ended, -9223372033254775808) AS ended FROM @states WHERE state = 2
        AND ended IS NOT NULL) e GROUP BY 1, 2) s USING (job, minute)
JOIN @jobs j USING (job)
WHERE coalesce(m.succeeded, 0) <> coalesce(s.count, 0) ORDER BY 1, 2";

pub(crate) async fn check(
    client: &PooledClient,
    shared: &Shared,
) -> Result<StoreCheck, PostgresError> {
    let table = shared.sql("@store_layout");
    let rows = shared.query(client, SIZE, &[&table]).await?;
    let Some(row) = rows.first() else { return Ok(StoreCheck::new(0, 0, 0)) };
    let number = |layout: i32| u32::try_from(layout).unwrap_or(0);
    let bytes = u64::try_from(column::<i64>(row, 1)?).unwrap_or(0);
    let mut check = StoreCheck::new(number(column(row, 0)?), number(LAYOUT.version()), bytes);
    for row in shared.query(client, COUNTS, &[]).await? {
        let job: String = column(&row, 0)?;
        for (place, state) in ItemState::ALL.into_iter().enumerate() {
            let count = |place| Ok::<_, PostgresError>(column::<i64>(&row, place)?.unsigned_abs());
            check.compare(&job, state, count(1 + place)?, count(6 + place)?);
        }
    }
    for row in shared.query(client, &groups(), &[]).await? {
        let code = column(&row, 1)?;
        let Some(state) = codes::state(code) else { continue };
        let hour = Timestamp::from_micros(column(&row, 4)?);
        let summary = Summary::Group { class: text(&row, 2)?, signature: text(&row, 3)?, hour };
        let (counted, found) = (unsigned(&row, 5)?, unsigned(&row, 6)?);
        check.compare_summary(&text(&row, 0)?, state, summary, counted, found);
    }
    for row in shared.query(client, ROLLUP, &[]).await? {
        let Some(state) = codes::state(column(&row, 0)?) else { continue };
        let hour = Timestamp::from_micros(column(&row, 3)?);
        let summary = Summary::AllJobs { class: text(&row, 1)?, signature: text(&row, 2)?, hour };
        check.compare_summary("", state, summary, unsigned(&row, 4)?, unsigned(&row, 5)?);
    }
    for row in shared.query(client, MINUTES, &[]).await? {
        let summary = Summary::Minute(Timestamp::from_micros(column(&row, 1)?));
        let (counted, found) = (unsigned(&row, 2)?, unsigned(&row, 3)?);
        check.compare_summary(&text(&row, 0)?, ItemState::Succeeded, summary, counted, found);
    }
    Ok(check)
}
