mod job_error_not_classified {
    use retry_workflow::{Workflow, WorkflowError};

    async fn ship() -> Result<(), WorkflowError> {
        Workflow::new("ship")
            .classified()
            .run(1..=3_u32, |_: u32, _| async { Err::<(), _>(std::fmt::Error) })
            .await?;
        Ok(())
    }
}

mod job_error_not_inferred {
    use retry_workflow::{Workflow, WorkflowError};

    async fn ship() -> Result<(), WorkflowError> {
        Workflow::new("ship")
            .run(1..=3_u32, |order: u32, _| async move {
                println!("{order}");
                Ok(())
            })
            .await?;
        Ok(())
    }
}

mod job_error_of_task_without_text {
    use retry_workflow::{Graph, Task};

    #[derive(Debug)]
    struct NoTemplate;

    fn publish() -> Graph {
        let render = Task::new("render", |_| async { Err::<(), _>(NoTemplate) });
        Graph::new("publish").task(render)
    }
}

mod job_error_without_text {
    use retry_workflow::{Workflow, WorkflowError};

    #[derive(Debug)]
    enum ShipError {
        NoAddress,
    }

    async fn ship() -> Result<(), WorkflowError> {
        Workflow::new("ship")
            .run(1..=3_u32, |order: u32, _| async move {
                if order == 1 { Err(ShipError::NoAddress) } else { Ok(()) }
            })
            .await?;
        Ok(())
    }
}

mod job_retry_on_text {
    use retry_workflow::Workflow;

    fn ship() -> Workflow {
        Workflow::new("ship").retry_on(["timeout"])
    }
}

fn main() {}
