//! The query plans on full tables: they use the indexes, and read no more rows than needed. The
//! server itself reports the plan of each statement (`auto_explain`).

use std::time::Duration;

use retry_workflow::store::{
    Alteration, AttemptOutcome, AttemptRecord, Change, Lease, NewItem, Selection, Settled,
    Settlement, Start, Waiting,
};
use retry_workflow::{Failure, Filter, ItemRecord, ItemState, Store, Timestamp};
use retry_workflow_postgres::PostgresStore;

use super::fixture::{OwnServer, execute, server};

const MINUTE: Duration = Duration::from_secs(60);

/// The number of items in the tables: half of them have ended, and a tenth of those have failed.
const ITEMS: u32 = 200_000;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000)
}

/// Fills the tables with SQL. No statistics have been collected since.
async fn fill(store: &PostgresStore, url: &str) {
    store.enqueue("job", vec![NewItem::new("first", "1")], at(0)).await.unwrap();
    let sql = format!(
        "INSERT INTO retry.items (job, id, payload) \
             SELECT 1, 'item-' || n, repeat('x', 200) FROM generate_series(1, {ITEMS}) n; \
         INSERT INTO retry.states (item, job, state, due, ended, token) \
             SELECT item, 1, CASE WHEN item % 2 = 0 THEN 0 WHEN item % 20 = 1 THEN 3 ELSE 2 END, \
                 CASE WHEN item % 2 = 0 THEN item END, CASE WHEN item % 2 = 1 THEN item END, 1 \
             FROM retry.items WHERE id <> 'first'; \
         INSERT INTO retry.failures \
             SELECT item, 1, item, 3, 'other', 'like ' || item % 10, \
                 '{{\"class\":\"other\",\"message\":\"no\",\"signature\":\"like\"}}' \
             FROM retry.states WHERE state = 3; \
         INSERT INTO retry.history (item, token, run, attempt, started, duration, wait, worker, \
                 part, outcome) \
             SELECT item, 1, 0, 1, 0, 1, 0, 1, 0, 0 FROM retry.states WHERE state > 0; \
         INSERT INTO retry.vals SELECT 'key-' || n, 1, '' FROM generate_series(1, 10000) n"
    );
    execute(url, &sql).await;
}

/// The new lines of the log: each statement with its plan.
fn plans(server: &OwnServer, read: &mut usize) -> Vec<String> {
    let log = server.log();
    let new = log[*read..].to_owned();
    *read = log.len();
    new.split("LOG:  duration: ")
        .skip(1)
        .map(|entry| entry.split("\n2").next().unwrap_or_default().to_owned())
        .filter(|plan| plan.contains("retry\".") && plan.contains("Query Text"))
        .collect()
}

/// The largest number of rows that a node of a plan has returned or filtered out.
fn most_rows(plan: &str) -> f64 {
    let mut is_table = true;
    let numbers = plan.lines().filter_map(|line| {
        if line.contains("-> ") {
            // The priorities that there are, of which a job has some.
            is_table = !line.contains("Function Scan on generate_series");
        }
        if !is_table {
            return None;
        }
        if let Some((_, removed)) = line.split_once("Rows Removed by ") {
            let (_, removed) = removed.split_once("Filter: ")?;
            return removed.trim().parse::<f64>().ok();
        }
        let (_, actual) = line.split_once("(actual rows=")?;
        let (rows, loops) = actual.split_once(" loops=")?;
        let rows: f64 = rows.parse().ok()?;
        Some(rows * loops.trim_end_matches(')').parse::<f64>().ok()?)
    });
    numbers.fold(0.0, f64::max)
}

/// Settings that make the server log the plan of each statement.
const EXPLAINED: [&str; 6] = [
    "fsync=off",
    "shared_preload_libraries=auto_explain",
    "auto_explain.log_min_duration=0",
    "auto_explain.log_analyze=on",
    "auto_explain.log_timing=off",
    "log_min_messages=log",
];

