//! A job with many items: some fail, become dead letters, and are re-driven once their cause is
//! fixed. Halfway through, the job is dropped, as if the process had been killed.
//!
//! `cargo run --example job`

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use retry_workflow::matchers::{network, timeout};
use retry_workflow::{
    DeadLetters, ErrorPolicy, Filter, JobReport, Redrive, SqliteStore, Workflow, WorkflowError,
    keyed, policy,
};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Customer {
    id: u32,
    country: String,
}

fn customers() -> impl Iterator<Item = Customer> + Send {
    let countries = ["DE", "FR", "UK", "US"];
    (0..200).map(move |id| Customer { id, country: countries[id as usize % 4].to_owned() })
}

/// The service called for each item: it knows some countries, and is not always reachable.
#[derive(Clone)]
struct Service(Arc<Mutex<BTreeSet<String>>>);

impl Service {
    async fn import(&self, customer: &Customer, attempt: u32) -> io::Result<()> {
        tokio::time::sleep(Duration::from_millis(2)).await;
        if customer.id.is_multiple_of(10) && attempt == 1 {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        let known = self.0.lock().expect("no call panics").contains(&customer.country);
        if known {
            Ok(())
        } else {
            Err(io::Error::other(format!("customer {}: no tax rate", customer.id)))
        }
    }
}

async fn import(store: &SqliteStore, service: &Service) -> Result<JobReport, WorkflowError> {
    let service = service.clone();
    Workflow::new("import-customers")
        .error_policy(ErrorPolicy::new().max_failures(1_000))
        .retry(policy!(attempts = 3, initial_delay = "20ms", jitter, budget = "5m"))
        .retry_on([network, timeout])
        .max_parallel(10)
        .store(store.clone())
        .run(
            keyed(customers(), |customer| customer.id.to_string()),
            move |customer: Customer, cx| async move {
                service.import(&customer, cx.attempt()).await
            },
        )
        .await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("retry-example-job-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let result = run(&folder.join("import.db")).await;
    std::fs::remove_dir_all(&folder)?;
    result
}

async fn run(path: &std::path::Path) -> Result<(), Box<dyn std::error::Error>> {
    let store = SqliteStore::open(path)?;
    let known = ["DE", "FR", "US"].map(str::to_owned);
    let service = Service(Arc::new(Mutex::new(BTreeSet::from(known))));

    let cut = tokio::time::timeout(Duration::from_millis(15), import(&store, &service)).await;
    println!("dropped in the middle: {}\n", cut.is_err());

    let report = import(&store, &service).await?;
    println!("{report}\n");

    let letters = DeadLetters::new(store.clone());
    let of_this_job = Filter::job(&report.job.id);
    for group in letters.stats(&of_this_job).await? {
        println!("{} × {}, such as item {}", group.count, group.signature, group.example);
    }

    service.0.lock().expect("no call panics").insert("UK".to_owned());
    let taken = letters.retry(of_this_job, Redrive::new()).await?;
    println!("the cause is fixed, and {taken} dead letters are re-driven\n");

    let report = Workflow::new("import-customers")
        .store(store)
        .resume(&report.job.id, move |customer: Customer, cx| async move {
            // The first attempt of a new run is not the first of the item, so no connection is
            // reset again.
            service.import(&customer, cx.run() + cx.attempt()).await
        })
        .await?;
    println!("{report}");
    Ok(())
}
