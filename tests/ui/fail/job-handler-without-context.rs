use retry_workflow::{Workflow, WorkflowError};

async fn handle(order: u32) -> std::io::Result<()> {
    println!("{order}");
    Ok(())
}

async fn ship() -> Result<(), WorkflowError> {
    Workflow::new("ship").run(1..=3_u32, handle).await?;
    Ok(())
}

fn main() {}
