//! The tables of a store, and the numbered steps that migrate a schema to them.

pub(super) mod migrate;

use std::sync::LazyLock;

use retry_workflow::ItemState;
use retry_workflow::store::{AttemptOutcome, PRIORITIES};

/// A step, which migrates the previous layout to the one with its number.
pub(crate) struct Step {
    pub(crate) number: i32,
    /// `@` stands for the schema and a dot.
    pub(crate) sql: &'static str,
}

/// The layout that this program reads and writes.
pub(crate) const VERSION: i32 = 6;

/// In the order of their numbers.
pub(crate) const STEPS: &[Step] = &[
    Step { number: 1, sql: FIRST },
    Step { number: 2, sql: SECOND },
    Step { number: 3, sql: THIRD },
    Step { number: 4, sql: FOURTH },
    Step { number: 5, sql: FIFTH },
    Step { number: 6, sql: SIXTH },
];

/// The number of rows that count each job, so that concurrent settlements seldom collide.
pub(crate) const SHARDS: i16 = 16;

/// The first of the shards of `groups` whose writers add to the roll-up themselves, which takes a
/// third of what a trigger takes. A trigger does it for the others.
pub(crate) const ROLLS_UP: i16 = 16;

/// Columns that are written once (`items`) are kept apart from columns that change with each
/// attempt (`states`): a claim rewrites a few numbers, however large the payload is.
///
/// `due` is when a pending item is due, and when the lease of a leased one expires, so that one
/// index (`claimable`) finds both; an item that has ended has none, and leaves the index. `suspect`
/// says of a pending item that it is a suspect, and of a leased one that it becomes one if its
/// lease expires unsettled.
///
/// Times and durations are in microseconds; a failure is JSON, beside the columns that it is
/// searched by. Texts are ordered by their bytes, as everywhere else in a job.
///
/// The table of states, its index and the counts change all the time, so autovacuum visits them
/// early, and does not pause while it works.
const FIRST: &str = r#"
CREATE TABLE @jobs (
    job bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE
);
CREATE TABLE @counts (
    job bigint NOT NULL,
    shard smallint NOT NULL,
    pending bigint NOT NULL DEFAULT 0,
    leased bigint NOT NULL DEFAULT 0,
    succeeded bigint NOT NULL DEFAULT 0,
    dead bigint NOT NULL DEFAULT 0,
    skipped bigint NOT NULL DEFAULT 0,
    attempts bigint NOT NULL DEFAULT 0,
    lost bigint NOT NULL DEFAULT 0,
    worked numeric NOT NULL DEFAULT 0,
    waited numeric NOT NULL DEFAULT 0,
    PRIMARY KEY (job, shard)
) WITH (fillfactor = 40, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
        autovacuum_vacuum_cost_delay = 0);
