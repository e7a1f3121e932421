//! The user of this process as an [`Operator`], whose actions are events; and the subscriber that prints them.

use std::io;

use retry_workflow::Operator;
use retry_workflow::audit::TARGET;
use retry_workflow::store::IntoStore;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::layer;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Prints the events of actions on standard error.
pub(super) fn print_events() {
    // Standard error may be closed.
    let lines = layer().with_writer(io::stderr).with_level(false).log_internal_errors(false);
    let of_actions = Targets::new().with_target(TARGET, LevelFilter::INFO);
    tracing_subscriber::registry().with(lines.with_filter(of_actions)).init();
}

/// Returns the operator for the user of this process.
pub(super) fn operator(store: impl IntoStore) -> Operator {
    // Behind `sudo`, who has called it.
    let names = ["SUDO_USER", "USER", "LOGNAME", "USERNAME"];
    let user = names.into_iter().find_map(|name| std::env::var(name).ok());
    let user = user.filter(|name| !name.is_empty());
    Operator::new(store, user.unwrap_or_else(|| "somebody".to_owned()))
}
