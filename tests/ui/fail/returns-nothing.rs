use retry_runtime::retry;

#[retry]
async fn fetch() {
    println!("fetched");
}

fn main() {}
