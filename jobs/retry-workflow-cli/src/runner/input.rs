//! [`InputItems`]: the items of a map, which a separate thread reads while the job runs, a few
//! batches ahead of it.

use tokio::sync::mpsc;

use crate::file::FileError;
use crate::file::input::read::Halt;
use crate::file::input::{CheckedInput, InputReader, Pipe};
use retry_workflow::store::NewItem;
use retry_workflow::{Source, WorkflowError};

/// The largest number of items per batch.
const BATCH: usize = 1_000;
/// The largest number of payload bytes per batch, because items may be large.
const BATCH_BYTES: usize = 1 << 20;
/// The number of batches that are read before the store has taken them.
const AHEAD: usize = 2;

/// The items of an input, as they are read.
pub(super) struct InputItems {
    batches: mpsc::Receiver<Result<Vec<NewItem>, FileError>>,
    pipe: Pipe,
}

impl InputItems {
    /// Starts to read. A file is checked first, unless it has been `checked` already. `begun` means
    /// that the job already has items of this input.
    pub(super) fn read(reader: InputReader, checked: Option<CheckedInput>, begun: bool) -> Self {
        let (sender, batches) = mpsc::channel(AHEAD);
        let pipe = Pipe::default();
        let stopped = pipe.clone();
        // A separate thread that nothing waits for, because reading stdin may block without end.
        std::thread::spawn(move || {
            let checked = match checked {
                None if reader.is_file() => reader.check().map(Some),
                checked => Ok(checked),
            };
            let mut batch = Vec::new();
            let mut bytes = 0;
            let mut is_empty = true;
            let mut give = |item: NewItem| {
                is_empty = false;
                bytes += item.payload.len();
                batch.push(item);
                if batch.len() < BATCH && bytes < BATCH_BYTES {
                    return Ok(());
                }
                bytes = 0;
                // The receiver is gone: the job has been stopped.
                sender.blocking_send(Ok(std::mem::take(&mut batch))).map_err(|_| Halt::Enough)
            };
            let read =
                checked.and_then(|checked| reader.give(checked.as_ref(), &stopped, &mut give));
            let read = match read {
                Ok(()) if is_empty && begun && reader.is_stdin() => Err(reader.missing_stdin()),
                read => read,
            };
            let last = if batch.is_empty() { Ok(()) } else { sender.blocking_send(Ok(batch)) };
            if let (Ok(()), Err(error)) = (last, read) {
                let _ = sender.blocking_send(Err(error));
            }
        });
        Self { batches, pipe }
    }
}

impl Drop for InputItems {
    fn drop(&mut self) {
        self.pipe.stop();
    }
}

impl Source for InputItems {
    async fn next_batch(&mut self) -> Result<Option<Vec<NewItem>>, WorkflowError> {
        self.batches.recv().await.transpose().map_err(WorkflowError::input)
    }
}
