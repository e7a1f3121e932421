use retry_workflow::{Workflow, WorkflowError};

async fn ship() -> Result<(), WorkflowError> {
    Workflow::new("ship")
        .classified()
        .run(1..=3_u32, |_: u32, _| async { Err::<(), _>(std::fmt::Error) })
        .await?;
    Ok(())
}

fn main() {}
