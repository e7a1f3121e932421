//! The numbers by which stores in SQL keep states, outcomes and places in a queue, the same in all
//! of them. Statements have some of them as literals.

use crate::item::record::{AttemptOutcome, Filter, ItemState};

/// The queue of items that were not claimed in their present run, or released.
pub const NEW: i16 = 0;
/// The queue of items that may have killed their workers, and run alone.
pub const SUSPECT: i16 = 1;
/// The queue of items that were claimed before in their present run, and are no suspects.
pub const BEGUN: i16 = 2;

/// Returns the value of the column `claim_rank` for an item of this priority in this queue.
pub fn claim_rank(queue: i16, priority: i8) -> i16 {
    4 * i16::from(priority) + queue
}

/// Returns the priority in the column `claim_rank`.
pub fn priority(claim_rank: i16) -> i8 {
    i8::try_from(claim_rank.div_euclid(4)).unwrap_or_default()
}

pub const PENDING: i16 = ItemState::Pending as i16;
pub const LEASED: i16 = ItemState::Leased as i16;
pub const SUCCEEDED: i16 = ItemState::Succeeded as i16;
pub const DEAD: i16 = ItemState::Dead as i16;
pub const SKIPPED: i16 = ItemState::Skipped as i16;
/// Skipped and purged: there is nothing left to run again.
pub const PURGED: i16 = 5;

/// Returns the state that the column `state` holds; `None` if this program does not know the code.
pub fn state(code: i16) -> Option<ItemState> {
    if code == PURGED {
        return Some(ItemState::Skipped);
    }
    ItemState::ALL.into_iter().find(|state| state_code(*state) == code)
}

/// Returns the code in the column `state` of an item that is not purged.
pub fn state_code(state: ItemState) -> i16 {
    state as i16
}

/// Returns the codes of the states that a filter selects.
pub fn codes(filter: &Filter) -> Vec<i16> {
    let states = ItemState::ALL.into_iter().filter(|state| filter.wants_state(*state));
    let mut codes: Vec<_> = states.map(state_code).collect();
    if codes.contains(&SKIPPED) {
        codes.push(PURGED);
    }
    codes
}

/// A partial index on states: its name and its predicate.
pub type PartialIndex = (&'static str, &'static str);

/// The index of the items with a failure.
pub const FAILED_INDEX: PartialIndex = ("failed", "state >= 3");

/// Returns the smallest partial index with all items in these states, if there is one.
pub fn partial_index(codes: &[i16]) -> Option<PartialIndex> {
    let indexes = [(SKIPPED, ("skipped", "state >= 4")), (DEAD, FAILED_INDEX)];
    let index = indexes.into_iter().find(|(least, _)| codes.iter().all(|code| code >= least));
    index.map(|(_, index)| index)
}

/// The outcomes, in the order of their codes.
const OUTCOMES: [AttemptOutcome; 5] = [
    AttemptOutcome::Succeeded,
    AttemptOutcome::Failed,
    AttemptOutcome::Lost,
    AttemptOutcome::Postponed,
    AttemptOutcome::Redriven,
];

/// Returns the outcome that the column `outcome` holds; `None` if this program does not know the
/// code.
pub fn outcome(code: i16) -> Option<AttemptOutcome> {
    OUTCOMES.into_iter().find(|outcome| outcome_code(*outcome) == code)
}

/// Returns the code in the column `outcome`.
pub fn outcome_code(outcome: AttemptOutcome) -> i16 {
    outcome as i16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::priority::PRIORITIES;

    #[test]
    fn each_code_round_trips() {
        for written in ItemState::ALL {
            assert_eq!(state(state_code(written)), Some(written));
        }
        assert_eq!((state(PURGED), state(6), state(-1)), (Some(ItemState::Skipped), None, None));
        let stored = [PENDING, LEASED, SUCCEEDED, DEAD, SKIPPED];
        assert_eq!(stored, [0, 1, 2, 3, 4], "stores contain these numbers");
        assert_eq!(OUTCOMES.map(outcome_code), [0, 1, 2, 3, 4], "and these");
        for code in 0..5 {
            assert_eq!(outcome(code).map(outcome_code), Some(code));
        }
        assert_eq!((outcome(5), outcome(-1)), (None, None));
        for level in PRIORITIES {
            for queue in [NEW, SUSPECT, BEGUN] {
                let rank = claim_rank(queue, level);
                assert_eq!((priority(rank), rank & 3), (level, queue));
            }
        }
    }
}
