mod job_client_moved {
    use retry_workflow::{Workflow, WorkflowError};

    struct Client;

    impl Client {
        async fn send(&self, _: u32) -> std::io::Result<()> {
            Ok(())
        }
    }

    async fn ship() -> Result<(), WorkflowError> {
        let client = Client;
        Workflow::new("ship")
            .run(1..=3_u32, move |order: u32, _| async move { client.send(order).await })
            .await?;
        Ok(())
    }
}

mod job_counter {
    use retry_workflow::{Workflow, WorkflowError};

    async fn ship() -> Result<u32, WorkflowError> {
        let mut shipped = 0;
        Workflow::new("ship")
            .run(1..=3_u32, |order: u32, _| {
                shipped += order;
                async { Ok::<_, std::io::Error>(()) }
            })
            .await?;
        Ok(shipped)
    }
}

mod job_moment_is_a_number {
    use retry_workflow::Workflow;

    fn ship() -> Workflow {
        Workflow::new("ship").not_before(3600)
    }
}

mod job_rate_is_a_number {
    use retry_workflow::Workflow;

    fn ship() -> Workflow {
        Workflow::new("ship").rate(30)
    }
}

mod job_store_borrowed {
    use retry_workflow::{Store, Workflow};

    fn ship(store: &impl Store) -> Workflow {
        Workflow::new("ship").store(store)
    }
}

mod job_store_is_a_path {
    use retry_workflow::Workflow;

    fn ship() -> Workflow {
        Workflow::new("ship").store("jobs.db")
    }
}

fn main() {}
