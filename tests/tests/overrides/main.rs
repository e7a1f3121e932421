//! Policies that are changed by name while the program runs: from where, what is said
//! of mistakes, and that calls obey them.

mod support;
mod reading;
mod mistakes;
mod in_force;
mod scopes;
mod all_changes;
