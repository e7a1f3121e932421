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

fn main() {}
