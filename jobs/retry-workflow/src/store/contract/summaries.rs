//! The summaries of a store: failures by hour, the items that ended in each minute, the durations
//! of attempts, jobs; and lists that end early.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::steps::{
    FAILED, MINUTE, at, claim, claim_in, claim_one, counts, enqueue, everything, failure, found,
    ids, kill, new, put_back, row, settle,
};
use crate::item::durations::{DURATIONS_KEPT, Durations, Histogram, MAX_STEPS, OTHER_STEPS};
use crate::item::record::{
    AttemptOutcome, AttemptRecord, Filter, ItemRecord, ItemState, Lease, NewItem, Settled,
    Settlement, StepTime,
};
use crate::item::summary::{Group, HourCount, Minute};
use crate::store::{MAX_ROWS_SCANNED, Store};

const HOUR: i64 = 3600;

fn failed() -> Filter {
    Filter::job("job").states(FAILED)
}

async fn groups(store: &Arc<dyn Store>, filter: &Filter) -> Vec<Group> {
    store.stats(filter).await.expect("groups")
}

/// The start of each hour, in seconds, with how many ended in it.
fn hours(group: &Group) -> Vec<(i64, u64)> {
    let hour =
        |count: &HourCount| ((count.hour.as_micros() - at(0).as_micros()) / 1_000_000, count.count);
    group.hours.iter().map(hour).collect()
}

/// Enqueues, claims and settles an item as dead, with this failure at that time.
async fn kill_at(store: &Arc<dyn Store>, id: &str, second: i64, message: &str) {
    enqueue(store, "job", &[id]).await;
    let lease = claim_one(store, second).await;
    settle(store, &lease, second, Settled::Dead(failure("other", message))).await;
}

/// Groups list the hours in which their items ended, the oldest first; even for a filter that the
/// summary cannot answer.
pub async fn groups_have_their_hours(store: &Arc<dyn Store>) {
    let seconds = [0, 5, HOUR - 1, HOUR, 5 * HOUR + 7];
    for (number, second) in seconds.into_iter().enumerate() {
        kill_at(store, &format!("item-{number}"), second, &format!("order {number} is bad")).await;
    }
    for filter in [Filter::job("job"), Filter::default(), Filter::job("job").since(at(-9))] {
        let groups = groups(store, &filter).await;
        assert_eq!(groups.len(), 1);
        assert_eq!(hours(&groups[0]), [(0, 3), (HOUR, 1), (5 * HOUR, 1)]);
        assert_eq!((groups[0].first, groups[0].last), (at(0), at(5 * HOUR + 7)));
    }
    let late = groups(store, &Filter::job("job").since(at(HOUR))).await;
    assert_eq!(hours(&late[0]), [(HOUR, 1), (5 * HOUR, 1)]);
}

