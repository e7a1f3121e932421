//! A program that cannot work in a browser: for it, this does not compile, and `.ci/run` reads the
//! message.

use std::io;

use retry_runtime::{retry, retrying};

#[retry(attempts = 3)]
fn stops_the_page() -> io::Result<()> {
    Ok(())
}

fn main() {
    stops_the_page().unwrap();
    retrying!(name = "refused.block", attempts = 3, || -> io::Result<()> { Ok(()) }).unwrap();
}
