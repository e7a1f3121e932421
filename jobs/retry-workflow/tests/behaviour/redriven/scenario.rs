//! The test that every store passes: a failed item is re-driven, and the program runs its workflow
//! with the same input again.

use std::sync::{Arc, Mutex};

use retry_workflow::{DeadLetters, Filter, Job, Policy, Redrive, Store, Workflow, keyed};

pub(crate) async fn run(store: Arc<dyn Store>) {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let import = async |failing: u32| {
        let calls = Arc::clone(&calls);
        Workflow::new("import")
            .store(Arc::clone(&store))
            .retry(Policy::new().attempts(1))
            .max_parallel(1)
            .run(keyed([1_u32, 2, 3], ToString::to_string), move |n: u32, _| {
                calls.lock().unwrap().push(n);
                async move { if n == failing { Err("no stock") } else { Ok(()) } }
            })
            .await
            .unwrap()
    };
    assert_eq!(import(3).await.dead(), 1);
    let letters = DeadLetters::new(Arc::clone(&store));
    let job = [Filter::job("import-1")];
    assert_eq!(letters.retry(&job, Redrive::new()).await.unwrap(), 1);
    let report = import(0).await;
    assert_eq!(report.job.id, "import-1");
    assert_eq!((report.succeeded(), report.already_done), (3, 2));
    assert!(report.is_success(), "{report}");
    assert_eq!(*calls.lock().unwrap(), [1, 2, 3, 3]);
    assert_eq!(Job::all(&*store).await.unwrap().len(), 1);
    // All of it has ended: the next run is a new job.
    assert_eq!(import(0).await.job.id, "import-2");
}