/// The counts of groups are right whatever happens to items; the example is still one of them, and
/// first and last are in the right hour.
pub async fn groups_follow_the_items(store: &Arc<dyn Store>) {
    for number in 0..4 {
        let (id, second) = (format!("item-{number}"), HOUR * number);
        kill_at(store, &id, second, &format!("order {number} is bad")).await;
    }
    // The oldest and the newest are re-driven.
    let ends = failed().ids(["item-0", "item-3"]);
    assert_eq!(store.redrive(&ends, None, at(9 * HOUR), Duration::ZERO).await, Ok(2));
    let left = groups(store, &failed()).await;
    assert_eq!(hours(&left[0]), [(HOUR, 1), (2 * HOUR, 1)]);
    assert_eq!((left[0].first.hour(), left[0].last.hour()), (at(HOUR), at(2 * HOUR)));
    assert!(["item-1", "item-2"].contains(&left[0].example.as_str()), "{left:?}");
    // One is purged, one dies again, one is skipped with the same message.
    assert_eq!(store.purge(&failed().ids(["item-1"])).await, Ok(1));
    let lease = claim_one(store, 9 * HOUR).await;
    settle(store, &lease, 9 * HOUR, Settled::Dead(failure("other", "order 7 is bad"))).await;
    let why = failure("other", "order 8 is bad");
    assert_eq!(store.skip("job", 9, why, at(10 * HOUR)).await, Ok(1));
    let all = groups(store, &failed()).await;
    assert_eq!(hours(&all[0]), [(2 * HOUR, 1), (9 * HOUR, 1), (10 * HOUR, 1)]);
    let skipped = groups(store, &Filter::job("job").states([ItemState::Skipped])).await;
    assert_eq!((hours(&skipped[0]), &*skipped[0].example), (vec![(10 * HOUR, 1)], "item-3"));
    assert_eq!(skipped[0].message, "order 8 is bad");
    // A copy has the same groups.
    let items = ["item-0", "item-2", "item-3"].map(async |id| {
        let item = found(store, id).await;
        ItemRecord { job: "copy".to_owned(), ..item }
    });
    let mut copies = Vec::new();
    for item in items {
        copies.push(item.await);
    }
    assert_eq!(store.import(copies, at(20 * HOUR)).await, Ok(3));
    let states = [ItemState::Dead, ItemState::Skipped];
    let in_copy = groups(store, &Filter::job("copy").states(states)).await;
    assert_eq!(hours(&in_copy[0]), hours(&all[0]));
    assert_eq!(groups(store, &Filter::default().states(states)).await[0].count, 6);
    // The last of them go.
    assert_eq!(store.purge(&Filter::default().states(states)).await, Ok(6));
    assert_eq!(groups(store, &Filter::default().states(states)).await, []);
}

/// Enqueues, claims and settles items of any job as dead.
async fn kill_in(store: &Arc<dyn Store>, job: &str, items: &[(&str, i64, &str)]) {
    for (id, second, message) in items {
        enqueue(store, job, &[id]).await;
        let leases = claim_in(store, (job, "worker"), at(*second), (1, 1)).await;
        settle(store, &leases[0], *second, Settled::Dead(failure("other", message))).await;
    }
}

fn anywhere() -> Filter {
    Filter::default().states(FAILED)
}

/// The groups over all jobs have the counts and hours of the items themselves, which a limit by
/// time makes the store look at; the examples are among them.
async fn groups_add_up(store: &Arc<dyn Store>) {
    for states in [&[ItemState::Dead, ItemState::Skipped][..], &[ItemState::Skipped]] {
        let filter = Filter::default().states(states.iter().copied());
        let summed = groups(store, &filter).await;
        let looked = groups(store, &filter.clone().since(at(-HOUR))).await;
        let shape = |groups: &[Group]| -> Vec<_> {
            let shape = groups.iter().map(|group| {
                let ends = (group.first.hour(), group.last.hour());
                let name = (group.class.clone(), group.signature.clone());
                (name, group.count, hours(group), ends)
            });
            shape.collect()
        };
        assert_eq!(shape(&summed), shape(&looked));
        for group in summed {
            let name = (&group.class, &group.signature);
            let alike = filter.clone().class(name.0).signature(name.1.as_str());
            let page = store.list(&alike, None, 99).await.expect("a page");
            let is_example = |item: &ItemRecord| {
                item.id == group.example
                    && item.failure.as_ref().is_some_and(|why| why.message == group.message)
            };
            assert!(page.items.iter().any(is_example), "{group:?} {:?}", page.items);
        }
    }
}

