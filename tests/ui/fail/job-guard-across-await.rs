use std::sync::{Arc, Mutex};

use retry_workflow::{Workflow, WorkflowError};

async fn ship() -> Result<(), WorkflowError> {
    let shipped = Arc::new(Mutex::new(0));
    Workflow::new("ship")
        .run(1..=3_u32, move |order: u32, _| async move {
            let mut shipped = shipped.lock().unwrap();
            send(order).await?;
            *shipped += 1;
            Ok::<_, std::io::Error>(())
        })
        .await?;
    Ok(())
}

async fn send(_: u32) -> std::io::Result<()> {
    Ok(())
}

fn main() {}
