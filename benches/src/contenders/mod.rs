//! The contenders: one file each, with one `async fn call(id: u64)`.
//!
//! All follow the policy of the parent module, in the way that their own documentation shows, with
//! default features and no hooks.

mod attribute;
mod backon;
mod backon_macros;
mod bare;
mod by_hand;
mod by_hand_mute;
mod retrier;
mod retry_if;
mod retry_layer;
mod retry_layer_leaked;
mod seatbelt;
mod tokio_retry2;
mod tower_resilience;
mod tower_retry;

use super::{FIRST_WAIT, POLICY};
use crate::names;
use crate::visit::Visit;

/// Passes every contender to `visitor`.
pub fn each(visitor: &mut impl Visit) {
    each_with_timers(visitor);
    visitor.visit(names::SEATBELT, seatbelt::call);
}

/// Passes those to `visitor` whose waits obey the measurement's clock.
pub fn each_with_timers(visitor: &mut impl Visit) {
    visitor.visit(names::ATTRIBUTE, attribute::call);
    visitor.visit(names::RETRIER, retrier::call);
    visitor.visit(names::RETRY_LAYER, retry_layer::call);
    visitor.visit(names::RETRY_LAYER_LEAKED, retry_layer_leaked::call);
    visitor.visit(names::BARE, bare::call);
    visitor.visit(names::BY_HAND, by_hand::call);
    visitor.visit(names::BY_HAND_MUTE, by_hand_mute::call);
    visitor.visit(names::BACKON, backon::call);
    visitor.visit(names::BACKON_MACROS, backon_macros::call);
    visitor.visit(names::TOKIO_RETRY2, tokio_retry2::call);
    visitor.visit(names::RETRY_IF, retry_if::call);
    visitor.visit(names::TOWER_RETRY, tower_retry::call);
    visitor.visit(names::TOWER_RESILIENCE, tower_resilience::call);
}