/// A filter without a job selects the failures of all jobs, added up.
pub async fn groups_over_all_jobs_are_those_of_each(store: &Arc<dyn Store>) {
    assert_eq!(groups(store, &Filter::default()).await, []);
    let (near, far) = (2 * HOUR, 5 * HOUR + 7);
    kill_in(store, "job", &[("a", 3, "order 1 is bad"), ("b", near, "order 2 is bad")]).await;
    kill_in(store, "other", &[("c", 1, "order 3 is bad"), ("d", far, "order 4 is bad")]).await;
    kill_in(store, "third", &[("e", 9, "order 5 is bad"), ("f", 9, "it is late")]).await;
    let why = failure("timeout", "order 6 is bad");
    enqueue(store, "third", &["g"]).await;
    assert_eq!(store.skip("third", 9, why, at(near)).await, Ok(1));
    let all = groups(store, &Filter::default()).await;
    let names: Vec<_> = all.iter().map(|group| (group.signature.as_str(), group.count)).collect();
    assert_eq!(names, [("order <n> is bad", 5), ("it is late", 1)]);
    assert_eq!(hours(&all[0]), [(0, 3), (near, 1), (5 * HOUR, 1)]);
    assert_eq!((all[0].first, all[0].last), (at(1), at(far)));
    assert_eq!((&*all[1].example, &*all[1].message), ("f", "it is late"));
    groups_add_up(store).await;
    // The conditions of a filter beside the job.
    let of = async |filter: Filter| -> Vec<(u64, usize)> {
        let groups = groups(store, &filter).await;
        groups.iter().map(|group| (group.count, group.hours.len())).collect()
    };
    assert_eq!(of(Filter::default().signature("it is late")).await, [(1, 1)]);
    assert_eq!(of(Filter::default().class("other")).await, [(5, 3), (1, 1)]);
    assert_eq!(of(Filter::default().class("timeout")).await, []);
    assert_eq!(of(anywhere().class("timeout").signature("order <n> is bad")).await, [(1, 1)]);
    assert_eq!(of(anywhere().states([ItemState::Skipped])).await, [(1, 1)]);
    assert_eq!(of(Filter::default().states([ItemState::Succeeded])).await, []);
}

/// The groups over all jobs are right whatever happens to the items of any of them.
pub async fn groups_over_all_jobs_follow_the_items(store: &Arc<dyn Store>) {
    let bad = "order 1 is bad";
    kill_in(store, "job", &[("a", 0, bad), ("b", HOUR, bad), ("c", HOUR, "it is late")]).await;
    kill_in(store, "other", &[("d", HOUR, bad), ("e", 2 * HOUR, bad)]).await;
    groups_add_up(store).await;
    // The newest is re-driven, one of an hour that another job has as well, the only one of its
    // kind; one of them dies again.
    for id in ["e", "b", "c"] {
        let one = anywhere().ids([id]);
        assert_eq!(store.redrive(&one, None, at(3 * HOUR), Duration::ZERO).await, Ok(1));
        groups_add_up(store).await;
    }
    let lease = claim_one(store, 3 * HOUR).await;
    settle(store, &lease, 3 * HOUR, Settled::Dead(failure("other", bad))).await;
    groups_add_up(store).await;
    assert_eq!(store.skip("other", 1, failure("other", bad), at(4 * HOUR)).await, Ok(1));
    groups_add_up(store).await;
    assert_eq!(store.edit("other", "d", "7".to_owned()).await, Ok(true));
    groups_add_up(store).await;
    let mut copies = Vec::new();
    for id in ["a", "b"] {
        let mut copy = found(store, id).await;
        "copy".clone_into(&mut copy.job);
        copies.push(copy);
    }
    assert_eq!(store.import(copies, at(9 * HOUR)).await, Ok(2));
    groups_add_up(store).await;
    assert_eq!(store.purge(&anywhere().ids(["d"])).await, Ok(1));
    groups_add_up(store).await;
    // All items of the job with the newest are gone, but not yet the job: another one has examples.
    assert_eq!(store.remove("other", 2, Vec::new()).await, Ok(2));
    let left = groups(store, &anywhere().signature("order <n> is bad")).await;
    assert!(left.iter().any(|group| ["a", "b"].contains(&&*group.example)), "{left:?}");
    for (job, items) in [("other", 0), ("copy", 2), ("job", 3)] {
        assert_eq!(store.remove(job, 9, Vec::new()).await, Ok(items));
        groups_add_up(store).await;
    }
    assert_eq!(groups(store, &anywhere()).await, []);
    kill_in(store, "job", &[("a", 0, bad)]).await;
    groups_add_up(store).await;
}

