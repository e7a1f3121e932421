use retry_runtime::retry;

#[retry(attempts = 5)]
async fn fetch() -> Result<u32, String> {
    let answer = nothing_of_this_name;
    Ok(answer)
}

fn main() {}
