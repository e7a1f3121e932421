use retry_runtime::retry;

#[retry(abort_on = [ok(|page| *page == 0)])]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