/// The events of a minute stay, even if the items change later; minutes without events are left
/// out.
pub async fn minutes_have_what_ended_in_them(store: &Arc<dyn Store>) {
    assert_eq!(store.minutes("job", at(0)).await, Ok(Vec::new()));
    enqueue(store, "job", &["a", "b", "c", "d", "e"]).await;
    let leases = claim(store, 0, 4).await;
    settle(store, &leases[0], 1, Settled::Succeeded(None)).await;
    let retry = Settled::RetryAt { due: at(60), checkpoint: None };
    settle(store, &leases[1], 59, retry).await;
    settle(store, &leases[2], 60, Settled::Dead(failure("other", "no"))).await;
    let two = vec![row(&leases[3], 119, true), row(&leases[3], 119, false)];
    let end = Settlement::new(leases[3].key, Settled::Skipped(None), two);
    assert_eq!(store.settle(vec![end], Vec::new(), at(119)).await, Ok(vec![true]));
    assert_eq!(store.skip("job", 1, failure("other", "no"), at(600)).await, Ok(1));
    // Its attempt is lost, which counts in no minute.
    assert_eq!(claim(store, 601, 1).await.len(), 1);
    let again = claim(store, 700, 1).await;
    settle(store, &again[0], 700, Settled::Succeeded(None)).await;

    let minute = |start: i64, [succeeded, dead, skipped, attempts, failed]: [u64; 5]| Minute {
        minute: at(start),
        succeeded,
        dead,
        skipped,
        attempts,
        failed,
    };
    let expected = [
        minute(0, [1, 0, 0, 2, 1]),
        minute(60, [0, 1, 1, 3, 2]),
        minute(600, [0, 0, 1, 0, 0]),
        minute(660, [1, 0, 0, 1, 0]),
    ];
    assert_eq!(store.minutes("job", at(-9)).await.as_deref(), Ok(&expected[..]));
    assert_eq!(store.minutes("job", at(119)).await.as_deref(), Ok(&expected[1..]));
    assert_eq!(store.minutes("job", at(720)).await, Ok(Vec::new()));
    assert_eq!(store.minutes("other", at(0)).await, Ok(Vec::new()));
    store.redrive(&failed(), Some(1), at(800), MINUTE).await.expect("re-driven");
    store.purge(&failed()).await.expect("purged");
    assert_eq!(store.minutes("job", at(0)).await.as_deref(), Ok(&expected[..]));

    // Imported items count when they ended elsewhere.
    let mut item = ItemRecord::new("copy", "a", "1");
    (item.state, item.ended) = (ItemState::Succeeded, Some(at(300)));
    item.history = OUTCOMES
        .map(|outcome| AttemptRecord {
            duration: MINUTE,
            ..AttemptRecord::new("w", at(230), outcome)
        })
        .into();
    assert_eq!(store.import(vec![item], at(900)).await, Ok(1));
    let expected = [minute(240, [0, 0, 0, 2, 1]), minute(300, [1, 0, 0, 0, 0])];
    assert_eq!(store.minutes("copy", at(0)).await.as_deref(), Ok(&expected[..]));
}

/// All outcomes; those in the middle do not count.
const OUTCOMES: [AttemptOutcome; 4] = [
    AttemptOutcome::Failed,
    AttemptOutcome::Lost,
    AttemptOutcome::Postponed,
    AttemptOutcome::Succeeded,
];

/// The settlement of a lease with attempts at these steps that took so many milliseconds; the first
/// of them failed.
fn with_steps(lease: &Lease, steps: &[(Option<&str>, u64)]) -> Settlement {
    let mut history = Vec::new();
    for (step, millis) in steps {
        let mut row = row(lease, 1, history.is_empty());
        row.step = step.map(ToOwned::to_owned);
        row.duration = Duration::from_millis(*millis);
        history.push(row);
    }
    Settlement::new(lease.key, Settled::Succeeded(None), history)
}

