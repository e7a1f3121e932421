//! Policies that are changed by name at runtime: where changes come from, the messages about
//! mistakes, and that calls obey the changes.

mod support;
mod reading;
mod mistakes;
mod in_force;
mod scopes;
mod hedges;
mod runtime_policies;
mod all_changes;
