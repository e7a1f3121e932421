//! The part of a bucket that is lent to a member.
//!
//! The bucket of a fleet has one capacity. The hub lends parts of it, each for a limited time, and
//! with as many tokens as there are. The sum of
//!
//! - what members hold under running leases,
//! - and the floors of members that let their leases end without leaving, until they are forgotten,
//!
//! is at most the capacity. A member that is cut off for so long that the hub forgets it keeps its
//! floor all the same: it cannot know whether it is the only one, and without any retries a hub
//! that is away would be an outage of its own. Until it is back, its floor comes on top. A member
//! that is cut off uses no more than the smaller of what it held and its floor. It uses the whole
//! floor only once every lease that was given before its own ended has ended as well; so nothing
//! has to be called back in time.
//!
//! One case exceeds the capacity: the requests of a member arrive, but all answers are lost for
//! longer than that. The hub renews its lease and holds back no more than that, while the member
//! uses its floor, until its next request reports what it holds.

use core::time::Duration;

use crate::rules::member_id::MemberId;

/// A member's report on its part of a bucket, and its request.
#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    /// The bucket's name.
    pub quota: String,
    /// The member that asks.
    pub member: MemberId,
    /// Increases with each request of this member: the hub ignores requests older than one it has
    /// seen.
    pub seq: u64,
    /// The `seq` of its last request whose answer arrived; 0 if none has. What was granted in
    /// answer to a later one never reached it.
    pub acknowledged: u64,
    /// The capacity of the whole bucket, for all members together.
    pub capacity: u32,
    /// The number of tokens per second that the whole bucket gains over time.
    pub refill_per_sec: f64,
    /// The part of the capacity that the member holds now.
    pub held: u32,
    /// The number of tokens it needs in addition to those it has.
    pub lacks: u32,
    /// The floor that the member relies on.
    pub floor: u32,
    /// The tokens that it has returned since the request that it acknowledges.
    pub returned: u32,
    /// The part of the capacity that it requests.
    pub want: u32,
    /// The duration of the lease.
    pub lasts: Duration,
    /// The time after which a silent member is forgotten, with its floor.
    pub forgotten: Duration,
}

/// The hub's record of a member's last request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LastGrant {
    /// The request's [`seq`](Ask::seq).
    pub seq: u64,
    /// The tokens that the member was given.
    pub tokens: u32,
    /// The tokens that the request returned: its [`returned`](Ask::returned).
    pub returned: u32,
}

/// The hub's state of a bucket and of the *other* members when a member asks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Book {
    /// The number of live members of the fleet, including the one that asks.
    pub members: u32,
    /// The tokens that are not lent.
    pub tokens: f64,
    /// The time since the last request.
    pub age: Duration,
    /// The capacity that the others hold under running leases.
    pub lent: u64,
    /// The floors of those others whose leases have ended.
    pub silent_floors: u64,
    /// The floors of all others that have not been forgotten.
    pub floors: u64,
    /// The last request of the member that asks; the default if the hub does not know it.
    pub last: LastGrant,
}

/// The part that is lent to a member, and the hub's record of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grant {
    /// The part of the capacity that it may hold. If that is less than it held, its lease is not
    /// renewed: it gives up the rest and asks again.
    pub capacity: u32,
    /// Set if its lease was renewed.
    pub is_renewed: bool,
    /// The tokens that it gets.
    pub tokens: u32,
    /// Its floor in case it is cut off.
    pub floor: u32,
    /// The floor that the hub records: the larger one of the floor that the member relies on and
    /// the new one, because the answer may be lost.
    pub kept_floor: u32,
    /// The tokens that are not lent after this.
    pub left: f64,
    /// The part of the capacity that is neither lent nor filled: successes of members could fill
    /// it.
    pub room: u32,
    /// The number of live members.
    pub members: u32,
}

