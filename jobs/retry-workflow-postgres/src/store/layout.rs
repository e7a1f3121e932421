//! The tables of a store.

use std::path::PathBuf;
use std::sync::LazyLock;

use retry_workflow::StoreError;
use retry_workflow::store::PRIORITIES;
use retry_workflow::store::codes::{BEGUN, NEW, SUSPECT, claim_rank};
use tokio_postgres::error::SqlState;

use crate::migration::{Layout, LayoutError, STORE};
use crate::server::columns::column;
use crate::server::{PooledClient, PostgresError};

/// The layout that this program reads and writes.
pub(crate) const LAYOUT: Layout = Layout { table: STORE, steps: &[TABLES], grants: GRANTS };

/// The number of rows that count each job, so that concurrent settlements seldom collide.
pub(crate) const SHARDS: i16 = 16;

/// Columns that are written once (`items`) are kept apart from columns that change with each
/// attempt (`states`): a claim rewrites a few numbers, however large the payload is. Times and
/// durations are in microseconds; a failure is JSON, beside the columns that it is searched by.
/// Texts are ordered by their bytes, as everywhere else in a job.
///
/// - `jobs`: a job is there as soon as its record exists. `priorities` has one bit for each
///   priority that its items have: a claim goes through these.
/// - `states`: `due` is when a pending item is due, and when the lease of a leased one expires, so
///   that one index (`claimable`) finds both; an item that has ended has none, and leaves the
///   index. `claim_rank` is the queue of an item (0 if it is new: not claimed in its present run,
///   or released; 1 if it is a suspect, 2 if it has begun; for a leased one, the queue that it
///   enters if its lease expires) and four times its priority. An item that has ended keeps its
///   priority there.
/// - `failures` has the state and the end of its item, which do not change as long as it has a
///   failure, so that failures can be grouped without their items.
///
/// The table of states, its index and the counts change all the time, so autovacuum visits them
/// early, and does not pause while it works.
const TABLES: &str = r#"
CREATE TABLE @jobs (
    job bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    priorities integer NOT NULL DEFAULT 0
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
    claim_rank smallint NOT NULL DEFAULT 0,
    checkpoint text,
    output text
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 10000,
        autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX claimable ON @states (job, claim_rank, due, item) WHERE due IS NOT NULL;
CREATE INDEX failed ON @states (job, item) WHERE state >= 3;
CREATE INDEX skipped ON @states (job, item) WHERE state >= 4;
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
    output text,
    PRIMARY KEY (item, token, part)
);
CREATE TABLE @failures (
    item bigint PRIMARY KEY,
    job bigint NOT NULL,
    ended bigint NOT NULL,
    state smallint NOT NULL,
    class text COLLATE "C" NOT NULL,
    signature text COLLATE "C" NOT NULL,
    failure text NOT NULL
);
CREATE INDEX alike ON @failures (job, signature, item);
CREATE INDEX left_out ON @failures (item) WHERE state >= 4;
CREATE TABLE @vals (
    key text COLLATE "C" PRIMARY KEY,
    revision bigint NOT NULL,
    value text NOT NULL
) WITH (fillfactor = 50);
"#;

const GRANTS: &str = "
GRANT SELECT, INSERT, UPDATE, DELETE ON @jobs, @counts, @workers, @items, @states, @history,
    @failures, @vals TO $role;
";

/// Opens the store `name` in a schema.
pub(crate) async fn open(
    client: &PooledClient,
    schema: &str,
    must_exist: bool,
    name: &str,
) -> Result<(), PostgresError> {
    let path = PathBuf::from(format!("{name} (schema {schema})"));
    let encoding = client.query_one("SHOW server_encoding", &[]).await?;
    if column::<String>(&encoding, 0)? != "UTF8" {
        let why = "the encoding of the database is not UTF8: create one with ENCODING 'UTF8'";
        return Err(StoreError::access(path, why).into());
    }
    let Err(error) = LAYOUT.open(client, schema, must_exist).await else { return Ok(()) };
    Err(match error {
        LayoutError::Newer { found, known } => {
            StoreError::Newer { path, found: found.into(), known: known.into() }.into()
        }
        LayoutError::Missing => StoreError::Missing { path }.into(),
        LayoutError::Foreign => StoreError::Foreign { path }.into(),
        LayoutError::Server(error) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
            let why = format!(
                "its tables are missing or have an older layout, and this user may not change them \
                 ({error}): have a user who may open the store, or run the statements that \
                 `retry-workflow store sql` writes"
            );
            StoreError::access(path, why).into()
        }
        LayoutError::Server(error) => error,
        error => StoreError::access(path, error).into(),
    })
}

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

/// The values of the column `claim_rank` for an item that has not ended, as an array.
pub(crate) static CLAIM_RANKS: LazyLock<String> = LazyLock::new(|| {
    let ranks = |priority| [NEW, SUSPECT, BEGUN].map(|queue| claim_rank(queue, priority));
    let places = PRIORITIES.flat_map(ranks);
    let places: Vec<_> = places.map(|place| place.to_string()).collect();
    format!("'{{{}}}'::smallint[]", places.join(","))
});
