//! `graphile_worker`, on Postgres, set up for speed as in its documentation and its own throughput
//! benchmark: a local queue, polled every 5 ms; completions batched over the same time; jobs added
//! in bulk, 1,000 at a time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use graphile_worker::{
    IntoTaskHandlerResult, JobSpec, LocalQueueConfig, TaskHandler, WorkerContext, WorkerOptions,
};
use sqlx::PgPool;
use tokio::sync::watch;

use crate::chore::Chore;
use crate::database::with_database;
use crate::{Spent, batches};

/// The number of items that are left.
#[derive(Clone, Debug)]
struct Left(Arc<watch::Sender<u64>>);

impl TaskHandler for Chore {
    const IDENTIFIER: &'static str = "chore";

    async fn run(self, context: WorkerContext) -> impl IntoTaskHandlerResult {
        let left = context.get_ext::<Left>().expect("it was added");
        left.0.send_modify(|left| *left -= 1);
        Ok::<(), String>(())
    }
}

/// Runs on a new database.
pub(crate) async fn on_postgres(url: &str, items: u64, at_a_time: usize) -> Spent {
    with_database(url, async |pool: PgPool| {
        let left = Left(Arc::new(watch::Sender::new(items)));
        let worker = WorkerOptions::default()
            .pg_pool(pool.clone())
            .concurrency(at_a_time)
            .poll_interval(Duration::from_millis(5))
            .local_queue(LocalQueueConfig::default().with_size(1_000))
            .complete_job_batch_delay(Duration::from_millis(5))
            .listen_os_shutdown_signals(false)
            .add_extension(left.clone())
            .define_job::<Chore>()
            .init()
            .await
            .expect("its tables");
        let start = Instant::now();
        let utils = worker.create_utils();
        let spec = JobSpec::default();
        for batch in batches(items) {
            let batch: Vec<_> = batch.into_iter().map(|chore| (chore, &spec)).collect();
            utils.add_jobs(&batch).await.expect("a store that works");
        }
        let pushed = start.elapsed();
        let none = async {
            left.0.subscribe().wait_for(|left| *left == 0).await.expect("the other end is kept");
            worker.request_shutdown();
        };
        let (ended, ()) = tokio::join!(worker.run(), none);
        ended.expect("a worker that works");
        let spent = start.elapsed();
        let count = sqlx::query_scalar("SELECT count(*) FROM graphile_worker._private_jobs");
        let kept: i64 = count.fetch_one(&pool).await.expect("a table of graphile_worker");
        assert_eq!(kept, 0);
        (spent, spent.saturating_sub(pushed))
    })
    .await
}