impl Book {
    /// Decides what to lend.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "casts of floats saturate, and none is negative"
    )]
    pub fn lend(&self, ask: &Ask) -> Grant {
        let members = self.members.max(1);
        let reserved = u32::try_from(self.lent + self.silent_floors).unwrap_or(u32::MAX);
        let most = ask.capacity.saturating_sub(reserved);
        let capacity = ask.want.min(most);
        let is_renewed = capacity >= ask.held;

        // Time fills the part that is not lent; members fill their own parts.
        let unlent = most.saturating_sub(ask.held);
        let part = f64::from(unlent) / f64::from(ask.capacity.max(1));
        let by_time = ask.refill_per_sec * part * self.age.as_secs_f64();
        let tokens = (self.tokens + by_time).min(f64::from(unlent));
        // Tokens granted in an answer that never arrived come back; the tokens that its request
        // returned are already counted.
        let lost = if ask.acknowledged < self.last.seq { self.last } else { LastGrant::default() };
        let returned = ask.returned.saturating_sub(lost.returned);
        // These tokens were held, so there is room for them.
        let tokens = tokens + f64::from(returned) + f64::from(lost.tokens);
        let tokens = tokens.min(f64::from(unlent));
        let holds = if is_renewed { capacity } else { ask.held };
        // Capacity that it does not get needs no tokens.
        let lacks = ask.lacks.saturating_sub(ask.want.saturating_sub(capacity));
        let given = if is_renewed { lacks.min(tokens as u32) } else { 0 };
        let unlent = most.saturating_sub(holds);
        let left = (tokens - f64::from(given)).min(f64::from(unlent));

        let others = u32::try_from(self.floors).unwrap_or(u32::MAX);
        let floor = (ask.capacity / members).min(ask.capacity.saturating_sub(others));
        Grant {
            capacity,
            is_renewed,
            tokens: given,
            floor: if is_renewed { floor } else { ask.floor },
            kept_floor: if is_renewed { floor.max(ask.floor) } else { ask.floor },
            left,
            room: unlent.saturating_sub(left.ceil() as u32),
            members,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(held: u32, want: u32) -> Ask {
        Ask {
            quota: "api".to_owned(),
            member: MemberId::from("a".to_owned()),
            seq: 1,
            acknowledged: 0,
            capacity: 100,
            refill_per_sec: 0.0,
            held,
            lacks: want.saturating_sub(held),
            floor: 0,
            returned: 0,
            want,
            lasts: Duration::from_secs(10),
            forgotten: Duration::from_secs(60),
        }
    }

    fn book(members: u32, tokens: f64, lent: u64) -> Book {
        Book { members, tokens, lent, ..Book::default() }
    }

    #[test]
    fn no_more_than_the_available_tokens_is_lent() {
        let grant = book(2, 30.0, 70).lend(&ask(0, 50));
        assert_eq!((grant.capacity, grant.tokens, grant.left), (30, 30, 0.0));
        assert!(grant.is_renewed);
        assert_eq!(book(2, 0.0, 100).lend(&ask(0, 50)).capacity, 0);
    }

    #[test]
    fn capacity_is_lent_empty_without_tokens() {
        let grant = book(2, 5.0, 0).lend(&ask(10, 40));
        assert_eq!((grant.capacity, grant.tokens, grant.left), (40, 5, 0.0));
        assert_eq!(grant.room, 60);
    }

    #[test]
    fn an_empty_part_is_filled() {
        let grant = book(2, 50.0, 0).lend(&Ask { lacks: 7, ..ask(10, 10) });
        assert_eq!((grant.capacity, grant.tokens), (10, 7));
        assert!((grant.left - 43.0).abs() < 1e-9);
    }

    #[test]
    fn held_capacity_is_recalled_without_a_new_lease() {
        let mut book = book(2, 0.0, 40);
        book.silent_floors = 40;
        let grant = book.lend(&ask(50, 50));
        assert_eq!((grant.capacity, grant.is_renewed, grant.tokens), (20, false, 0));
        let grant = book.lend(&Ask { returned: 30, ..ask(20, 20) });
        assert_eq!((grant.capacity, grant.is_renewed), (20, true));
        assert!(grant.left < 1e-9, "for what was given back there is no room now");
    }

    #[test]
    fn the_sum_of_floors_does_not_exceed_the_capacity() {
        let mut book = book(3, 100.0, 0);
        assert_eq!(book.lend(&ask(0, 0)).floor, 33);
        book.floors = 80;
        let grant = book.lend(&Ask { floor: 50, ..ask(0, 0) });
        assert_eq!((grant.floor, grant.kept_floor), (20, 50), "the answer may be lost");
    }

    #[test]
    fn tokens_granted_in_a_lost_response_return_once() {
        let mut book = book(2, 10.0, 0);
        book.last = LastGrant { seq: 4, tokens: 30, returned: 5 };
        let again = Ask { seq: 5, acknowledged: 3, returned: 7, lacks: 0, ..ask(0, 0) };
        assert!((book.lend(&again).left - 42.0).abs() < 1e-9, "10, 30 and 2 that are new");
        let answered = Ask { acknowledged: 4, ..again };
        assert!((book.lend(&answered).left - 17.0).abs() < 1e-9, "10 and 7");
    }

    #[test]
    fn time_refills_the_part_that_is_not_lent() {
        let mut book = book(2, 0.0, 50);
        book.age = Duration::from_secs(2);
        let grant = book.lend(&Ask { refill_per_sec: 10.0, ..ask(0, 0) });
        assert!((grant.left - 10.0).abs() < 1e-9, "{}", grant.left);
        book.age = Duration::MAX;
        let grant = book.lend(&Ask { refill_per_sec: 10.0, ..ask(0, 0) });
        assert!((grant.left - 50.0).abs() < 1e-9, "no more than has room");
    }
}
