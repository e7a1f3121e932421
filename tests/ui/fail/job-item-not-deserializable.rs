use retry_workflow::{Workflow, WorkflowError};

#[derive(serde::Serialize)]
struct Order {
    id: u32,
}

async fn ship(orders: Vec<Order>) -> Result<(), WorkflowError> {
    Workflow::new("ship")
        .run(orders, |order: Order, _| async move {
            println!("{}", order.id);
            Ok::<_, std::io::Error>(())
        })
        .await?;
    Ok(())
}

fn main() {}

// cured 10: #[derive(serde::Serialize)] => {}