CREATE TABLE @workers (
    worker bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE
);
CREATE TABLE @items (
    item bigint GENERATED ALWAYS AS IDENTITY,
    job bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    correlation text,
    payload text NOT NULL,
    PRIMARY KEY (job, item),
    UNIQUE (job, id)
);
CREATE TABLE @states (
    item bigint PRIMARY KEY,
    job bigint NOT NULL,
    due bigint,
    token bigint NOT NULL DEFAULT 0,
    run bigint NOT NULL DEFAULT 0,
    attempt bigint NOT NULL DEFAULT 0,
    worker bigint,
    started bigint,
    ended bigint,
    lost integer NOT NULL DEFAULT 0,
    dropped integer NOT NULL DEFAULT 0,
    state smallint NOT NULL DEFAULT 0,
    suspect smallint NOT NULL DEFAULT 0,
    checkpoint text,
    output text
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 10000,
        autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX claimable ON @states (job, suspect, due, item) WHERE due IS NOT NULL;
CREATE INDEX failed ON @states (job, item) WHERE state >= 3;
CREATE TABLE @history (
    item bigint NOT NULL,
    token bigint NOT NULL,
    run bigint NOT NULL,
    attempt bigint NOT NULL,
    started bigint NOT NULL,
    duration bigint NOT NULL,
    wait bigint NOT NULL,
    worker bigint NOT NULL,
    part integer NOT NULL,
    outcome smallint NOT NULL,
    step text,
    failure text,
    PRIMARY KEY (item, token, part)
);
CREATE TABLE @failures (
    item bigint PRIMARY KEY,
    job bigint NOT NULL,
    class text COLLATE "C" NOT NULL,
    signature text COLLATE "C" NOT NULL,
    failure text NOT NULL
);
CREATE INDEX alike ON @failures (job, signature, item);
CREATE TABLE @vals (
    key text COLLATE "C" PRIMARY KEY,
    revision bigint NOT NULL,
    value text NOT NULL
) WITH (fillfactor = 50);
"#;

/// The summaries, filled from the existing items, so that reading them needs no scan of all items:
/// `groups` counts failures that are alike, by the hour in which their items ended; `minutes`
/// counts what happened in each minute. A re-drive or a purge changes the groups, but not the
/// minutes.
///
/// They are sharded like the counts: the rows of a key are added up, and some may be negative.
/// `alike` is a digest of class and signature. A job is in `jobs` as soon as its record exists.
/// Roles that could work with the tables before still can.
const SECOND: &str = r#"
ALTER TABLE @history ADD COLUMN output text;
CREATE TABLE @groups (
    job bigint NOT NULL,
    alike uuid NOT NULL,
    hour bigint NOT NULL,
    state smallint NOT NULL,
    shard smallint NOT NULL,
    class text COLLATE "C" NOT NULL,
    signature text COLLATE "C" NOT NULL,
    count bigint NOT NULL,
    first bigint NOT NULL,
    last bigint NOT NULL,
    example bigint,
    PRIMARY KEY (job, alike, hour, state, shard)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
        autovacuum_vacuum_cost_delay = 0);
CREATE TABLE @minutes (
    job bigint NOT NULL,
    minute bigint NOT NULL,
    shard smallint NOT NULL,
    succeeded bigint NOT NULL,
    dead bigint NOT NULL,
    skipped bigint NOT NULL,
    attempts bigint NOT NULL,
    failed bigint NOT NULL,
    PRIMARY KEY (job, minute, shard)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
        autovacuum_vacuum_cost_delay = 0);
INSERT INTO @groups
    SELECT s.job, md5(octet_length(f.class) || ':' || f.class || f.signature)::uuid,
        greatest(s.ended, -9223372033254775808) - mod(mod(greatest(s.ended, -9223372033254775808),
            3600000000) + 3600000000, 3600000000) AS hour,
        s.state, 0, f.class, f.signature, count(*), min(s.ended), max(s.ended), min(s.item)
    FROM @failures f JOIN @states s ON s.item = f.item
    WHERE s.state IN (3, 4) AND s.ended IS NOT NULL
    GROUP BY s.job, hour, s.state, f.class, f.signature;
INSERT INTO @minutes
    SELECT job, time - mod(mod(time, 60000000) + 60000000, 60000000) AS minute, 0, sum(succeeded),
        sum(dead), sum(skipped), sum(attempts), sum(failed)
    FROM (
        SELECT job, greatest(ended, -9223372033254775808) AS time, (state = 2)::integer AS succeeded,
            (state = 3)::integer AS dead, (state >= 4)::integer AS skipped, 0 AS attempts,
            0 AS failed
        FROM @states WHERE state >= 2 AND ended IS NOT NULL
        UNION ALL
        SELECT s.job, greatest(least(h.started::numeric + h.duration, 9223372036854775807),
                -9223372033254775808)::bigint, 0, 0, 0, 1, (h.outcome = 1)::integer
        FROM @history h JOIN @states s ON s.item = h.item WHERE h.outcome <> 2
    ) t GROUP BY job, minute;
WITH new AS (
    INSERT INTO @jobs (name)
    SELECT substr(key, 5) FROM @vals WHERE key >= 'job/' AND key < 'job0' ORDER BY key
    ON CONFLICT DO NOTHING RETURNING job
)
INSERT INTO @counts (job, shard) SELECT job, shard FROM new, generate_series(0, 15) AS shard;
DO $grants$
DECLARE worker text;
BEGIN
    FOR worker IN
        SELECT a.grantee::regrole::text
        FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a
        WHERE c.oid = to_regclass('@states') AND a.privilege_type = 'INSERT'
            AND a.grantee NOT IN (0, c.relowner)
    LOOP
        EXECUTE 'GRANT SELECT, INSERT, UPDATE, DELETE ON @groups, @minutes TO ' || worker;
    END LOOP;
END
$grants$;
"#;

/// The number of each step that was done. Opening a store needs only `SELECT` on it.
pub(crate) const STEPS_TABLE: &str = "CREATE TABLE @layout (\
     version integer PRIMARY KEY, since timestamptz NOT NULL DEFAULT now())";

/// The privileges of a role that works on jobs, and does not own the tables.
pub(crate) const GRANTS: &str = "GRANT USAGE ON SCHEMA $schema TO $role;\n\
     GRANT SELECT, INSERT, UPDATE, DELETE ON @jobs, @counts, @workers, @items, @states, \
     @history, @failures, @vals, @groups, @minutes, @durations, @rollup \
     TO $role;\n\
     GRANT SELECT ON @layout TO $role;\n";

/// `suspect` says where an item waits, or will wait if its lease expires unsettled: 0 if it is new
/// (it was not claimed in its present run, or released), 1 if it is a suspect, 2 if it has begun.
/// The name is from when there was nothing else to say; programs that had the store open before go
/// on with it, and what they write is put right by the next claim.
const THIRD: &str = "
UPDATE @states SET suspect = 2 WHERE suspect = 0 AND attempt > 0 AND due IS NOT NULL;
";

/// Priorities. In `suspect`, four times the item's priority is added to the number that says where
/// it waits, so that neither a further column nor a further index is needed. It is kept there when
/// the item has ended. `priorities` has one bit for each priority that the items of a job have: a
/// claim goes through these. Programs that had the store open before claim only priority 0.
const FOURTH: &str = "
ALTER TABLE @jobs ADD COLUMN priorities integer NOT NULL DEFAULT 0;
";

/// The priorities that the items of job `$1` have, the highest first, each with its number among
/// all [`PRIORITIES`], from 1 on.
pub(crate) const LEVELS: &str = "\
levels AS MATERIALIZED (
    SELECT n AS level, 10 - n AS priority FROM generate_series(1, 19) n
    WHERE n = 10 OR (SELECT j.priorities FROM @jobs j WHERE j.job = $1) >> (19 - n) & 1 = 1
)";

