use retry_workflow::Workflow;

fn ship() -> Workflow {
    Workflow::new("ship").rate(30)
}

fn main() {}
