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
        .run(1..=3_u32, |order: u32, _| async { client.send(order).await })
        .await?;
    Ok(())
}

fn main() {}