async fn durations(store: &Arc<dyn Store>, job: &str, since: i64) -> Durations {
    store.durations(job, at(since)).await.expect("durations")
}

/// Durations of so many milliseconds by step.
fn took(steps: &[(Option<&str>, u64)]) -> Durations {
    let mut durations = Durations::new();
    for (step, millis) in steps {
        durations.add(*step, Duration::from_millis(*millis));
    }
    durations
}

/// Rows of history and step times count, in the minute of their settlement; lost attempts do not.
pub async fn durations_are_counted_by_step(store: &Arc<dyn Store>) {
    assert!(durations(store, "job", 0).await.is_empty(), "nobody knows the job");
    enqueue(store, "job", &["a", "b", "c", "d"]).await;
    let leases = claim(store, 0, 3).await;
    let first = with_steps(&leases[0], &[(Some("load"), 20), (Some("load"), 21), (None, 5_000)]);
    let mut second = with_steps(&leases[1], &[(Some("sa\\ve 'é\0'"), 3)]);
    second.step_times = vec![
        StepTime::new("load", Duration::from_millis(700)),
        StepTime::new("", Duration::from_secs(6)),
    ];
    let ends = vec![first, second];
    assert_eq!(store.settle(ends, Vec::new(), at(59)).await, Ok(vec![true, true]));
    let early = took(&[
        (Some("load"), 20),
        (Some("load"), 20),
        (Some("load"), 700),
        (Some("sa\\ve 'é\0'"), 3),
        (None, 5_000),
        (None, 6_000),
    ]);
    assert_eq!(durations(store, "job", 0).await, early);
    // Its attempt is lost, and a release has none.
    let again = claim(store, 90, 2).await;
    settle(store, &again[0], 90, Settled::Succeeded(None)).await;
    put_back(store, &again[1], 91, Settled::Released).await;
    let late = took(&[(None, 1_000)]);
    assert_eq!(durations(store, "job", 60).await, late);
    assert_eq!(durations(store, "job", 119).await, late, "the whole minute");
    let mut both = early;
    both.merge(&late);
    assert_eq!(durations(store, "job", 59).await, both);
    assert!(durations(store, "job", 120).await.is_empty());
    assert!(durations(store, "other", 0).await.is_empty());
    // Later changes of the items change nothing.
    store.redrive(&failed(), None, at(100), MINUTE).await.expect("re-driven");
    store.purge(&failed()).await.expect("purged");
    assert_eq!(durations(store, "job", 0).await, both);

    // Imported attempts count in the minute in which they ended elsewhere.
    let mut item = ItemRecord::new("copy", "a", "1");
    (item.state, item.ended) = (ItemState::Succeeded, Some(at(300)));
    item.history = OUTCOMES
        .map(|outcome| AttemptRecord {
            duration: MINUTE,
            ..AttemptRecord::new("w", at(230), outcome)
        })
        .into();
    assert_eq!(store.import(vec![item.clone()], at(900)).await, Ok(1));
    assert_eq!(store.import(vec![item], at(900)).await, Ok(0), "it is there");
    assert_eq!(durations(store, "copy", 0).await, took(&[(None, 60_000), (None, 60_000)]));
    assert!(durations(store, "copy", 300).await.is_empty());

    // A job that was removed starts again from nothing.
    assert_eq!(store.remove("job", 9, Vec::new()).await, Ok(4));
    assert!(durations(store, "job", 0).await.is_empty());
    assert!(!durations(store, "copy", 0).await.is_empty(), "it is another job");
}

