//! The `retry-workflow` command; everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    retry_workflow_cli::main()
}