/// The number of priorities.
pub(crate) const PRIORITIES_COUNT: usize = 19;

// `LEVELS` relies on this.
const _: () = assert!(*PRIORITIES.start() == -9 && *PRIORITIES.end() == 9);

/// The values of the column `suspect` for an item that has not ended, as an array.
pub(crate) static PLACES: LazyLock<String> = LazyLock::new(|| {
    let places = PRIORITIES.flat_map(|priority| (0..3).map(move |queue| place(queue, priority)));
    let places: Vec<_> = places.map(|place| place.to_string()).collect();
    format!("'{{{}}}'::smallint[]", places.join(","))
});

/// Returns the value of the column `suspect` for an item of this priority that waits in this queue.
pub(crate) fn place(queue: i16, priority: i8) -> i16 {
    4 * i16::from(priority) + queue
}

/// The priority in the column `suspect`.
pub(crate) fn priority(place: i16) -> i8 {
    i8::try_from(place.div_euclid(4)).unwrap_or_default()
}

/// `durations` counts the attempts of each minute by step, and by the bucket of a histogram that
/// their duration is in. An attempt as a whole has the step `''`. The table begins with what is
/// settled from now on: only the last minutes are of interest, and older ones are deleted.
/// Sharded like `minutes`.
const FIFTH: &str = r#"
CREATE TABLE @durations (
    job bigint NOT NULL,
    minute bigint NOT NULL,
    count bigint NOT NULL,
    shard smallint NOT NULL,
    bucket smallint NOT NULL,
    step text COLLATE "C" NOT NULL,
    PRIMARY KEY (job, minute, shard, step, bucket)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
        autovacuum_vacuum_cost_delay = 0);
DO $grants$
DECLARE worker text;
BEGIN
    FOR worker IN
        SELECT a.grantee::regrole::text
        FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a
        WHERE c.oid = to_regclass('@states') AND a.privilege_type = 'INSERT'
            AND a.grantee NOT IN (0, c.relowner)
    LOOP
        EXECUTE 'GRANT SELECT, INSERT, UPDATE, DELETE ON @durations TO ' || worker;
    END LOOP;
END
$grants$;
"#;

/// `rollup` adds the groups of all jobs up, so that a view of all failures costs the same with many
/// jobs. It is sharded like them (an import has a shard of its own), and the shards of past
/// hours are folded into one, `-1`.
///
/// Who writes to the shards of `groups` from 16 on adds to the roll-up as well. For programs that
/// had the store open before, and write to the others, a trigger does it; and another one for all,
/// when a job is removed. They name the schema when they run, because it may have been renamed. As
/// in a group, `first` and `last` stay when an item leaves.
///
/// The index `across` finds the jobs that have failures of a kind, those of the last hour first. A
/// group that is counted on does not move in it.
const SIXTH: &str = r#"
LOCK TABLE @groups IN SHARE ROW EXCLUSIVE MODE;
CREATE INDEX across ON @groups (alike, hour, job);
CREATE TABLE @rollup (
    alike uuid NOT NULL,
    hour bigint NOT NULL,
    state smallint NOT NULL,
    shard smallint NOT NULL,
    class text COLLATE "C" NOT NULL,
    signature text COLLATE "C" NOT NULL,
    count bigint NOT NULL,
    first bigint NOT NULL,
    last bigint NOT NULL,
    PRIMARY KEY (alike, hour, state, shard)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
        autovacuum_vacuum_cost_delay = 0);
