//! Tests of the command: the workflow files that it reads, and what a person sees.
//!
//! A single program, so that linking is paid for once. Tests start in the order of their names:
//! `buried` and `adjusted_clock` wait longest, and come first.

mod buried;
mod command;
mod command_board;
mod command_dlq;
mod command_files;
mod command_items;
mod command_jobs;
mod command_run;
mod command_usage;
mod file_bad;
mod file_forms;
mod file_input;
mod guide;
mod places;
mod readme;
mod schema;
