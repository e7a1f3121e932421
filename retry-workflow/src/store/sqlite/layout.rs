//! The tables of a store, and what marks a file as one.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use rusqlite::{Connection, Result};

use crate::item::record::{AttemptOutcome, ItemState};

/// `rtry` in ASCII: marks a file as a store (`PRAGMA application_id`).
pub(super) const APPLICATION: i64 = 0x7274_7279;

/// The layout that is written and read (`PRAGMA user_version`): the last of the steps.
pub(super) const VERSION: usize = STEPS.len();

/// The first layout that has summaries.
pub(super) const SUMMARIES_SINCE: usize = 3;

/// The first layout that has a roll-up.
pub(super) const ROLLUP_SINCE: usize = 7;

/// Each step migrates a store to the layout with its number, counted from 1; the first one starts
/// from an empty file. Released steps never change: a change of the layout is one more step.
pub(super) const STEPS: &[&str] =
    &[LAYOUT_1, LAYOUT_2, LAYOUT_3, LAYOUT_4, LAYOUT_5, LAYOUT_6, LAYOUT_7];

/// The columns of all tables in a file, as `table.column`.
pub(super) fn columns(connection: &Connection) -> Result<BTreeSet<String>> {
    connection
        .prepare(
            "SELECT t.name || '.' || c.name FROM sqlite_schema t, pragma_table_info(t.name) c \
             WHERE t.type = 'table'",
        )?
        .query_map((), |row| row.get(0))?
        .collect()
}

/// The columns that a file of this layout should have, and that are not among those found in it.
pub(super) fn missing_columns(found: &BTreeSet<String>, layout: usize) -> Result<Vec<String>> {
    // Only once in a process: the steps say it, if they are taken.
    static EXPECTED: OnceLock<Vec<BTreeSet<String>>> = OnceLock::new();
    let expected = match EXPECTED.get() {
        Some(expected) => expected,
        None => {
            let empty = Connection::open_in_memory()?;
            let mut of_layouts = vec![BTreeSet::new()];
            for step in STEPS {
                empty.execute_batch(step)?;
                of_layouts.push(columns(&empty)?);
            }
            EXPECTED.get_or_init(|| of_layouts)
        }
    };
    let Some(expected) = expected.get(layout) else { return Ok(Vec::new()) };
    Ok(expected.difference(found).cloned().collect())
}

