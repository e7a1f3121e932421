use retry_workflow::{Workflow, WorkflowError};

struct Client;

impl Client {
    async fn send(&self, _: u32) -> std::io::Result<()> {
        Ok(())
    }
}

async fn ship(client: &Client) -> Result<(), WorkflowError> {
    Workflow::new("ship")
        .run(1..=3_u32, move |order: u32, _| async move { client.send(order).await })
        .await?;
    Ok(())
}

fn main() {}
