//! Grows a store tenfold, and times the work of a worker on it: `grow <copies> <store>`, where the
//! store is a file or the address of a Postgres server.
//!
//! With one copy, the store writes the first items itself. Later copies are made of these rows by
//! SQL, because a store would take an hour for ten million items.

#[path = "../claims.rs"]
mod claims;
#[path = "../letters.rs"]
mod letters;

use std::env;
use std::fs::File;
use std::time::{Duration, Instant};

use retry_benches::race::median;
use retry_workflow::store::NewItem;
use retry_workflow::{ItemRecord, Job, SqliteStore, Store, Timestamp};
use retry_workflow_postgres::PostgresStore;
use retry_workflow_postgres::tokio_postgres::{Client, NoTls, SimpleQueryMessage, connect};
use rusqlite::Connection;
use tokio::runtime::Builder;

use self::claims::claim_and_settle;
use self::letters::{SCHEMA, letter};

const JOB: &str = "night-1";
/// The number of items of a copy: every other one is a dead letter, the others wait.
const ITEMS: u32 = 10_000;
/// The tables with rows for each item.
const TABLES: [&str; 4] = ["items", "states", "history", "failures"];
/// A copy is made of a store with a tenth of the items.
const STEP: u32 = 10;
const HOUR: Duration = Duration::from_hours(1);

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [copies, on] = &arguments[..] else { panic!("`grow <copies> <store>`") };
    let copies = copies.parse().expect("a number of copies");
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(async {
        if on.starts_with("postgres://") {
            let options = PostgresStore::options().schema(SCHEMA);
            let store = options.connect(on).await.expect("a server");
            let (client, connection) = connect(on, NoTls).await.expect("a server");
            tokio::spawn(connection);
            let database = Database::Postgres(client);
            let settings = format!("SET search_path = {SCHEMA}; SET synchronous_commit = off");
            database.execute(&settings).await;
            run(&store, &database, copies).await;
        } else {
            let store = SqliteStore::open(on).expect("a file");
            let file = File::options().append(true).open(on).expect("a file");
            let database = Database::Sqlite(Connection::open(on).expect("a file"), file);
            database.execute("PRAGMA synchronous = OFF; PRAGMA cache_size = -500000").await;
            run(&store, &database, copies).await;
        }
    });
}

async fn run(store: &impl Store, database: &Database, copies: u32) {
    let start = Instant::now();
    if copies == 1 {
        write(store).await;
        for table in TABLES {
            let sql = format!("CREATE TABLE seed_{table} AS SELECT * FROM {table}");
            database.execute(&sql).await;
        }
    } else {
        database.copy(copies / STEP, copies).await;
    }
    database.tidy().await;
    print("grown", start.elapsed().as_secs_f64());
    measure(store, copies).await;
    println!("bytes\t{}", database.text(database.size()).await);
}