/// A batch counts what was settled, and nothing else.
pub async fn durations_of_a_refused_settlement_do_not_count(store: &Arc<dyn Store>) {
    enqueue(store, "job", &["a", "b", "c"]).await;
    let stale = claim_one(store, 0).await;
    let leases = claim(store, 100, 3).await;
    assert_eq!(leases.len(), 3);
    let again = leases.iter().find(|lease| lease.id == stale.id).expect("it was claimed again");
    let other = leases.iter().find(|lease| lease.id != stale.id).expect("another one");
    let ends = vec![
        with_steps(&stale, &[(Some("load"), 1_000), (Some("stale"), 1_000)]),
        with_steps(again, &[(Some("load"), 20), (None, 20)]),
        with_steps(other, &[(Some("load"), 21), (Some("save"), 300)]),
        with_steps(other, &[(Some("twice"), 1_000)]),
    ];
    let settled = store.settle(ends, Vec::new(), at(101)).await;
    assert_eq!(settled, Ok(vec![false, true, true, false]));
    let steps = [(Some("load"), 20), (Some("load"), 20), (Some("save"), 300), (None, 20)];
    assert_eq!(durations(store, "job", 0).await, took(&steps));
    let alone = with_steps(&stale, &[(Some("load"), 1_000)]);
    assert_eq!(store.settle(vec![alone], Vec::new(), at(102)).await, Ok(vec![false]));
    assert_eq!(durations(store, "job", 0).await, took(&steps));
}

/// One call may settle leases of several jobs.
pub async fn durations_of_several_jobs_in_one_settlement_are_apart(store: &Arc<dyn Store>) {
    let mut ends = Vec::new();
    for (job, millis) in [("job", 20), ("other", 300)] {
        enqueue(store, job, &["a", "b"]).await;
        let leases = claim_in(store, (job, "worker"), at(0), (2, 2)).await;
        ends.extend(leases.iter().map(|lease| {
            with_steps(lease, &[(Some("load"), millis), (Some(job), millis), (None, millis)])
        }));
    }
    let settled = store.settle(ends, Vec::new(), at(1)).await;
    assert_eq!(settled, Ok(vec![true; 4]));
    for (job, millis) in [("job", 20), ("other", 300)] {
        let one = took(&[(Some("load"), millis), (Some(job), millis), (None, millis)]);
        let mut two = one.clone();
        two.merge(&one);
        assert_eq!(durations(store, job, 0).await, two);
    }
}

/// Older minutes may be gone, but not the minutes of the last hour, however long nothing was
/// settled.
pub async fn durations_of_the_last_hour_are_kept(store: &Arc<dyn Store>) {
    let minute = |number: i64| number * 60;
    for number in [0, 30, 60, 61, 90, 150] {
        let id = format!("item-{number}");
        enqueue(store, "job", &[&id]).await;
        let lease = claim_one(store, minute(number)).await;
        let end = with_steps(&lease, &[(Some(&id), 20)]);
        let settled = store.settle(vec![end], Vec::new(), at(minute(number))).await;
        assert_eq!(settled, Ok(vec![true]));
    }
    let kept = durations(store, "job", minute(90)).await;
    assert_eq!(kept, took(&[(Some("item-90"), 20), (Some("item-150"), 20)]));
    assert_eq!(DURATIONS_KEPT, Duration::from_secs(3_600));
}

