mod job_dependency_is_a_task {
    use retry_workflow::{Graph, Task};

    fn publish() -> Graph {
        let render = Task::new("render", |_| async { Ok::<_, String>(()) });
        let upload = Task::new("upload", |_| async { Ok::<_, String>(()) }).depends_on(&render);
        Graph::new("publish").task(render).task(upload)
    }
}

mod job_filter_of_numbers {
    use retry_workflow::Filter;

    fn some() -> Filter {
        Filter::job("ship-1").ids([17, 23])
    }
}

mod job_item_borrowed {
    use retry_workflow::{Workflow, WorkflowError};

    #[derive(serde::Serialize, serde::Deserialize)]
    struct Order {
        id: u32,
    }

    async fn ship(orders: &[Order]) -> Result<(), WorkflowError> {
        Workflow::new("ship")
            .run(orders, |order: &Order, _| async move {
                println!("{}", order.id);
                Ok::<_, std::io::Error>(())
            })
            .await?;
        Ok(())
    }

    // cured 10: by hand
}

mod job_item_is_a_result {
    use std::fs::File;
    use std::io::{self, BufReader, Lines};

    use retry_workflow::{Workflow, WorkflowError};

    async fn ship(lines: Lines<BufReader<File>>) -> Result<(), WorkflowError> {
        Workflow::new("ship")
            .run(lines, |line: io::Result<String>, _| async move {
                println!("{}", line?);
                Ok::<_, io::Error>(())
            })
            .await?;
        Ok(())
    }

    // cured 8: by hand
}

mod job_item_not_deserializable {
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

    // cured 10: #[derive(serde::Serialize)] => {}
}

mod job_item_not_serializable {
    use retry_workflow::{Workflow, WorkflowError};

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

    // cured 9: struct Order => {} struct Order
}

mod job_items_not_iterable {
    use retry_workflow::{Workflow, WorkflowError};

    #[derive(serde::Serialize, serde::Deserialize)]
    struct Order {
        id: u32,
    }

    async fn ship(order: Order) -> Result<(), WorkflowError> {
        Workflow::new("ship")
            .run(order, |order: Order, _| async move {
                println!("{}", order.id);
                Ok::<_, std::io::Error>(())
            })
            .await?;
        Ok(())
    }
}

fn main() {}
