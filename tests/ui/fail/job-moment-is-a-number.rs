use retry_workflow::Workflow;

fn ship() -> Workflow {
    Workflow::new("ship").not_before(3600)
}

fn main() {}
