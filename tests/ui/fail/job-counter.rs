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

fn main() {}
