//! What an attempt has borrowed for its result, the next one cannot borrow.
#![deny(deprecated)]

use std::io;

use retry_runtime::retry;

struct Buffer(Vec<u8>);

impl Buffer {
    #[retry]
    fn first(&mut self) -> io::Result<&mut u8> {
        self.0.first_mut().ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

fn main() {}
