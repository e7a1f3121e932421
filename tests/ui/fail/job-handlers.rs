mod job_handler_not_async {
    use retry_workflow::{Workflow, WorkflowError};

    async fn ship() -> Result<(), WorkflowError> {
        Workflow::new("ship")
            .run(1..=3_u32, |order: u32, _| {
                println!("{order}");
                Ok::<_, std::io::Error>(())
            })
            .await?;
        Ok(())
    }
}

mod job_handler_without_context {
    use retry_workflow::{Workflow, WorkflowError};

    async fn handle(order: u32) -> std::io::Result<()> {
        println!("{order}");
        Ok(())
    }

    async fn ship() -> Result<(), WorkflowError> {
        Workflow::new("ship").run(1..=3_u32, handle).await?;
        Ok(())
    }
}

mod job_handler_without_result {
    use retry_workflow::{Workflow, WorkflowError};

    async fn ship() -> Result<(), WorkflowError> {
        Workflow::new("ship")
            .run(1..=3_u32, |order: u32, _| async move { println!("{order}") })
            .await?;
        Ok(())
    }
}

mod job_on_finish_not_async {
    use retry_workflow::Workflow;

    fn ship() -> Workflow {
        Workflow::new("ship").on_finish(|report| println!("{report}"))
    }
}

fn main() {}
