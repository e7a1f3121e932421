//! The job that asks for all rates again. It outlives the process, and what fails for good is kept as
//! dead letters.

use std::sync::Arc;

use retry_workflow::{JobReport, SqliteStore, Workflow, WorkflowError, keyed};

use crate::service::Service;

pub async fn refresh(
    service: Arc<Service>,
    currencies: Vec<String>,
) -> Result<JobReport, WorkflowError> {
    let config = &service.config;
    Workflow::new("refresh")
        .retry(&config.refresh)
        .max_parallel(4)
        .store(SqliteStore::open(config.database.with_extension("jobs.db"))?)
        .classified()
        .run(
            keyed(currencies, |currency| currency.clone()),
            move |currency: String, _| async move {
                let rate = service.upstream.ask(&currency).await?;
                service.database.keep(&currency, rate).await
            },
        )
        .await
}
