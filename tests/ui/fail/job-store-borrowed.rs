use retry_workflow::{MemoryStore, Workflow};

fn ship(store: &MemoryStore) -> Workflow {
    Workflow::new("ship").store(store)
}

fn main() {}
