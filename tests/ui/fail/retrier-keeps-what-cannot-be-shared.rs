use std::cell::Cell;

use retry_runtime::{Policy, Retrier};

fn main() {
    let calls = Cell::new(0);
    let _retrier = Retrier::new(Policy::new()).when(move |_: &std::io::Error| {
        calls.set(calls.get() + 1);
        true
    });
}
