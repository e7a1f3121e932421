//! Lending part of a quota: the row of its bucket is locked, what the other members hold is added
//! up, and the rule decides how much to lend.

use std::time::Duration;

use retry_fleet::{Ask, Book, Grant, LastGrant};

use super::{HubTables, duration, micros};
use crate::server::columns::{column, small, unsigned};
use crate::server::text::encode;
use crate::server::{PooledClient, PostgresError};

/// `$1` fleet, `$2` quota, `$3` its capacity, `$4` how long a lease lasts.
const LOCK: &str = "
INSERT INTO @quotas AS q (fleet, quota, tokens, before, asked, resumed)
SELECT $1, $2, $3::int8::float8, now, now, now FROM (SELECT $now AS now) AS t
ON CONFLICT (fleet, quota) DO UPDATE SET before = q.asked, asked = greatest(excluded.asked, q.asked),
    resumed = CASE WHEN excluded.asked - q.asked > $4 THEN excluded.asked ELSE q.resumed END
RETURNING tokens, asked - before";

/// `$1` fleet, `$2` quota, `$3` member, `$4` how long a silent member is remembered, `$5` how long
/// a member counts as alive without a heartbeat.
const COUNT: &str = "
WITH t AS MATERIALIZED (
    SELECT $now AS now, resumed FROM @quotas WHERE fleet = $1 AND quota = $2
)
SELECT t.now,
    o.seq, o.granted, o.returned,
    1 + (
        SELECT count(*) FROM @members m
        WHERE m.fleet = $1 AND m.member <> $3 AND m.seen > t.now - $5
    ),
    o.lent, o.silent_floors, o.floors
FROM t, LATERAL (
    SELECT coalesce(sum(s.capacity) FILTER (WHERE s.member <> $3 AND s.until > t.now), 0)::int8 AS lent,
        coalesce(sum(s.floor) FILTER (WHERE s.member <> $3 AND s.until <= t.now), 0)::int8
            AS silent_floors,
        coalesce(sum(s.floor) FILTER (WHERE s.member <> $3), 0)::int8 AS floors,
        max(s.seq) FILTER (WHERE s.member = $3) AS seq,
        max(s.granted) FILTER (WHERE s.member = $3) AS granted,
        max(s.returned) FILTER (WHERE s.member = $3) AS returned
    FROM @shares s
    WHERE s.fleet = $1 AND s.quota = $2
        AND (s.member = $3 OR greatest(s.asked, t.resumed) > t.now - $4)
) AS o";

/// `$1` fleet, `$2` quota, `$3` member, `$4` the sequence number of its request, `$5` what it may
/// hold, `$6` its floor, `$7` whether the lease is renewed, `$8` how long it lasts, `$9` the time,
/// `$10` the tokens left, `$11` how long a silent member is remembered, `$12` the tokens that it
/// was given, `$13` those that it returned.
const WRITE: &str = "
WITH q AS (
    UPDATE @quotas SET tokens = $10 WHERE fleet = $1 AND quota = $2 RETURNING resumed
),
forgotten AS (
    DELETE FROM @shares s USING q
    WHERE s.fleet = $1 AND s.quota = $2 AND s.member <> $3
        AND greatest(s.asked, q.resumed) <= $9::int8 - $11::int8
)
INSERT INTO @shares AS s
    (fleet, quota, member, seq, capacity, floor, until, called_back, asked, granted, returned)
VALUES ($1, $2, $3, $4, $5, $6, $9::int8 + $8::int8, $9 + 2 * $8, $9, $12, $13)
ON CONFLICT (fleet, quota, member) DO UPDATE SET seq = excluded.seq, asked = excluded.asked,
    granted = excluded.granted, returned = excluded.returned, capacity = excluded.capacity, floor = excluded.floor,
    until = CASE WHEN $7 THEN excluded.until ELSE s.until END,
    called_back = CASE WHEN $7 THEN excluded.called_back ELSE s.called_back END";

pub(super) async fn lend(
    client: &mut PooledClient,
    hub: &HubTables,
    fleet: &str,
    ask: &Ask,
) -> Result<Option<Grant>, PostgresError> {
    let lock = client.prepare_cached(&hub.sql(LOCK)).await?;
    let count = client.prepare_cached(&hub.sql(COUNT)).await?;
    let write = client.prepare_cached(&hub.sql(WRITE)).await?;
    let (fleet, quota, member) = (encode(fleet), encode(&ask.quota), encode(ask.member.as_str()));
    let (lasts, forgotten) = (micros(ask.lasts), micros(ask.forgotten));

    let transaction = client.transaction().await?;
    let capacity = i64::from(ask.capacity);
    let row = transaction.query_one(&lock, &[&fleet, &quota, &capacity, &lasts]).await?;
    let tokens: f64 = column(&row, 0)?;
    let age = duration(&row, 1)?;
    let row = transaction.query_one(&count, &[&fleet, &quota, &member, &forgotten, &lasts]).await?;
    let now: i64 = column(&row, 0)?;
    let known: Option<i64> = column(&row, 1)?;
    let seq = i64::try_from(ask.seq).unwrap_or(i64::MAX);
    if known.is_some_and(|known| known >= seq) {
        return Ok(None);
    }
    let last = match known {
        None => LastGrant::default(),
        Some(seq) => LastGrant {
            seq: u64::try_from(seq).unwrap_or_default(),
            tokens: small(&row, 2)?,
            returned: small(&row, 3)?,
        },
    };
    let book = Book {
        members: small(&row, 4)?,
        tokens,
        age: age.max(Duration::ZERO),
        lent: unsigned(&row, 5)?,
        silent_floors: unsigned(&row, 6)?,
        floors: unsigned(&row, 7)?,
        last,
    };
    let grant = book.lend(ask);
    // A member holds what is called back until it has given it up.
    let holds = if grant.is_renewed { grant.capacity } else { ask.held };
    transaction
        .execute(
            &write,
            &[
                &fleet,
                &quota,
                &member,
                &seq,
                &i64::from(holds),
                &i64::from(grant.kept_floor),
                &grant.is_renewed,
                &lasts,
                &now,
                &grant.left,
                &forgotten,
                &i64::from(grant.tokens),
                &i64::from(ask.returned),
            ],
        )
        .await?;
    transaction.commit().await?;
    Ok(Some(grant))
}