/// The plan that the server keeps is from when there were a few items.
#[tokio::test]
async fn a_claim_looks_items_up_by_their_keys_on_tables_that_have_just_grown() {
    if server().is_none() {
        return;
    }
    let settings = [&EXPLAINED[..], &["autovacuum=off"]].concat();
    let Some((url, server)) = OwnServer::start(&settings) else { return };
    let store = PostgresStore::options().pool_size(1).connect(&url).await.unwrap();
    let enqueue = async |numbers: std::ops::Range<i64>| {
        let items = numbers.map(|number| NewItem::new(number.to_string(), "1")).collect();
        store.enqueue("job", items, at(0)).await.unwrap()
    };
    let claim = async |max| {
        let selection = Selection::Items { max, starts: max };
        store.claim("job", "worker", at(1), selection, MINUTE).await.unwrap().len()
    };
    assert_eq!(enqueue(0..20).await, 20);
    for _ in 0..10 {
        assert_eq!(claim(1).await, 1);
    }
    assert_eq!(enqueue(20..3_000).await, 2_980);
    let mut read = server.log().len();
    assert_eq!(claim(100).await, 100);
    let plans = plans(&server, &mut read);
    assert!(!plans.is_empty());
    for plan in &plans {
        assert!(most_rows(plan) <= 100.0, "a claim looks at {}: {plan}", most_rows(plan));
    }
}

/// The number of pages that a plan has looked at.
fn pages(plan: &str) -> u64 {
    let counts = plan.split("Buffers: shared hit=").skip(1);
    let counts = counts.filter_map(|count| count.split(char::is_whitespace).next()?.parse().ok());
    counts.max().unwrap_or(0)
}

