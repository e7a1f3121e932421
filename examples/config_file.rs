//! A policy from a file, checked against the same rules as the attribute. Any serde format works;
//! this is YAML.

use std::error::Error;
use std::io;
use std::path::Path;

use retry_runtime::{Retrier, RetryConfig};

fn read(file: &str) -> Result<RetryConfig, Box<dyn Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("config").join(file);
    Ok(serde_saphyr::from_str(&std::fs::read_to_string(path)?)?)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let config = read("fetch.yml")?;
    println!("fetch.yml: {}", config.bare_policy);

    let retrier = Retrier::from_config(&config).name("fetch");
    let mut call = 0;
    let rows = retrier.run(|| {
        call += 1;
        let outcome = if call < 3 { Err(io::Error::other("Database is locked")) } else { Ok(call) };
        async move { outcome }
    });
    println!("succeeded at call {}", rows.await?);

    let full = || async { Err::<(), _>(io::Error::from(io::ErrorKind::StorageFull)) };
    if let Err(gave_up) = retrier.run(full).await {
        println!("{gave_up:#}");
    }

    for file in ["wrong.yml", "typo.yml"] {
        println!("\n{file}:\n{}", read(file).unwrap_err());
    }
    Ok(())
}
