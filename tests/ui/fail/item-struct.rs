use retry_runtime::retry;

#[retry]
struct Client {
    id: u64,
}

fn uses(client: &Client) -> u64 {
    client.id
}

fn main() {}
