//! Steps: commands, their environment, how their processes run, what follows them, whether a signal
//! that stops this process stopped them as well, and how a list of them runs as attempts of one
//! call; how many files this process needs to have open for them; and what the user should know.

pub(crate) mod temporary;
pub(crate) mod mask;
pub(crate) mod environment;
pub(crate) mod process_tree;
pub(crate) mod tap;
pub(crate) mod notices;
pub(crate) mod stream;
pub(crate) mod process;
pub(crate) mod exit_codes;
pub(crate) mod interruption;
pub(crate) mod retry_after;
pub(crate) mod command_env;
pub(crate) mod step;
pub(crate) mod list;
