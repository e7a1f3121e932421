//! Policies that change while the program runs: a file is read again whenever it was written. A
//! mistake in it is rejected with its place, and the overrides in force stay.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use retry_runtime::{Event, Overrides, RetryError, on_event, retry};

/// Calls a server that is down.
#[retry(attempts = 4, initial_delay = "20ms", timeout = "1s", name = "stock.count")]
async fn count(item: &str) -> Result<u32, RetryError<io::Error>> {
    let _ = item;
    Err(io::ErrorKind::ConnectionRefused.into())
}

/// A file of overrides, and when it was last written.
struct Watched {
    path: PathBuf,
    written: Option<SystemTime>,
}

impl Watched {
    /// Applies the file if it was written since the last check.
    fn look(&mut self) -> Result<(), Box<dyn Error>> {
        let written = std::fs::metadata(&self.path)?.modified()?;
        if self.written.replace(written) == Some(written) {
            return Ok(());
        }
        let text = std::fs::read_to_string(&self.path)?;
        let overrides: Overrides = serde_saphyr::from_str(&text)?;
        // The environment takes precedence over the file.
        overrides.merge(&Overrides::from_env_with_prefix("SHOP_RETRY_")?)?.apply();
        Ok(())
    }
}

/// Checks the file five times a second, for as long as the program runs.
async fn watch(path: PathBuf) {
    let mut watched = Watched { path, written: None };
    let mut tick = tokio::time::interval(Duration::from_millis(200));
    loop {
        tick.tick().await;
        if let Err(error) = watched.look() {
            println!("* refused: {error}");
        }
    }
}

/// Makes some calls, and prints how they end.
async fn call_for_a_while() {
    for _ in 0..2 {
        let error = count("tea").await.expect_err("nobody answers");
        println!("  {error:#}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    println!("\n{}", text.trim());
    // Replaced as a whole, because the file could otherwise be read half-written.
    let new = path.with_extension("new");
    std::fs::write(&new, text)?;
    std::fs::rename(new, path)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("live-overrides-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let path = folder.join("retry.yml");
    on_event(|event| {
        if let Event::Policy { .. } = event {
            println!("* {event}");
        }
    });

    println!("{}", retry_runtime::report());
    write(&path, "# nothing is changed\n")?;
    tokio::spawn(watch(path.clone()));
    call_for_a_while().await;

    write(&path, "stock.count:\n  attempts: 2\n  initial_delay: 5ms\n")?;
    call_for_a_while().await;

    // A mistake: everything stays as it was.
    write(&path, "stock.count:\n  atempts: 9\n")?;
    call_for_a_while().await;

    write(&path, "\"*\":\n  attempts: 1\n")?;
    call_for_a_while().await;

    println!("\n{}", retry_runtime::report());
    std::fs::remove_dir_all(folder)?;
    Ok(())
}
