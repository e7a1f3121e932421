use retry_workflow::Workflow;

fn ship() -> Workflow {
    Workflow::new("ship").on_finish(|report| println!("{report}"))
}

fn main() {}
