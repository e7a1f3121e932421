//! The record of changes, with their authors.

use retry_workflow::audit::Entry;
use retry_workflow::store::{AttemptOutcome, AttemptRecord};
use retry_workflow::{Failure, Filter, ItemRecord, MemoryStore, Store};

#[tokio::test(start_paused = true)]
async fn each_action_is_there_once_and_one_that_was_cut_off_has_no_number() {
    let store = MemoryStore::new();
    for number in 0..100_u64 {
        let who = ["ada", "bob", "eve"][usize::try_from(number % 3).unwrap()];
        let begun = Entry::new(who, "re-drive").job("import-1").begin(&store).await.unwrap();
        // The process dies.
        if number != 50 {
            begun.done(&store, number).await.unwrap();
        }
    }
    let entries = Entry::newest(&store, 1_000).await.unwrap();
    let numbers: Vec<_> = entries.iter().rev().map(|entry| entry.items).collect();
    let expected: Vec<_> = (0..100).map(|number| (number != 50).then_some(number)).collect();
    assert_eq!(numbers, expected);
    let of_ada = entries.iter().filter(|entry| entry.who == "ada").count();
    assert_eq!((of_ada, Entry::newest(&store, 3).await.unwrap().len()), (34, 3));
}

#[tokio::test(start_paused = true)]
async fn an_action_concerns_the_items_that_it_named_or_selected() {
    let store = MemoryStore::new();
    let mut item = ItemRecord::new("import-1", "A-17", "{}");
    let mut row = AttemptRecord::new("worker", store.now(), AttemptOutcome::Failed);
    row.failure = Some(Failure::new("timeout+network", "no answer after 30s"));
    item.history = vec![row];
    item.run = 1;
    let concerns = async |filter: Filter| {
        let begun = Entry::new("ada", "re-drive").about(&filter).begin(&store).await.unwrap();
        begun.done(&store, 1).await.unwrap();
        Entry::newest(&store, 1).await.unwrap()[0].concerns(&item)
    };
    let job = || Filter::job("import-1");
    assert!(concerns(Filter::default()).await && concerns(job()).await);
    assert!(!concerns(Filter::job("import-2")).await);
    assert!(concerns(job().ids(["A-17", "B-2"])).await && !concerns(job().ids(["B-2"])).await);
    assert!(concerns(job().class("timeout")).await && !concerns(job().class("panic")).await);
    assert!(concerns(job().signature("no answer after <n>s")).await);
    assert!(!concerns(job().signature("busy")).await);
}

#[tokio::test(start_paused = true)]
async fn only_items_that_an_action_changed_are_concerned() {
    let store = MemoryStore::new();
    let mut item = ItemRecord::new("import-1", "A-17", "{}");
    item.history = vec![AttemptRecord::new("worker", store.now(), AttemptOutcome::Failed)];
    let concerns = async |action: &str, item: &ItemRecord| {
        let begun = Entry::new("ada", action).job("import-1").begin(&store).await.unwrap();
        begun.done(&store, 1).await.unwrap();
        Entry::newest(&store, 1).await.unwrap()[0].concerns(item)
    };
    assert!(!concerns("re-drive", &item).await && !concerns("purge", &item).await);
    item.run = 1;
    assert!(concerns("re-drive", &item).await && !concerns("purge", &item).await);
    let mut again = AttemptRecord::new("worker", store.now(), AttemptOutcome::Succeeded);
    again.run = 1;
    item.history.push(again);
    assert!(!concerns("re-drive", &item).await, "its second run had begun before");
    item.history.clear();
    item.payload.clear();
    assert!(concerns("purge", &item).await);
}
