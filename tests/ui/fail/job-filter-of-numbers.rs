use retry_workflow::Filter;

fn some() -> Filter {
    Filter::job("ship-1").ids([17, 23])
}

fn main() {}