/// Columns that are written once (`items`) are kept apart from columns that change with each
/// attempt (`states`): a claim rewrites a few numbers, however large the payload is.
///
/// `due` is when a pending item is due, and when the lease of a leased one expires, so that one
/// index (`claimable`) finds both; an item that has ended has none, and leaves the index.
///
/// Times and durations are in microseconds; a failure is JSON, beside the columns that it is
/// searched by.
const LAYOUT_1: &str = "
CREATE TABLE jobs (
    job INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    pending INTEGER NOT NULL DEFAULT 0,
    leased INTEGER NOT NULL DEFAULT 0,
    succeeded INTEGER NOT NULL DEFAULT 0,
    dead INTEGER NOT NULL DEFAULT 0,
    skipped INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    lost INTEGER NOT NULL DEFAULT 0,
    worked INTEGER NOT NULL DEFAULT 0,
    waited INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE workers (
    worker INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);
CREATE TABLE items (
    item INTEGER PRIMARY KEY,
    job INTEGER NOT NULL,
    id TEXT NOT NULL,
    correlation TEXT,
    payload TEXT NOT NULL,
    UNIQUE (job, id)
);
CREATE TABLE states (
    item INTEGER PRIMARY KEY,
    job INTEGER NOT NULL,
    state INTEGER NOT NULL,
    due INTEGER,
    token INTEGER NOT NULL,
    run INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    lost INTEGER NOT NULL,
    worker INTEGER,
    claimed INTEGER,
    ended INTEGER,
    checkpoint TEXT,
    output TEXT
);
CREATE INDEX claimable ON states (job, due) WHERE due IS NOT NULL;
CREATE INDEX failed ON states (job) WHERE state >= 3;
CREATE TABLE history (
    item INTEGER NOT NULL,
    token INTEGER NOT NULL,
    part INTEGER NOT NULL,
    run INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    started INTEGER NOT NULL,
    duration INTEGER NOT NULL,
    wait INTEGER NOT NULL,
    worker INTEGER NOT NULL,
    outcome INTEGER NOT NULL,
    step TEXT,
    failure TEXT,
    PRIMARY KEY (item, token, part)
) WITHOUT ROWID;
CREATE TABLE failures (
    item INTEGER PRIMARY KEY,
    job INTEGER NOT NULL,
    class TEXT NOT NULL,
    signature TEXT NOT NULL,
    failure TEXT NOT NULL
);
CREATE INDEX alike ON failures (job, signature);
CREATE TABLE vals (
    key TEXT PRIMARY KEY,
    revision INTEGER NOT NULL,
    value TEXT NOT NULL
) WITHOUT ROWID;
";

/// `started` is when a leased item was started, which layout 1 did not know.
///
/// `suspect` says of a pending item that it is a suspect, and of a leased one that it becomes one
/// if its lease expires unsettled. It is a column for the index, because an expression in the index
/// would make each update slower.
const LAYOUT_2: &str = "
DROP INDEX claimable;
ALTER TABLE states RENAME COLUMN claimed TO started;
ALTER TABLE states ADD COLUMN dropped INTEGER NOT NULL DEFAULT 0;
ALTER TABLE states ADD COLUMN suspect INTEGER NOT NULL DEFAULT 0;
UPDATE states SET started = NULL, lost = 0;
CREATE TABLE clock (
    one INTEGER PRIMARY KEY,
    time INTEGER NOT NULL,
    running INTEGER NOT NULL,
    boot TEXT
);
CREATE INDEX claimable ON states (job, suspect, due) WHERE due IS NOT NULL;
";

/// The summaries, filled from the existing items, so that reading them needs no scan of all items:
/// `groups` counts failures that are alike, by the hour in which their items ended; `minutes`
/// counts what happened in each minute. A re-drive or a purge changes the groups, but not the
/// minutes.
///
/// A job is in `jobs` as soon as its record exists. `-9223372033254775808` is an hour after the
/// beginning of time, so that no hour begins before that.
const LAYOUT_3: &str = "
ALTER TABLE history ADD COLUMN output TEXT;
CREATE TABLE groups (
    job INTEGER NOT NULL,
    state INTEGER NOT NULL,
    class TEXT NOT NULL,
    signature TEXT NOT NULL,
    hour INTEGER NOT NULL,
    count INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    example INTEGER,
    PRIMARY KEY (job, state, class, signature, hour)
) WITHOUT ROWID;
CREATE TABLE minutes (
    job INTEGER NOT NULL,
    minute INTEGER NOT NULL,
    succeeded INTEGER NOT NULL,
    dead INTEGER NOT NULL,
    skipped INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    PRIMARY KEY (job, minute)
) WITHOUT ROWID;
INSERT INTO groups
    SELECT s.job, s.state, f.class, f.signature,
        max(s.ended, -9223372033254775808)
            - (max(s.ended, -9223372033254775808) % 3600000000 + 3600000000) % 3600000000,
        count(*), min(s.ended), max(s.ended), min(s.item)
    FROM failures f JOIN states s ON s.item = f.item
    WHERE s.state IN (3, 4) AND s.ended IS NOT NULL
    GROUP BY 1, 2, 3, 4, 5;
INSERT INTO minutes
    SELECT job, time - (time % 60000000 + 60000000) % 60000000 AS minute, sum(succeeded),
        sum(dead), sum(skipped), sum(attempts), sum(failed)
    FROM (
        SELECT job, max(ended, -9223372033254775808) AS time, state = 2 AS succeeded,
            state = 3 AS dead, state >= 4 AS skipped, 0 AS attempts, 0 AS failed
        FROM states WHERE state >= 2 AND ended IS NOT NULL
        UNION ALL
        SELECT s.job, CAST(max(h.started + h.duration, -9223372033254775808) AS INTEGER),
            0, 0, 0, 1, h.outcome = 1
        FROM history h JOIN states s ON s.item = h.item WHERE h.outcome <> 2
    ) GROUP BY job, minute;
INSERT INTO jobs (name)
    SELECT substr(key, 5) FROM vals WHERE key >= 'job/' AND key < 'job0'
    ORDER BY CASE WHEN json_valid(value) THEN json_extract(value, '$.created') END
    ON CONFLICT DO NOTHING;
";

/// `suspect` says where an item waits, or will wait if its lease expires unsettled: `NEW`,
/// `SUSPECT` or `BEGUN`. The name is from when there was nothing else to say; programs that had the
/// store open before go on with it, and what they write is put right by the next claim.
const LAYOUT_4: &str = "
UPDATE states SET suspect = 2 WHERE suspect = 0 AND attempt > 0 AND due IS NOT NULL;
";

/// Priorities. In `suspect`, four times the item's priority is added to the number that says where
/// it waits, so that neither a further column nor a further index is needed. It is kept there when
/// the item has ended. `priorities` has one bit for each priority that the items of a job have: a
/// claim goes through these. Programs that had the store open before claim only priority 0.
const LAYOUT_5: &str = "
ALTER TABLE jobs ADD COLUMN priorities INTEGER NOT NULL DEFAULT 0;
";

/// `durations` counts the attempts of each minute by step, and by the bucket of a histogram that
/// their duration is in. An attempt as a whole has the step `''`. The table begins with what is
/// settled from now on: only the last minutes are of interest, and older ones are deleted.
const LAYOUT_6: &str = "
CREATE TABLE durations (
    job INTEGER NOT NULL,
    minute INTEGER NOT NULL,
    step TEXT NOT NULL,
    bucket INTEGER NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (job, minute, step, bucket)
) WITHOUT ROWID;
";

/// `rollup` adds the groups of all jobs up, so that a view of all failures costs the same with many
/// jobs. Triggers keep it: they see each change of a group, even by programs that had the
/// store open before. As in a group, `first` and `last` stay when an item leaves.
///
/// The index `across` finds the jobs that have failures of a kind, those of the last hour first. A
/// group that is counted on does not move in it.
const LAYOUT_7: &str = "
CREATE TABLE rollup (
    state INTEGER NOT NULL,
    class TEXT NOT NULL,
    signature TEXT NOT NULL,
    hour INTEGER NOT NULL,
    count INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    PRIMARY KEY (state, class, signature, hour)
) WITHOUT ROWID;
INSERT INTO rollup
    SELECT state, class, signature, hour, sum(count), min(first), max(last)
    FROM groups GROUP BY 1, 2, 3, 4;
CREATE INDEX across ON groups (class, signature, hour);
CREATE TRIGGER rollup_adds AFTER INSERT ON groups BEGIN
    INSERT INTO rollup (state, class, signature, hour, count, first, last)
    VALUES (new.state, new.class, new.signature, new.hour, new.count, new.first, new.last)
    ON CONFLICT DO UPDATE SET count = count + excluded.count,
        first = min(first, excluded.first), last = max(last, excluded.last);
END;
CREATE TRIGGER rollup_counts AFTER UPDATE OF count ON groups BEGIN
    UPDATE rollup SET count = count + new.count - old.count,
        first = min(first, new.first), last = max(last, new.last)
    WHERE state = new.state AND class = new.class AND signature = new.signature
        AND hour = new.hour;
END;
CREATE TRIGGER rollup_removes AFTER DELETE ON groups BEGIN
    UPDATE rollup SET count = count - old.count
    WHERE state = old.state AND class = old.class AND signature = old.signature
        AND hour = old.hour;
    DELETE FROM rollup
    WHERE state = old.state AND class = old.class AND signature = old.signature
        AND hour = old.hour AND count <= 0;
END;
";

/// Returns the value of the column `suspect` for an item of this priority that waits in this queue.
pub(super) fn place(queue: i64, priority: i8) -> i64 {
    4 * i64::from(priority) + queue
}

/// The priority in the column `suspect`.
pub(super) fn priority(place: i64) -> i8 {
    i8::try_from(place.div_euclid(4)).unwrap_or_default()
}

/// The queue of items that were not claimed in their present run, or released.
pub(super) const NEW: i64 = 0;
/// The queue of items that may have killed their workers, and run alone.
pub(super) const SUSPECT: i64 = 1;
/// The queue of items that were claimed before in their present run, and are no suspects.
pub(super) const BEGUN: i64 = 2;

pub(super) const PENDING: i64 = 0;
pub(super) const LEASED: i64 = 1;
pub(super) const SUCCEEDED: i64 = 2;
pub(super) const DEAD: i64 = 3;
pub(super) const SKIPPED: i64 = 4;
/// Skipped and purged: there is nothing left to run again.
pub(super) const PURGED: i64 = 5;

/// The state that the column `state` holds; `None` if this program does not know the code.
pub(super) fn state(code: i64) -> Option<ItemState> {
    Some(match code {
        PENDING => ItemState::Pending,
        LEASED => ItemState::Leased,
        SUCCEEDED => ItemState::Succeeded,
        DEAD => ItemState::Dead,
        SKIPPED | PURGED => ItemState::Skipped,
        _ => return None,
    })
}

/// The code in the column `state` of an item that is not purged.
pub(super) fn code(state: ItemState) -> i64 {
    match state {
        ItemState::Pending => PENDING,
        ItemState::Leased => LEASED,
        ItemState::Succeeded => SUCCEEDED,
        ItemState::Dead => DEAD,
        ItemState::Skipped => SKIPPED,
    }
}

pub(super) fn outcome(code: i64) -> Option<AttemptOutcome> {
    Some(match code {
        0 => AttemptOutcome::Succeeded,
        1 => AttemptOutcome::Failed,
        2 => AttemptOutcome::Lost,
        3 => AttemptOutcome::Postponed,
        _ => return None,
    })
}

pub(super) fn outcome_code(outcome: AttemptOutcome) -> i64 {
    match outcome {
        AttemptOutcome::Succeeded => 0,
        AttemptOutcome::Failed => 1,
        AttemptOutcome::Lost => 2,
        AttemptOutcome::Postponed => 3,
    }
}
