//! Steps: commands, what each gets in its environment, how its process is run, and
//! how a list of them is run as attempts of one call.

pub(crate) mod process;
pub(crate) mod command_env;
pub(crate) mod list;
