use retry_workflow::{Store, Workflow};

fn ship(store: &impl Store) -> Workflow {
    Workflow::new("ship").store(store)
}

fn main() {}
