//! A source that gives the same item with each batch.

use std::time::Duration;

use retry_workflow::store::{Alteration, NewItem};
use retry_workflow::work::{AttemptReport, AttemptTimer, Reason, WorkItem};
use retry_workflow::{
    Failure, Filter, ItemState, JobReport, JobRunner, Source, SqliteStore, Store, Work,
    WorkflowError,
};

/// The rows of a table, which has one, read again after it has ended as an item.
struct Table {
    store: SqliteStore,
    id_rule: Option<&'static str>,
    reads: std::array::IntoIter<&'static str, 2>,
    is_first: bool,
}

impl Source for Table {
    async fn next_batch(&mut self) -> Result<Option<Vec<NewItem>>, WorkflowError> {
        while !self.is_first && self.store.counts("poll-1").await?.ended() == 0 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        if !self.is_first {
            // An operator edits the dead letter.
            let dead = Filter::job("poll-1").states(ItemState::Dead);
            let edit = Alteration::Edit("\"edited\"".to_owned());
            self.store.alter(&dead, edit, 1, self.store.now()).await?;
        }
        self.is_first = false;
        Ok(self.reads.next().map(|row| vec![NewItem::new("a", row)]))
    }

    fn id_rule(&self) -> Option<String> {
        self.id_rule.map(str::to_owned)
    }
}

/// Succeeds with numbers only.
struct Numbers;

impl Work for Numbers {
    async fn attempt(&self, item: WorkItem<'_>) -> AttemptReport {
        let timer = AttemptTimer::start();
        match item.payload.parse::<u32>() {
            Ok(_) => AttemptReport::succeeded(timer, None),
            Err(error) => {
                let failure = Failure::new("payload", error.to_string());
                AttemptReport::failed(timer, failure, Reason::NotRetryable)
            }
        }
    }
}

/// Runs a job that begins empty.
async fn poll(
    id_rule: Option<&'static str>,
    reads: [&'static str; 2],
) -> Result<JobReport, WorkflowError> {
    let store = SqliteStore::in_memory();
    let reads = reads.into_iter();
    let table = Table { store: store.clone(), id_rule, reads, is_first: true };
    JobRunner::new("poll").store(store).run(table, Numbers).await
}

#[tokio::test(start_paused = true)]
async fn an_edited_dead_letter_that_is_read_again_does_not_stop_the_job() {
    for id_rule in [None, Some("the column `id`")] {
        let report = poll(id_rule, ["\"old\"", "\"old\""]).await.unwrap();
        assert_eq!((report.dead(), report.changed), (1, 0), "{report}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_row_that_has_changed_is_counted_and_does_not_stop_the_job() {
    let report = poll(None, ["1", "2"]).await.unwrap();
    assert_eq!((report.succeeded(), report.changed), (1, 1), "{report}");

    let refused = poll(Some("the column `id`"), ["1", "2"]).await.unwrap_err();
    assert!(matches!(&refused, WorkflowError::SameId { item } if item == "a"), "{refused}");
}
