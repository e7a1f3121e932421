//! Workflow files run with the real command, in their own folders, with scripts that fail on
//! purpose.
#![cfg(unix)]

#[cfg(target_os = "linux")]
mod adjusted_clock;
mod at_the_end;
mod busy;
mod captures;
mod changed;
mod conformance;
mod edited;
mod exit_codes;
mod forms;
mod from_failed;
mod graphs;
mod handlers;
mod hostile;
mod inputs;
mod items;
mod killed;
mod letters;
mod limits;
mod machines;
mod orphans;
mod output;
mod postponed;
#[path = "../../../retry-workflow/tests/behaviour/workflow/stopping/read_again.rs"]
mod read_again;
mod requests;
mod retry_after;
mod running;
mod schedule;
mod servers;
mod shortage;
mod signals;
mod steps;
mod stopping;
mod stores;
mod support;
mod temporary;
mod upkeep;
mod waits;
