//! Functions that are not async. The thread sleeps between attempts, and no runtime is needed.
//! Options that would have to cut off a running attempt (`timeout`) are compile errors: nothing can
//! stop a running thread.

use std::io;

use retry_runtime::{Policy, Retrier, retry};

/// An upload that the network interrupts twice.
struct Upload {
    sent: u32,
}

impl Upload {
    /// `&mut self` works: the attempts run one after another, in place.
    #[retry(
        attempts = 4,
        initial_delay = "20ms",
        retry_on = [network],
        on_retry = |event| println!("attempt {}: {}", event.attempt(), event.error().unwrap()),
    )]
    fn send(&mut self) -> io::Result<u32> {
        self.sent += 1;
        match self.sent {
            1 => Err(io::ErrorKind::ConnectionReset.into()),
            2 => Err(io::ErrorKind::BrokenPipe.into()),
            part => Ok(part),
        }
    }
}

fn main() {
    let part = Upload { sent: 0 }.send().expect("the third attempt succeeds");
    println!("sent as part {part}");

    // The same without the attribute, for a policy known only at runtime.
    let attempts = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(2);
    let policy = Policy::new().attempts(attempts).initial_delay(std::time::Duration::ZERO);
    let gave_up = Retrier::new(policy).run_sync(|| "seven".parse::<u8>()).unwrap_err();
    println!("{gave_up}");
}
