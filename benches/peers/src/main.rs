//! Runs the work of the part `jobs` with other libraries, and prints how long it took:
//! `jobs-peers <library> <items> <at a time> <store>`, where the store is a file or the address of
//! a Postgres server.
//!
//! Each library is set up for speed, as in its documentation and its own benchmarks; the head of
//! its module describes how.

#[path = "../../src/chore.rs"]
mod chore;

mod apalis;
mod database;
mod graphile;

use std::time::Duration;
use std::{env, iter};

use tokio::runtime::Builder;

use self::chore::{Chore, THREADS, chores, report};

/// The total time, and the part of it after all items had been added.
type Spent = (Duration, Duration);

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [library, items, at_a_time, store] = &arguments[..] else {
        panic!("`jobs-peers <library> <items> <at a time> <store>`")
    };
    let items = items.parse().expect("a number of items");
    let at_a_time = at_a_time.parse().expect("a number of items");
    let runtime = Builder::new_multi_thread().worker_threads(THREADS).enable_all().build();
    let (all, handling) = runtime.expect("a runtime").block_on(async {
        match library.as_str() {
            "apalis" => apalis::on_sqlite(store, items, at_a_time).await,
            "postgres-apalis" => apalis::on_postgres(store, items, at_a_time).await,
            "postgres-graphile" => graphile::on_postgres(store, items, at_a_time).await,
            _ => panic!("there is no `{library}`"),
        }
    });
    report(all, Some(handling));
}

/// The items, 1,000 at a time.
fn batches(items: u64) -> impl Iterator<Item = Vec<Chore>> {
    let mut items = chores(items);
    iter::from_fn(move || Some(items.by_ref().take(1_000).collect::<Vec<_>>()))
        .take_while(|batch| !batch.is_empty())
}