/// Names of steps may contain ids; even then, a summary does not get as large as the history.
pub async fn many_steps_are_bounded(store: &Arc<dyn Store>) {
    let count = |durations: &Durations| -> u64 {
        durations.steps().iter().map(|step| step.took.count()).sum()
    };
    let mut expected = 0;
    for batch in 0..3_u64 {
        let ids: Vec<_> = (0..60).map(|number| format!("item-{batch}-{number}")).collect();
        enqueue(store, "job", &ids.iter().map(String::as_str).collect::<Vec<_>>()).await;
        let leases = claim(store, 0, 60).await;
        let ends = leases.iter().map(|lease| {
            let long = format!("{}{}", "x".repeat(4_000), lease.id);
            with_steps(lease, &[(Some(&lease.id), 20), (None, 300), (Some(&long), 20)])
        });
        assert_eq!(store.settle(ends.collect(), Vec::new(), at(1)).await, Ok(vec![true; 60]));
        expected += 180;
        if batch == 0 {
            let few = durations(store, "job", 0).await;
            let names = few.steps().iter().filter_map(|known| known.step.as_ref());
            assert_eq!(names.map(String::len).max(), Some(200), "a long name is cut off");
        }
    }
    let durations = durations(store, "job", 0).await;
    assert_eq!(count(&durations), expected, "nothing is left out");
    let found = |name: Option<&str>| -> Option<&Histogram> {
        let found = durations.steps().iter().find(|known| known.step.as_deref() == name);
        found.map(|known| &known.took)
    };
    assert_eq!(found(None).map(Histogram::count), Some(180));
    assert!(durations.steps().len() <= MAX_STEPS + 2, "{}", durations.steps().len());
    let others = found(Some(OTHER_STEPS)).map_or(0, Histogram::count);
    assert!(others >= 80, "{others}");
}

/// The summaries match after many random operations.
pub async fn summaries_are_those_of_the_items(store: &Arc<dyn Store>) {
    // The operations are the same in each run, so that a failure can be reproduced.
    let mut state = 7_u64;
    let mut any = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for step in 0..120_i64 {
        let now = step * 700;
        match any(6) {
            0 | 1 => {
                let items = (0..3).map(|_| new(&format!("item-{}", any(60)))).collect();
                store.enqueue("job", items, at(now)).await.expect("enqueued");
            }
            2 | 3 => {
                for lease in claim(store, now, 4).await {
                    let why = failure(
                        if any(2) == 0 { "other" } else { "timeout" },
                        if any(2) == 0 { "x" } else { "y 1" },
                    );
                    let end = match any(5) {
                        0 => Settled::Succeeded(None),
                        1 => Settled::RetryAt { due: at(now + 100), checkpoint: None },
                        2 => Settled::Skipped(Some(why)),
                        3 => Settled::Dead(why),
                        // Its lease expires.
                        _ => continue,
                    };
                    settle(store, &lease, now, end).await;
                }
            }
            4 => {
                store.redrive(&failed(), Some(any(3)), at(now), MINUTE).await.expect("re-driven");
            }
            _ => {
                let one = failed().ids([format!("item-{}", any(60))]);
                store.purge(&one).await.expect("purged");
            }
        }
    }
    let mut expected = BTreeMap::<(String, String), (u64, BTreeMap<_, u64>)>::new();
    let mut succeeded = BTreeMap::new();
    for id in ids(store, &everything()).await {
        let item = found(store, &id).await;
        if item.state == ItemState::Succeeded {
            *succeeded.entry(item.ended.expect("it has ended").minute()).or_insert(0_u64) += 1;
        }
        let (Some(failure), Some(ended)) = (item.failure, item.ended) else { continue };
        let key = (failure.class, failure.signature.as_str().to_owned());
        let (count, hours) = expected.entry(key).or_default();
        *count += 1;
        *hours.entry(ended.hour()).or_default() += 1;
    }
    assert!(expected.len() > 2 && !succeeded.is_empty(), "something has happened: {expected:?}");
    let groups = groups(store, &failed()).await;
    assert!(groups.is_sorted_by_key(|group| std::cmp::Reverse(group.count)), "{groups:?}");
    let shown: BTreeMap<_, _> = groups
        .into_iter()
        .map(|group| {
            let hours = group.hours.iter().map(|one| (one.hour, one.count)).collect();
            ((group.class, group.signature.as_str().to_owned()), (group.count, hours))
        })
        .collect();
    assert_eq!(shown, expected);
    let minutes = store.minutes("job", at(0)).await.expect("minutes");
    let shown: BTreeMap<_, _> = minutes
        .iter()
        .filter(|minute| minute.succeeded > 0)
        .map(|minute| (minute.minute, minute.succeeded))
        .collect();
    assert_eq!(shown, succeeded);
    let attempts: u64 = minutes.iter().map(|minute| minute.attempts).sum();
    assert_eq!(attempts, counts(store).await.attempts);
}