#[tokio::test]
async fn an_overview_passes_over_what_has_been_claimed_since_the_last_vacuum() {
    const DONE: u32 = 20_000;

    if server().is_none() {
        return;
    }
    let settings = [&EXPLAINED[..], &["autovacuum=off", "auto_explain.log_buffers=on"]].concat();
    let Some((url, server)) = OwnServer::start(&settings) else { return };
    let store = PostgresStore::options().pool_size(1).connect(&url).await.unwrap();
    let now = store.now();
    let items = (0..DONE + 10).map(|number| NewItem::new(number.to_string(), "1")).collect();
    store.enqueue("job", items, now).await.unwrap();
    let mut done = 0;
    while done < DONE {
        let selection = Selection::Items { max: 2_000, starts: 2_000 };
        let leases = store.claim("job", "worker", now, selection, MINUTE).await.unwrap();
        done += u32::try_from(leases.len()).unwrap();
        let settle = |lease: Lease| Settlement::new(lease.key, Settled::Succeeded(None), vec![]);
        let settlements = leases.into_iter().map(settle).collect();
        store.settle(settlements, Vec::new(), now).await.unwrap();
    }
    let mut read = server.log().len();
    let overview = store.overview("job", 10_000).await.unwrap();
    assert_eq!((overview.waiting, overview.next_due), (10, Some(now)));
    let plans = plans(&server, &mut read);
    assert!(plans.iter().any(|plan| pages(plan) > 0), "{plans:?}");
    for plan in &plans {
        assert!(pages(plan) < 100, "an overview looks at {} pages: {plan}", pages(plan));
    }

    // A process that has claimed nothing looks at all of it, but once, even if nothing is due.
    let selection = Selection::Items { max: 10, starts: 10 };
    let leases = store.claim("job", "worker", now, selection, MINUTE).await.unwrap();
    assert_eq!(leases.len(), 10);
    let other = PostgresStore::options().pool_size(1).connect(&url).await.unwrap();
    let mut read = server.log().len();
    let overview = other.overview("job", 10_000).await.unwrap();
    assert_eq!((overview.waiting, overview.next_due), (0, Some(now + MINUTE)));
    let plans = self::plans(&server, &mut read);
    let overviews = plans.iter().filter(|plan| plan.contains("sum(pending)")).count();
    assert_eq!(overviews, 1, "{plans:?}");
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one server, and one look at its log behind another")]
async fn each_statement_goes_by_the_indexes_to_the_rows_that_are_meant() {
    if server().is_none() {
        return;
    }
    let more = [
        "autovacuum=off",
        // The planner would use several processes for everything that may be.
        "min_parallel_table_scan_size=0",
        "min_parallel_index_scan_size=0",
        "parallel_setup_cost=0",
        "parallel_tuple_cost=0",
    ];
    let settings = [&EXPLAINED[..], &more].concat();
    let Some((url, server)) = OwnServer::start(&settings) else { return };
    let store = PostgresStore::options().pool_size(1).connect(&url).await.unwrap();
    fill(&store, &url).await;
    let mut read = server.log().len();
    let check = |read: &mut usize, what: &str, index: &str, rows: f64| {
        let plans = plans(&server, read);
        assert!(!plans.is_empty(), "{what} has a plan");
        for plan in &plans {
            let tables = ["states", "items", "history", "failures", "vals", "counts"];
            for table in tables {
                let is_scanned = plan.contains(&format!("Seq Scan on {table}"))
                    || plan.contains(&format!("Seq Scan on retry.{table}"));
                assert!(!is_scanned, "{what} looks at all rows: {plan}");
            }
            assert!(!plan.contains("Gather"), "{what} starts processes: {plan}");
            assert!(most_rows(plan) <= rows, "{what} looks at {}: {plan}", most_rows(plan));
        }
        let plans = plans.join("\n");
        assert!(plans.contains(index), "{what} does not go by {index}: {plans}");
    };
    let mut of_the_job = |what: &str, index: &str, rows: f64| check(&mut read, what, index, rows);

    let leases = store
        .claim("job", "worker", at(1), Selection::Items { max: 100, starts: 50 }, MINUTE)
        .await
        .unwrap();
    assert_eq!(leases.len(), 100);
    of_the_job("a claim", "using claimable", 100.0);
    let leases_on = store
        .claim("job", "worker", at(1), Selection::Items { max: 100, starts: 50 }, MINUTE)
        .await
        .unwrap();
    assert_eq!(leases_on.len(), 100);
    of_the_job("a claim behind the last one", "using claimable", 100.0);
    assert_eq!(
        store.claim("job", "worker", at(1), Selection::Suspect, MINUTE).await,
        Ok(Vec::new())
    );
    of_the_job("a claim of a suspect", "using claimable", 100.0);

    let settlement = |lease: &retry_workflow::store::Lease, end| {
        let row = AttemptRecord::new("worker", at(1), AttemptOutcome::Failed);
        Settlement::new(lease.key, end, vec![row])
    };
    let ends = [
        Settled::Succeeded(None),
        Settled::RetryAt { due: at(900), checkpoint: None },
        Settled::dead(Failure::new("other", "no")),
        Settled::Released,
    ];
    let settlements: Vec<_> =
        leases.iter().zip(ends.into_iter().cycle()).map(|(l, end)| settlement(l, end)).collect();
    let starts = leases_on.iter().map(|lease| Start::new(lease.key, at(1))).collect();
    let settled = store.settle(settlements, starts, at(2)).await.unwrap();
    assert!(settled.iter().all(|good| *good));
    of_the_job("a settlement of 100", "states_pkey", 100.0);
    let keys = leases_on.iter().map(|lease| lease.key).collect();
    assert!(store.extend(keys, Vec::new(), at(500)).await.unwrap().iter().all(|good| *good));
    of_the_job("an extension of 100", "states_pkey", 100.0);

    let new = (0..100).map(|number| NewItem::new(format!("new-{number}"), "1")).collect();
    assert_eq!(store.enqueue("job", new, at(3)).await, Ok(100));
    of_the_job("enqueueing 100", "Conflict Arbiter Indexes: items_job_id_key", 100.0);
    let overview = store.overview("job", 0).await.unwrap();
    assert_eq!((overview.waiting, overview.next_suspect), (0, None));
    of_the_job("an overview", "using claimable", 16.0);
    let ranked = (0..100_i8)
        .map(|number| NewItem::new(format!("ranked-{number}"), "1").priority(number % 5));
    assert_eq!(store.enqueue("job", ranked.collect(), at(3)).await, Ok(100));
    of_the_job("enqueueing 100 by priority", "Conflict Arbiter Indexes: items_job_id_key", 100.0);
    let hundred = Selection::Items { max: 100, starts: 50 };
    let leases = store.claim("job", "worker", at(4), hundred, MINUTE).await.unwrap();
    assert_eq!(leases.iter().filter(|lease| lease.id.starts_with("ranked")).count(), 80);
    of_the_job("a claim by priority", "using claimable", 100.0);
    assert_eq!(store.overview("job", 1000).await.unwrap().waiting, 1000);
    let _ = store.item("job", "item-77").await.unwrap().unwrap();
    // Waiting items are found among those that are due.
    of_the_job("what waits, and an item", "items_job_id_key", f64::from(ITEMS));

    let job = || Filter::job("job");
    let mut page = store.list(&job().states(ItemState::ALL), None, 100).await.unwrap();
    of_the_job("a page of all items", "_pkey", 101.0);
    page = store.list(&job().states(ItemState::ALL), page.next, 100).await.unwrap();
    assert_eq!(page.items.len(), 100);
    of_the_job("the next page", "_pkey", 101.0);
    assert_eq!(store.list(&job(), None, 100).await.unwrap().items.len(), 100);
    of_the_job("a page of dead letters", "using failed", 101.0);
    assert_eq!(store.list(&job().ids(["item-7", "item-9"]), None, 9).await.unwrap().items.len(), 0);
    of_the_job("items by their ids", "items_job_id_key", 2.0);
    assert_eq!(store.list(&job().signature("like 1"), None, 100).await.unwrap().items.len(), 100);
    of_the_job("dead letters that are alike", "Index", f64::from(ITEMS) * 0.06);
    assert_eq!(store.stats(&job(), Some(100)).await.unwrap().len(), 1);
    of_the_job("groups of the newest dead letters", "using failed", 200.0);
    assert_eq!(store.stats(&job().since(at(0)), Some(100)).await.unwrap().len(), 1);
    of_the_job("groups of the newest since a time", "using failed", 200.0);
    assert_eq!(store.stats(&Filter::default(), Some(100)).await.unwrap().len(), 1);
    of_the_job("groups of the newest of all jobs", "using failures_pkey", 200.0);
    assert_eq!(store.jobs(None, 100).await.unwrap().items.len(), 1);
    of_the_job("jobs", "counts_pkey", 200.0);
    let long = store.list(&job().states([ItemState::Succeeded]).class("none"), None, 9).await;
    assert!(long.unwrap().next.is_some());
    of_the_job("a look for what is not there", "items_pkey", 40_100.0);
    let alter = async |filter: &Filter, alteration, max, now| {
        store.alter(filter, alteration, max, at(now)).await.unwrap()
    };
    assert_eq!(alter(&job(), Alteration::redrive(Duration::ZERO), 100, 9).await, 100);
    of_the_job("a re-drive of 100", "using failed", 101.0);
    assert_eq!(alter(&job().ids(["item-41"]), Alteration::Purge, 9, 9).await, 0);
    of_the_job("a purge by id", "items_job_id_key", 2.0);
    let skip = Alteration::Skip(Failure::new("cancelled", "no"));
    assert_eq!(alter(&job(), skip, 50, 9).await, 50);
    of_the_job("leaving out 50", "using claimable", 500.0);
    let left_out = job().states([ItemState::Skipped]);
    assert_eq!(store.list(&left_out, None, 100).await.unwrap().items.len(), 50);
    of_the_job("a page of skipped items", "using skipped", 51.0);
    assert_eq!(store.stats(&left_out, Some(100)).await.unwrap().len(), 1);
    of_the_job("groups of skipped items", "using skipped", 101.0);
    let all_left_out = Filter::default().states([ItemState::Skipped]);
    assert_eq!(store.stats(&all_left_out, Some(100)).await.unwrap().len(), 1);
    of_the_job("groups of skipped items of all jobs", "using left_out", 101.0);
    assert_eq!(alter(&job(), Alteration::MakeDue(Waiting::All), 50, 0).await, 50);
    of_the_job("making 50 due", "using claimable", 500.0);
    assert_eq!(alter(&job(), Alteration::MakeDue(Waiting::ForLimit), 50, 9).await, 0);
    of_the_job("a recall", "using claimable", 500.0);
    let edit = Alteration::Edit("2".to_owned());
    assert_eq!(alter(&job().ids(["item-2"]), edit, 1, 9).await, 0);
    of_the_job("an edit", "items_job_id_key", 2.0);
    let imported: Vec<_> = (0..1_000)
        .map(|number| {
            let mut item = ItemRecord::new("job", format!("import-{number}"), "1");
            item.state = ItemState::Dead;
            item.ended = Some(at(number));
            item.failure = Some(Failure::new("other", "no"));
            item.history = vec![AttemptRecord::new("worker", at(1), AttemptOutcome::Failed)];
            item
        })
        .collect();
    assert_eq!(store.import(imported.clone(), at(9)).await, Ok(1_000));
    // No part of the batch is compared with another.
    of_the_job("an import of 1,000", "Conflict Arbiter Indexes: items_job_id_key", 1_000.0);
    assert_eq!(store.import(imported, at(9)).await, Ok(0));
    of_the_job("an import of what is there", "Conflict Arbiter Indexes", 1_000.0);
    assert_eq!(store.cas("key-7", 1, "x").await, Ok(true));
    store.get("key-7").await.unwrap();
    store.values("key-77").await.unwrap();
    let change: Change = Box::new(|values| {
        values.fill(Some("y".to_owned()));
        Ok(())
    });
    store.update(["key-8", "key-9", "none"].map(String::from).to_vec(), change).await.unwrap();
    of_the_job("values", "vals_pkey", 200.0);
    assert_eq!(store.remove("job", 100, Vec::new()).await, Ok(100));
    of_the_job("removing 100", "items_pkey", 200.0);

    // To the statistics, there is one job with failures of one kind; then another one has a few.
    let alike = "UPDATE retry.failures SET signature = 'like', class = 'other' WHERE job = 1";
    execute(&url, alike).await;
    execute(&url, "ANALYZE").await;
    let failure = Failure::new("other", "it is late");
    let late = (0..30).map(|number| {
        let mut item = ItemRecord::new("late", format!("late-{number}"), "1");
        item.state = ItemState::Dead;
        item.ended = Some(at(number));
        item.failure = Some(failure.clone());
        item
    });
    assert_eq!(store.import(late.collect(), at(9)).await, Ok(30));
    plans(&server, &mut read);
    let mut of_late = |what: &str, index: &str, rows: f64| check(&mut read, what, index, rows);
    let late = || Filter::job("late");
    assert_eq!(store.list(&late(), None, 100).await.unwrap().items.len(), 30);
    of_late("a page of a small job", "using failed", 60.0);
    let signature = late().signature(failure.signature.as_str());
    assert_eq!(store.list(&signature, None, 100).await.unwrap().items.len(), 30);
    of_late("what is alike of a small job", "using alike", 60.0);
    let all = late().states(ItemState::ALL);
    assert_eq!(store.list(&all, None, 100).await.unwrap().items.len(), 30);
    of_late("all items of a small job", "items_pkey", 60.0);
    assert_eq!(store.stats(&late().since(at(9)), None).await.unwrap()[0].count, 21);
    of_late("groups of a small job since a time", "Index", 60.0);
    assert_eq!(store.counts("late").await.unwrap().dead, 30);
    of_late("counts of a small job", "counts_pkey", 16.0);
    assert_eq!(store.stats(&late(), None).await.unwrap()[0].count, 30);
    of_late("groups of a small job", "using alike", 60.0);
    assert_eq!(alter(&late(), Alteration::redrive(Duration::ZERO), 10, 9).await, 10);
    of_late("a re-drive of a small job", "using failed", 60.0);
    assert_eq!(alter(&signature, Alteration::redrive(Duration::ZERO), 10, 9).await, 10);
    of_late("a re-drive of what is alike", "Index", 60.0);
    assert_eq!(alter(&late(), Alteration::Purge, usize::MAX, 9).await, 10);
    of_late("a purge of a small job", "using failed", 60.0);
}
