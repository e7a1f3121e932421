//! A function that is not async: replaces a file with another one, which a virus scanner or an
//! indexer may hold open for a moment.

use std::io::{self, ErrorKind};

use retry_runtime::retry;

use crate::remote::Remote;

/// Renames a file to the name of another one.
///
/// # Errors
/// The last failure.
#[retry(
    attempts = 6,
    backoff = fibonacci,
    initial_delay = "1ms",
    retry_on = [when(|error: &io::Error| error.kind() == ErrorKind::PermissionDenied)],
)]
pub fn replace(disk: &Remote<(), ErrorKind>, from: &str, to: &str) -> io::Result<()> {
    Ok(disk.call_blocking(format!("rename {from} {to}"))?)
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;

    use super::*;
    use crate::remote::Answer::{self, Fails, Gives};
    use crate::remote::ms;

    fn replace_by_hand(disk: &Remote<(), ErrorKind>, from: &str, to: &str) -> io::Result<()> {
        let (mut wait, mut next) = (1, 1);
        let mut attempt = 1;
        loop {
            match disk.call_blocking(format!("rename {from} {to}")) {
                Err(ErrorKind::PermissionDenied) if attempt < 6 => {}
                result => return Ok(result?),
            }
            sleep(ms(wait));
            (wait, next) = (next, wait + next);
            attempt += 1;
        }
    }

    #[test]
    fn retries_while_another_process_holds_the_file() {
        let held = || Fails(ErrorKind::PermissionDenied);
        let scripts: [(&[Answer<_, _>], u128); 4] = [
            (&[Gives(())], 0),
            (&[held(), held(), held(), Gives(())], 1 + 1 + 2),
            (&[held(), Fails(ErrorKind::NotFound)], 1),
            (&[const { Fails(ErrorKind::PermissionDenied) }; 6], 1 + 1 + 2 + 3 + 5),
        ];
        for (script, waited) in scripts {
            let trace = |by_hand: bool| {
                let disk = Remote::new(script.to_vec());
                let result = if by_hand {
                    replace_by_hand(&disk, "new", "old")
                } else {
                    replace(&disk, "new", "old")
                };
                // Threads sleep on the real clock, for at least as long as requested.
                assert!(disk.now() >= waited, "{} of {waited}", disk.now());
                (result.map_err(|error| error.kind()), disk.requests())
            };
            let annotated = trace(false);
            assert_eq!(annotated.1.len(), script.len());
            assert_eq!(annotated, trace(true));
        }
    }
}
