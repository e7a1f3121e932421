//! The shortest loop that waits between its attempts.

use std::io;

use super::FIRST_WAIT;
use crate::answer::answer;
use crate::policies::{ATTEMPTS, MAX_WAIT};

#[inline(never)]
pub(super) async fn call(id: u64) -> io::Result<u64> {
    let (mut attempt, mut delay) = (1, FIRST_WAIT);
    loop {
        match answer(id).await {
            Err(_) if attempt < ATTEMPTS => {}
            end => return end,
        }
        tokio::time::sleep(delay).await;
        delay = (delay * 2).min(MAX_WAIT);
        attempt += 1;
    }
}
