use retry_workflow::{Graph, Task};

#[derive(Debug)]
struct NoTemplate;

fn publish() -> Graph {
    let render = Task::new("render", |_| async { Err::<(), _>(NoTemplate) });
    Graph::new("publish").task(render)
}

fn main() {}
