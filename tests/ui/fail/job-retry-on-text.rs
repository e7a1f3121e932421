use retry_workflow::Workflow;

fn ship() -> Workflow {
    Workflow::new("ship").retry_on(["timeout"])
}

fn main() {}
