use retry_workflow::Workflow;

fn ship() -> Workflow {
    Workflow::new("ship").store("jobs.db")
}

fn main() {}