INSERT INTO @rollup
    SELECT alike, hour, state, -1, class, signature, sum(count), min(first), max(last)
    FROM @groups GROUP BY alike, hour, state, class, signature HAVING sum(count) > 0;
CREATE FUNCTION @roll_up() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
    EXECUTE format('INSERT INTO %I.rollup AS r VALUES ($1, $2, $3, mod(pg_backend_pid(), 16), $4,
            $5, $6, $7, $8)
        ON CONFLICT (alike, hour, state, shard) DO UPDATE SET count = r.count + excluded.count,
            first = least(r.first, excluded.first), last = greatest(r.last, excluded.last)',
        tg_table_schema)
    USING new.alike, new.hour, new.state, new.class, new.signature,
        new.count - CASE WHEN tg_op = 'UPDATE' THEN old.count ELSE 0 END, new.first, new.last;
    RETURN NULL;
END
$function$;
CREATE FUNCTION @roll_back() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
    EXECUTE format('INSERT INTO %I.rollup AS r
        SELECT alike, hour, state, mod(pg_backend_pid(), 16), class, signature, -sum(count),
            9223372036854775807, -9223372036854775807
        FROM gone GROUP BY alike, hour, state, class, signature HAVING sum(count) <> 0
        ORDER BY alike, hour, state
        ON CONFLICT (alike, hour, state, shard) DO UPDATE SET count = r.count + excluded.count',
        tg_table_schema);
    RETURN NULL;
END
$function$;
CREATE TRIGGER group_added AFTER INSERT ON @groups
    FOR EACH ROW WHEN (new.shard < 16) EXECUTE FUNCTION @roll_up();
CREATE TRIGGER group_counted AFTER UPDATE OF count ON @groups
    FOR EACH ROW WHEN (new.shard < 16) EXECUTE FUNCTION @roll_up();
CREATE TRIGGER groups_removed AFTER DELETE ON @groups REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION @roll_back();
DO $grants$
DECLARE worker text;
BEGIN
    FOR worker IN
        SELECT a.grantee::regrole::text
        FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a
        WHERE c.oid = to_regclass('@states') AND a.privilege_type = 'INSERT'
            AND a.grantee NOT IN (0, c.relowner)
    LOOP
        EXECUTE 'GRANT SELECT, INSERT, UPDATE, DELETE ON @rollup TO ' || worker;
    END LOOP;
END
$grants$;
"#;

pub(crate) const PENDING: i16 = 0;
pub(crate) const SUCCEEDED: i16 = 2;
pub(crate) const DEAD: i16 = 3;
pub(crate) const SKIPPED: i16 = 4;
/// Skipped and purged: there is nothing left to run again.
pub(crate) const PURGED: i16 = 5;

/// The state that the column `state` holds; `None` if this program does not know the code.
pub(crate) fn state(code: i16) -> Option<ItemState> {
    Some(match code {
        PENDING => ItemState::Pending,
        1 => ItemState::Leased,
        SUCCEEDED => ItemState::Succeeded,
        DEAD => ItemState::Dead,
        SKIPPED | PURGED => ItemState::Skipped,
        _ => return None,
    })
}

/// The code in the column `state` of an item that is not purged.
pub(crate) fn code(state: ItemState) -> i16 {
    match state {
        ItemState::Pending => PENDING,
        ItemState::Leased => 1,
        ItemState::Succeeded => SUCCEEDED,
        ItemState::Dead => DEAD,
        ItemState::Skipped => SKIPPED,
    }
}

pub(crate) fn outcome(code: i16) -> Option<AttemptOutcome> {
    Some(match code {
        0 => AttemptOutcome::Succeeded,
        1 => AttemptOutcome::Failed,
        2 => AttemptOutcome::Lost,
        3 => AttemptOutcome::Postponed,
        _ => return None,
    })
}

pub(crate) fn outcome_code(outcome: AttemptOutcome) -> i16 {
    match outcome {
        AttemptOutcome::Succeeded => 0,
        AttemptOutcome::Failed => 1,
        AttemptOutcome::Lost => 2,
        AttemptOutcome::Postponed => 3,
    }
}
