//! [`InputItems`]: the items of a map, which a separate thread reads while the job runs, a few
//! batches ahead of it.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep_until};

use crate::file::input::check::IdRule;
use crate::file::input::read::Halt;
use crate::file::input::{CheckedInput, InputReader, Pipe};
use crate::file::{FileError, MapPlan};
use retry_workflow::store::NewItem;
use retry_workflow::work::Batch;
use retry_workflow::{Source, WorkflowError};

/// The longest time that an item waits for others of its batch.
const BATCH_TIME: Duration = Duration::from_millis(200);
/// The number of batches that are read before the store has taken them.
const AHEAD: usize = 2;

/// The items of an input, as they are read.
pub(super) struct InputItems {
    batches: mpsc::Receiver<Result<Vec<NewItem>, FileError>>,
    begun: Arc<BegunBatch>,
    map: Arc<MapPlan>,
    pipe: Pipe,
    /// The rule of the items that have been returned, or the one that is known without them. The
    /// thread that reads may be ahead, and must not decide whether the job begins.
    id_rule: Option<IdRule>,
}

/// The batch that is being read.
#[derive(Default)]
struct BegunBatch {
    batch: Mutex<TimedBatch>,
    /// Notified when it gets its first item.
    has_items: Notify,
}

#[derive(Default)]
struct TimedBatch {
    items: Batch,
    /// The time at which it is passed on, full or not.
    due: Option<Instant>,
    id_rule: Option<IdRule>,
}

impl TimedBatch {
    fn take(&mut self) -> Vec<NewItem> {
        self.due = None;
        std::mem::take(&mut self.items).into_items().unwrap_or_default()
    }
}

impl BegunBatch {
    /// Adds an item, and returns the batch if it is full.
    fn add(&self, item: NewItem, id_rule: Option<IdRule>) -> Option<Vec<NewItem>> {
        let mut batch = self.batch.lock();
        batch.id_rule = id_rule;
        if batch.items.is_empty() {
            batch.due = Some(Instant::now() + BATCH_TIME);
            self.has_items.notify_one();
        }
        batch.items.push(item);
        batch.items.is_full().then(|| batch.take())
    }
}

impl InputItems {
    /// Starts to read. A file is checked first, unless it has been `checked` already. `has_begun`
    /// means that the job already has items of this input.
    pub(super) fn read(
        reader: InputReader,
        checked: Option<CheckedInput>,
        has_begun: bool,
    ) -> Self {
        let (sender, batches) = mpsc::channel(AHEAD);
        let pipe = Pipe::default();
        let begun = Arc::new(BegunBatch::default());
        let map = Arc::clone(&reader.map);
        let checked_rule = checked.as_ref().map(|checked| checked.rule);
        let id_rule = checked_rule.or_else(|| IdRule::of(map.item_id.as_ref()));
        begun.batch.lock().id_rule = id_rule;
        let (stopped, reading) = (pipe.clone(), Arc::clone(&begun));
        // A separate thread that nothing waits for, because reading stdin may block without end.
        std::thread::spawn(move || {
            let checked = match checked {
                None if reader.is_file() => reader.check().map(Some),
                checked => Ok(checked),
            };
            let mut is_empty = true;
            let mut give = |item: NewItem, rule: Option<IdRule>| {
                is_empty = false;
                let Some(full) = reading.add(item, rule) else { return Ok(()) };
                // The receiver is gone: the job has been stopped.
                sender.blocking_send(Ok(full)).map_err(|_| Halt::Enough)
            };
            let read =
                checked.and_then(|checked| reader.give(checked.as_ref(), &stopped, &mut give));
            let read = match read {
                Ok(()) if is_empty && has_begun && reader.is_stdin() => Err(reader.wrong_input(
                    "there are no items on stdin, but the job has read some from there: provide \
                     the whole input again, as in `resume JOB < items.jsonl`",
                )),
                read => read,
            };
            let rest = reading.batch.lock().take();
            let last = if rest.is_empty() { Ok(()) } else { sender.blocking_send(Ok(rest)) };
            if let (Ok(()), Err(error)) = (last, read) {
                let _ = sender.blocking_send(Err(error));
            }
        });
        Self { batches, begun, map, pipe, id_rule }
    }
}

impl Drop for InputItems {
    fn drop(&mut self) {
        self.pipe.stop();
    }
}

impl Source for InputItems {
    async fn next_batch(&mut self) -> Result<Option<Vec<NewItem>>, WorkflowError> {
        let batch = loop {
            let due = self.begun.batch.lock().due;
            tokio::select! {
                biased;
                batch = self.batches.recv() => {
                    break batch.transpose().map_err(WorkflowError::input)?;
                }
                () = self.begun.has_items.notified() => {}
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                    break Some(self.begun.batch.lock().take());
                }
            }
        };
        self.id_rule = self.begun.batch.lock().id_rule;
        Ok(batch)
    }

    fn id_rule(&self) -> Option<String> {
        self.id_rule.map(|rule| rule.describe(self.map.item_id.as_ref()))
    }
}
