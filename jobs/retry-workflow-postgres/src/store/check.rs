//! Checking a whole store: its layout, its size, and whether its counts match its items.

use retry_workflow::store::{StoreCheck, comparison, sql};

use super::layout::LAYOUT;
use super::session::Session;
use crate::server::PostgresResult;
use crate::server::columns::{column, columns};

const SIZE: &str = "\
SELECT (SELECT max(version) FROM @store_layout), coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint
FROM pg_class c
WHERE c.relkind = 'r' AND c.relnamespace =
    (SELECT t.relnamespace FROM pg_class t WHERE t.oid = to_regclass($1))";

pub(crate) async fn check(session: Session<'_>) -> PostgresResult<StoreCheck> {
    let table = session.shared.sql("@store_layout");
    let rows = session.query(SIZE, &[&table]).await?;
    let Some(row) = rows.first() else { return Ok(StoreCheck::new(0, 0, 0)) };
    let number = |layout: i32| u32::try_from(layout).unwrap_or(0);
    let bytes = u64::try_from(column::<i64>(row, 1)?).unwrap_or(0);
    let mut check = StoreCheck::new(number(column(row, 0)?), number(LAYOUT.version()), bytes);
    let sums = sql::each(&sql::COUNTS, |column| format!("sum({column})::bigint AS {column}"));
    let counts = format!("SELECT job, {sums} FROM @counts GROUP BY job");
    for row in session.query(&comparison(&counts), &[]).await? {
        check.read(&mut columns(&row))?;
    }
    Ok(check)
}
