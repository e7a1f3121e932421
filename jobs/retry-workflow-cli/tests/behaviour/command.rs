//! Runs the real command.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use retry_workflow::{ItemContext, Policy, SqliteStore, Workflow};

/// Runs the command in this folder, without a terminal.
pub(crate) fn run(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_retry-workflow"))
        .args(arguments)
        .current_dir(folder)
        .env_remove("RETRY_WORKFLOW_STORE")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// A handler that fails for item 3.
pub(crate) async fn no_third(item: u32, _: ItemContext) -> std::io::Result<()> {
    if item == 3 { Err(std::io::Error::other("no customer 3")) } else { Ok(()) }
}

/// Runs the job `orders-1` in the store of this folder: three items, the third of which fails.
fn run_orders(folder: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = SqliteStore::open(folder.join("retry-workflow.db")).unwrap();
        let orders = Workflow::new("orders").retry(Policy::new().attempts(1)).store(store);
        orders.run([1_u32, 2, 3], no_third).await.unwrap();
    });
}

/// A folder with a store of the job of [`run_orders`].
pub(crate) fn orders() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    run_orders(folder.path());
    folder
}

/// The output of a command that succeeds.
#[track_caller]
pub(crate) fn told(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}
