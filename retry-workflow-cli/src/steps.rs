//! Steps: commands, what each gets in its environment, how its process is run, what comes
//! after it, whether it was stopped with ours, and how a list of them is run as attempts of one
//! call.

pub(crate) mod mask;
pub(crate) mod environment;
pub(crate) mod descendants;
pub(crate) mod tap;
pub(crate) mod stream;
pub(crate) mod process;
pub(crate) mod interruption;
pub(crate) mod vault;
pub(crate) mod command_env;
pub(crate) mod step;
pub(crate) mod list;
