//! Which job a `run` works on.

use clap::{Args, ValueEnum};

use retry_workflow::{InvalidName, Job};

/// Which job a `run` is.
#[derive(Clone, Debug, Args)]
pub(crate) struct BeginArguments {
    #[arg(
        long,
        value_name = "ID",
        value_parser = job_id,
        help = "The id of the job that is begun, or resumed by --continue [default: the \
                workflow's name and a number]"
    )]
    pub(crate) job_id: Option<String>,
    /// Resume the job of this file that has not ended, if there is one
    #[arg(long = "continue")]
    pub(crate) continues: bool,
    /// Where another process works on a job of this file: refuse (exit code 4), wait for its end,
    /// or join in
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = IfRunning::Refuse)]
    pub(crate) if_running: IfRunning,
}

/// What to do where another process works on a job of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lower")]
pub(crate) enum IfRunning {
    #[value(help = "begin nothing, and end with exit code 4")]
    Refuse,
    #[value(help = "wait until no process works on one, and go on then")]
    Wait,
    #[value(help = "work on the same job")]
    Join,
}

fn job_id(text: &str) -> Result<String, InvalidName> {
    Job::check_name(text).map(|()| text.to_owned())
}
