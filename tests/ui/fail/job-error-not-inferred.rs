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

fn main() {}
