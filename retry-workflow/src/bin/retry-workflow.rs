//! The command `retry-workflow`; what it does is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    retry_workflow::command::main()
}
