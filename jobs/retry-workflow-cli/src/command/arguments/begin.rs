//! The arguments that choose the job of a `run`.

use clap::{Args, ValueEnum};

use retry_workflow::Job;
use retry_workflow::job::InvalidName;

/// The choice of the job that a `run` works on.
#[derive(Clone, Debug, Args)]
pub(crate) struct BeginArguments {
    #[arg(
        long,
        value_name = "ID",
        value_parser = job_id,
        help = "The id of the job to start, or to resume with --continue [default: the workflow's \
                name and a number]"
    )]
    pub(crate) job_id: Option<String>,
    /// Resume the job of this file that has not ended, if there is one; if its `skip_after` has
    /// passed, bring it to its end, and then start a new one
    #[arg(long = "continue")]
    pub(crate) continues: bool,
    /// If another process is working on a job of this file: refuse (exit code 4), wait until it is
    /// done, or work on the same job
    #[arg(long, value_name = "ACTION", value_enum, default_value_t = IfRunning::Refuse)]
    pub(crate) if_running: IfRunning,
    /// If the job with this --job-id has ended: refuse (exit code 2), or report its result, as
    /// `resume` does (exit code 0, 3 with dead letters or cancelled items, 5 with late items)
    #[arg(
        long,
        value_name = "ACTION",
        value_enum,
        default_value_t = IfEnded::Refuse,
        requires = "job_id"
    )]
    pub(crate) if_ended: IfEnded,
}

/// The action if the chosen job has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lower")]
pub(crate) enum IfEnded {
    #[value(help = "exit with code 2")]
    Refuse,
    #[value(help = "report its result, for commands that are started again and again")]
    Report,
}

/// The action if another process works on a job of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lower")]
pub(crate) enum IfRunning {
    #[value(help = "start nothing, and exit with code 4")]
    Refuse,
    #[value(help = "wait until no process works on one, then continue")]
    Wait,
    #[value(help = "work on the same job")]
    Join,
}

fn job_id(text: &str) -> Result<String, InvalidName> {
    Job::check_name(text).map(|()| text.to_owned())
}
