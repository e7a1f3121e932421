//! Looking at a whole store: its layout, its size, and whether its counts are those of its items.

use retry_workflow::ItemState;
use retry_workflow::store::StoreCheck;

use super::layout::VERSION;
use super::shared::{Shared, column};
use crate::server::{Lent, PostgresError};

const LAYOUT: &str = "\
SELECT (SELECT max(version) FROM @layout), coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint
FROM pg_class c
WHERE c.relkind = 'r' AND c.relnamespace =
    (SELECT t.relnamespace FROM pg_class t WHERE t.oid = to_regclass($1))";

/// All of one moment.
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

pub(crate) async fn check(client: &Lent, shared: &Shared) -> Result<StoreCheck, PostgresError> {
    let table = shared.sql("@layout");
    let rows = shared.query(client, LAYOUT, &[&table]).await?;
    let Some(row) = rows.first() else { return Ok(StoreCheck::new(0, 0, 0)) };
    let number = |layout: i32| u32::try_from(layout).unwrap_or(0);
    let bytes = u64::try_from(column::<i64>(row, 1)?).unwrap_or(0);
    let mut check = StoreCheck::new(number(column(row, 0)?), number(VERSION), bytes);
    for row in shared.query(client, COUNTS, &[]).await? {
        let job: String = column(&row, 0)?;
        for (place, state) in ItemState::ALL.into_iter().enumerate() {
            let count = |place| Ok::<_, PostgresError>(column::<i64>(&row, place)?.unsigned_abs());
            check.compare(&job, state, count(1 + place)?, count(6 + place)?);
        }
    }
    Ok(check)
}
