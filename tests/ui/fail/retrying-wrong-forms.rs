use std::io;

use retry_runtime::retrying;

async fn connect(body: Vec<u8>) -> io::Result<()> {
    retrying!(name = "none", attempts = 3);
    retrying!(name = "block", { Ok::<(), io::Error>(()) });
    retrying!(name = "arguments", |one, two| Ok::<(), io::Error>(()));
    retrying!(name = "behind", async { Ok::<(), io::Error>(()) }, attempts = 3).await?;
    retrying!(name = "clone", clone(body), async { Ok::<(), io::Error>(()) }).await?;
    retrying!(name = "carry", carry(body), async { Ok::<(), io::Error>(()) }).await?;
    retrying!(name = "twice", context = cx, async |cx| -> io::Result<()> { Ok(()) }).await?;
    retrying!(name = "two mistakes", atempts = 3, initial_delay = 5, async { Ok::<(), io::Error>(()) }).await
}

fn main() {}

// cured 8: |one, two| => {}
// cured 6: by hand
// cured 7: by hand
// cured 10: clone(body), async { => async { {}