/// Writes the first items, at times of a night of eight hours.
async fn write(store: &impl Store) {
    let now = Timestamp::now();
    let night = now - 20 * HOUR;
    let items = (0..ITEMS).map(|n| {
        let mut item = match n % 2 {
            0 => letter(JOB, n, n / 2, night + 8 * HOUR / ITEMS * n),
            _ => ItemRecord::new(JOB, n.to_string(), ""),
        };
        item.history.truncate(1);
        item.payload = format!(r#"{{"order":{n}}}"#);
        item
    });
    store.import(items.collect(), now).await.expect("a store that works");
    Job::create(store, "night", None).await.expect("a store that works");
}

/// Prints how long a worker takes for a hundred items, of which there are enough in the first copy.
async fn measure(store: &impl Store, copies: u32) {
    const ROUNDS: u32 = 20;
    const AT_A_TIME: u32 = 100;
    let mut times = [const { Vec::new() }; 3];
    for round in 0..ROUNDS {
        let item = |n| NewItem::new(format!("new-{copies}-{round}-{n}"), "{}");
        let items = (0..AT_A_TIME).map(item).collect();
        let start = Instant::now();
        store.enqueue(JOB, items, Timestamp::now()).await.expect("a store that works");
        let enqueued = start.elapsed();
        let worked = claim_and_settle(store, JOB, AT_A_TIME as usize).await;
        let [claimed, settled] = worked.expect("items that wait");
        for (times, time) in times.iter_mut().zip([enqueued, claimed, settled]) {
            times.push(time.as_secs_f64());
        }
    }
    for (name, times) in ["enqueue", "claim", "settle"].into_iter().zip(times) {
        print(name, median(times));
    }
}

fn print(name: &str, seconds: f64) {
    println!("{name}\t{seconds}");
}

/// A connection to the tables of a store.
enum Database {
    Sqlite(Connection, File),
    Postgres(Client),
}

impl Database {
    async fn execute(&self, sql: &str) {
        match self {
            Self::Sqlite(connection, _) => connection.execute_batch(sql).expect("SQL"),
            Self::Postgres(client) => client.batch_execute(sql).await.expect("SQL"),
        }
    }

    /// The only column of the only row.
    async fn text(&self, sql: &str) -> String {
        match self {
            Self::Sqlite(connection, _) => {
                connection.query_row(sql, (), |row| row.get(0)).expect("a text")
            }
            Self::Postgres(client) => {
                let found = client.simple_query(sql).await.expect("SQL");
                let row = found.iter().find_map(|message| match message {
                    SimpleQueryMessage::Row(row) => row.get(0),
                    _ => None,
                });
                row.expect("a text").to_owned()
            }
        }
    }

    async fn columns(&self, table: &str) -> String {
        let sql = match self {
            Self::Sqlite(..) => {
                format!("SELECT group_concat(name, ', ') FROM pragma_table_info('{table}')")
            }
            Self::Postgres(_) => format!(
                "SELECT string_agg(column_name, ', ') FROM information_schema.columns \
                 WHERE table_schema = '{SCHEMA}' AND table_name = '{table}'"
            ),
        };
        self.text(&sql).await
    }

    /// Copies the rows of the first items, and adds them to the counts.
    async fn copy(&self, from: u32, to: u32) {
        let last = self.text("SELECT CAST(max(item) AS text) FROM items").await;
        let last: u32 = last.parse().expect("a number");
        let numbers = match self {
            Self::Sqlite(..) => "",
            Self::Postgres(_) => "OVERRIDING SYSTEM VALUE",
        };
        let mut columns = Vec::new();
        for table in TABLES {
            columns.push((table, self.columns(table).await));
        }
        for copy in from..to {
            let number = last + (copy - from) * ITEMS;
            let inserts = columns.iter().map(|(table, columns)| {
                let values = columns.split(", ").map(|column| match column {
                    "item" => format!("item + {number}"),
                    "id" => format!("'{copy}-' || id"),
                    other => other.to_owned(),
                });
                let values = values.collect::<Vec<_>>().join(", ");
                format!(
                    "INSERT INTO {table} ({columns}) {numbers} SELECT {values} FROM seed_{table};"
                )
            });
            self.execute(&format!("BEGIN; {} COMMIT", inserts.collect::<String>())).await;
        }
        let each = (to - from) * ITEMS / 2;
        let counts = format!("SET pending = pending + {each}, dead = dead + {each}");
        let rest = match self {
            Self::Sqlite(..) => format!("UPDATE jobs {counts}"),
            Self::Postgres(_) => format!(
                "UPDATE counts {counts} WHERE shard = (SELECT min(shard) FROM counts);
                 SELECT setval(pg_get_serial_sequence('items', 'item'), max(item)) FROM items"
            ),
        };
        self.execute(&format!("BEGIN; {rest}; COMMIT")).await;
    }

    /// Does now what the database and the system would do later, during the measurements.
    async fn tidy(&self) {
        match self {
            Self::Sqlite(_, file) => {
                self.execute("PRAGMA wal_checkpoint(TRUNCATE)").await;
                file.sync_all().expect("a disk");
            }
            Self::Postgres(_) => {
                self.execute("VACUUM (ANALYZE)").await;
                self.execute("CHECKPOINT").await;
            }
        }
    }

    /// The query for the size of the store in bytes.
    const fn size(&self) -> &'static str {
        match self {
            Self::Sqlite(..) => {
                "SELECT CAST(page_count * page_size AS text) FROM pragma_page_count, pragma_page_size"
            }
            Self::Postgres(_) => {
                "SELECT sum(pg_total_relation_size(relid))::text FROM pg_stat_user_tables \
                 WHERE schemaname = current_schema()"
            }
        }
    }
}
