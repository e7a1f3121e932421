//! The command `retry-workflow`; what it does is in the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    retry_workflow_cli::main()
}