/// The job starts over.
pub async fn a_job_that_was_removed_has_no_summaries(store: &Arc<dyn Store>) {
    kill(store, &[("a", "other", "x"), ("b", "other", "y")]).await;
    assert_eq!(store.cas("job/job", 0, "{}").await, Ok(true));
    assert_eq!(store.remove("job", 9, vec!["job/job".to_owned()]).await, Ok(2));
    assert_eq!(groups(store, &failed()).await, []);
    assert_eq!(store.minutes("job", at(0)).await, Ok(Vec::new()));
    assert!(store.jobs(None, 9).await.expect("jobs").items.is_empty());
    kill(store, &[("a", "other", "x")]).await;
    assert_eq!(groups(store, &failed()).await.len(), 1);
    assert_eq!(store.minutes("job", at(0)).await.map(|minutes| minutes.len()), Ok(1));
    assert_eq!(store.jobs(None, 9).await.expect("jobs").items.len(), 1);
}

/// A job is listed as soon as it has a record or an item.
pub async fn jobs_are_listed_with_the_newest_first(store: &Arc<dyn Store>) {
    let page = store.jobs(None, 9).await.expect("a page");
    assert!(page.items.is_empty() && page.next.is_none());
    enqueue(store, "one", &["a", "b"]).await;
    assert_eq!(store.cas("job/two", 0, "2").await, Ok(true));
    let third = |_: &[_]| Ok(("job/three".to_owned(), "3".to_owned()));
    store.find_or_insert("job/", Box::new(third)).await.expect("added");
    kill(store, &[("a", "other", "x")]).await;
    // Neither of these adds a job, or makes one newer.
    assert_eq!(store.cas("job/one", 0, "1").await, Ok(true));
    assert_eq!(store.cas("breaker/five", 0, "5").await, Ok(true));
    enqueue(store, "two", &["a"]).await;

    let (mut rows, mut after) = (Vec::new(), None);
    loop {
        let page = store.jobs(after, 3).await.expect("a page");
        rows.extend(page.items);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let seen: Vec<_> = rows
        .iter()
        .map(|row| (&*row.job, row.record.as_deref(), row.counts.pending, row.counts.dead))
        .collect();
    let expected = [
        ("job", None, 0, 1),
        ("three", Some("3"), 0, 0),
        ("two", Some("2"), 1, 0),
        ("one", Some("1"), 2, 0),
    ];
    assert_eq!(seen, expected);
    assert_eq!(store.jobs(None, 4).await.expect("a page").next, None, "just full");
    assert_eq!(rows[0].counts, counts(store).await);
}

/// If no index answers the filter, a page may be empty and the list continues.
pub async fn a_long_look_is_cut_short_and_goes_on(store: &Arc<dyn Store>) {
    let number = MAX_ROWS_SCANNED + 50;
    let items = (0..number).map(|number| NewItem::new(format!("item-{number}"), "1")).collect();
    assert_eq!(store.enqueue("job", items, at(10)).await, Ok(number as u64));
    // It comes after all others, and is due before them.
    enqueue(store, "job", &["last"]).await;
    let lease = claim_one(store, 9).await;
    settle(store, &lease, 9, Settled::Succeeded(None)).await;
    let done = Filter::job("job").states([ItemState::Succeeded]).since(at(1));
    let page = store.list(&done, None, 5).await.expect("a page");
    assert!(page.items.is_empty() && page.next.is_some(), "it was cut short");
    let page = store.list(&done, page.next, 5).await.expect("a page");
    assert_eq!((page.items.len(), page.next), (1, None));
    assert_eq!(ids(store, &done).await, ["last"]);
}
