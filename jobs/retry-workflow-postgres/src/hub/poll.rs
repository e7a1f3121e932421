//! The report of a member and the answer to it: one statement.

use std::borrow::Cow;
use std::time::Duration;

use retry_fleet::hub::{Beat, View};
use retry_fleet::{FleetBreaker, MemberId, OpenLease, Tally};
use retry_workflow::store::sql::Columns;

use super::{HubTables, micros};
use crate::server::columns::{PostgresRow, columns};
use crate::server::text::encode;
use crate::server::{PooledClient, PostgresError};

/// Dead members are kept this many times as long as silent ones count as alive.
const KEPT: u32 = 10;

/// `$1` fleet, `$2` member, `$3` whether this is a heartbeat, `$4` to `$6` reports, `$7` how long a
/// member counts as alive without one, `$8` the breakers to tally, `$9` how recent a call has to
/// be, `$10` how long dead members are kept.
///
/// A statement does not see its own writes, so the member counts itself.
const POLL: &str = "
WITH t AS MATERIALIZED (SELECT $now AS now),
beat AS (
    INSERT INTO @members (fleet, member, joined, seen)
    SELECT $1, $2, now, now FROM t WHERE $3
    ON CONFLICT (fleet, member) DO UPDATE SET seen = excluded.seen
),
told AS (
    INSERT INTO @reports AS r (fleet, breaker, member, open, called)
    SELECT $1, n.breaker, $2, n.open, CASE WHEN n.called THEN t.now END
    FROM t, unnest($4::text[], $5::bool[], $6::bool[]) AS n (breaker, called, open)
    ON CONFLICT (fleet, breaker, member)
    DO UPDATE SET open = excluded.open, called = coalesce(excluded.called, r.called)
),
dead AS (
    DELETE FROM @members m USING t
    WHERE $3 AND m.fleet = $1 AND m.member <> $2 AND m.seen < t.now - $10
    RETURNING m.member
),
unheard AS (
    DELETE FROM @reports r USING dead WHERE r.fleet = $1 AND r.member = dead.member
)
SELECT 0 AS kind, NULL::text AS name, t.now AS a,
    CASE WHEN $3 THEN 1 + (
        SELECT count(*) FROM @members m
        WHERE m.fleet = $1 AND m.member <> $2 AND m.seen > t.now - $7
    ) END AS b, NULL::int8 AS c, NULL::int8 AS d, NULL::int8 AS e, NULL::text AS prober,
    NULL::int8 AS held_until
FROM t
UNION ALL
SELECT 1, breaker, epoch, until, probe_from, reopenings, probe_until, prober, held_until
FROM @breakers WHERE fleet = $1
UNION ALL
SELECT 2, w.breaker, n.callers, n.openers, w.place, NULL, NULL, NULL, NULL
FROM t, unnest($8::text[]) WITH ORDINALITY AS w (breaker, place), LATERAL (
    SELECT count(*) AS callers, count(*) FILTER (WHERE r.open) AS openers
    FROM @reports r JOIN @members m ON m.fleet = r.fleet AND m.member = r.member
    WHERE r.fleet = $1 AND r.breaker = w.breaker AND r.member <> $2
        AND r.called > t.now - $9 AND m.seen > t.now - $7
) AS n
ORDER BY kind, c";

pub(super) async fn poll(
    client: &PooledClient,
    hub: &HubTables,
    fleet: &str,
    beat: &Beat,
) -> Result<View, PostgresError> {
    let statement = client.prepare_cached(&hub.sql(POLL)).await?;
    let breakers: Vec<Cow<'_, str>> =
        beat.reports.iter().map(|report| encode(&report.breaker)).collect();
    let called: Vec<bool> = beat.reports.iter().map(|report| report.called).collect();
    let open: Vec<bool> = beat.reports.iter().map(|report| report.open).collect();
    let tallies: Vec<Cow<'_, str>> = beat.tallies.iter().map(|breaker| encode(breaker)).collect();
    let rows = client
        .query(
            &statement,
            &[
                &encode(fleet),
                &encode(beat.member.as_str()),
                &beat.heartbeat,
                &breakers,
                &called,
                &open,
                &micros(beat.alive),
                &tallies,
                &micros(beat.lately),
                &micros(beat.alive.saturating_mul(KEPT)),
            ],
        )
        .await?;
    let mut view = View::default();
    for row in &rows {
        let mut columns = columns(row);
        let (kind, breaker) = (columns.integer()?, columns.text_opt()?.unwrap_or_default());
        match kind {
            0 => {
                view.now = columns.duration()?;
                view.members = columns.integer_opt()?.map(small);
            }
            1 => view.breakers.push((breaker, record(&mut columns)?)),
            _ => {
                let tally = Tally { callers: columns.number()?, openers: columns.number()? };
                view.tallies.push((breaker, tally));
            }
        }
    }
    Ok(view)
}

/// Reads the record of a breaker.
pub(super) fn record(
    columns: &mut Columns<PostgresRow<'_>>,
) -> Result<FleetBreaker, PostgresError> {
    let epoch = columns.count()?;
    let (until, probe_from) = (optional(columns)?, optional(columns)?);
    let reopenings = columns.integer_opt()?.map(small).unwrap_or_default();
    let (probe_until, prober) = (optional(columns)?, columns.text_opt()?);
    let open = until.map(|until| OpenLease {
        until,
        probe_from: probe_from.unwrap_or_default(),
        reopenings,
        probe: prober.map(MemberId::from).zip(probe_until),
    });
    Ok(FleetBreaker { epoch, open, held_until: optional(columns)? })
}

fn optional(columns: &mut Columns<PostgresRow<'_>>) -> Result<Option<Duration>, PostgresError> {
    let micros = columns.integer_opt()?;
    Ok(micros.map(|micros| Duration::from_micros(u64::try_from(micros).unwrap_or(0))))
}

fn small(number: i64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
