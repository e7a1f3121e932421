//! A shared quota of this process: how much of the bucket the member borrows, and what it returns.

use core::time::Duration;

use retry_runtime::random_between;
use retry_runtime::{RetryQuota, Share, Shared};
use tokio::time::Instant;

use crate::hub::HubResult;
use crate::member::contact::Contact;
use crate::rules::lending::{Ask, Grant};
use crate::rules::timing::{
    FLOOR_AFTER, FORGOTTEN, HEARTBEAT, QUOTA_LEASE, QUOTA_LEASE_LOCAL, SPREAD,
};

pub(crate) struct SharedQuota {
    quota: Shared<RetryQuota>,
    name: String,
    /// Set if the bucket holds a borrowed part, rather than the whole.
    is_lent: bool,
    /// Set if the process's own tokens were set aside for the shared bucket, of which nothing has
    /// come yet.
    is_set_aside: bool,
    seq: u64,
    /// The last request whose answer arrived.
    acknowledged: u64,
    floor: u32,
    /// Tokens that were taken out of the bucket since then, to be returned to the hub.
    returned: u32,
    /// The demand of retries per round, which decays slowly.
    need: u32,
    /// The empty part of the shared bucket, as of the last answer.
    room: u32,
    members: u32,
    /// The tokens in the bucket after the last renewal.
    held_then: u32,
    renew_at: Instant,
    /// The time of the next request for more tokens, after there were not enough.
    retry_at: Instant,
}

impl SharedQuota {
    pub(crate) fn new(quota: Shared<RetryQuota>, is_connected: bool) -> Self {
        let name = quota.as_ref().name().to_owned();
        if is_connected {
            quota.as_ref().shrink(0);
        }
        let now = Instant::now();
        Self {
            quota,
            name,
            is_lent: false,
            is_set_aside: is_connected,
            seq: 0,
            acknowledged: 0,
            floor: 0,
            returned: 0,
            need: 0,
            room: 0,
            members: 1,
            held_then: 0,
            renew_at: now,
            retry_at: now,
        }
    }

    /// Renews what is lent, borrows more, or returns some, when it is time.
    pub(crate) async fn attend(&mut self, contact: &Contact, members: u32) -> HubResult<()> {
        let now = Instant::now();
        self.members = members;
        let quota = self.quota.as_ref();
        // Halves in about two rounds.
        self.need = quota.take_demand().max(self.need.saturating_mul(7) / 10);
        let want = self.want();
        let lacks = want > quota.limit() || quota.available() < self.need.saturating_mul(2);
        let is_short = self.is_lent && self.need > 0 && lacks && now >= self.retry_at;
        if now < self.renew_at && !is_short {
            return Ok(());
        }
        if self.is_lent {
            // Return tokens beyond the need: others can use them, and it makes room for successes.
            let is_full = quota.available() >= quota.limit();
            let keeps = if is_full { want.min(self.fill()) } else { want };
            self.returned = self.returned.saturating_add(quota.shrink(keeps));
        }
        let result = self.ask(contact, want).await;
        if result.is_err() && core::mem::take(&mut self.is_set_aside) {
            // Once, and not whenever the hub refuses: else its bucket would be refilled each time.
            let quota = self.quota.as_ref();
            quota.unshare();
            quota.reset();
        }
        result
    }

    /// The capacity and the tokens that are borrowed.
    fn borrowed(&self) -> (u32, u32) {
        let quota = self.quota.as_ref();
        if self.is_lent { (quota.limit(), quota.available()) } else { (0, 0) }
    }

    /// Returns how much of the capacity this member could use.
    fn want(&self) -> u32 {
        let quota = self.quota.as_ref();
        let capacity = quota.config().get_capacity();
        // If the shared bucket is not full, a full part takes on some empty capacity for successes
        // to fill, and keeps it while it is filling.
        let (limit, tokens) = self.borrowed();
        let may_fill = tokens >= limit || tokens > self.held_then;
        let extra = if may_fill { self.room.div_ceil(self.members) } else { 0 };
        self.fill().saturating_add(extra).min(capacity)
    }

    /// Returns how many tokens this member should have: half of the bucket is divided evenly, the
    /// other half goes to members that need it.
    fn fill(&self) -> u32 {
        let capacity = self.quota.as_ref().config().get_capacity();
        let dealt = if self.members <= 1 { capacity } else { capacity / self.members / 2 };
        dealt.saturating_add(self.need.saturating_mul(2)).min(capacity)
    }

    async fn ask(&mut self, contact: &Contact, want: u32) -> HubResult<()> {
        // Ask again after giving up what was called back.
        for _ in 0..2 {
            let asked = Instant::now();
            let ask = self.next_ask(contact, want);
            let Some(grant) = contact.lend(&ask).await? else { return Ok(()) };
            if self.accept(&grant, asked) {
                break;
            }
        }
        let now = Instant::now();
        if want > self.quota.as_ref().limit() || self.quota.as_ref().available() < self.need {
            self.retry_at = now + HEARTBEAT / 2 + random_between(Duration::ZERO, SPREAD);
        }
        self.renew_at = now + HEARTBEAT - random_between(Duration::ZERO, SPREAD);
        #[cfg(feature = "metrics")]
        crate::observe::metrics::lent(&contact.fleet, &self.name, self.quota.as_ref().limit());
        Ok(())
    }

    fn next_ask(&mut self, contact: &Contact, want: u32) -> Ask {
        let config = self.quota.as_ref().config();
        let (held, tokens) = self.borrowed();
        self.seq += 1;
        Ask {
            quota: self.name.clone(),
            member: contact.id.clone(),
            seq: self.seq,
            acknowledged: self.acknowledged,
            capacity: config.get_capacity(),
            refill_per_sec: config.get_refill_per_sec(),
            held,
            lacks: self.fill().min(want).saturating_sub(tokens),
            floor: self.floor,
            returned: self.returned,
            want,
            lasts: QUOTA_LEASE,
            forgotten: FORGOTTEN,
        }
    }

    /// Takes over what was lent; returns whether the lease was renewed.
    fn accept(&mut self, grant: &Grant, asked: Instant) -> bool {
        let quota = self.quota.as_ref();
        self.acknowledged = self.seq;
        self.returned = 0;
        self.members = grant.members;
        self.room = grant.room;
        if !grant.is_renewed {
            self.returned = self.returned.saturating_add(quota.shrink(grant.capacity));
            return false;
        }
        self.floor = grant.floor;
        let share = Share {
            capacity: grant.capacity,
            lasts: QUOTA_LEASE_LOCAL.saturating_sub(asked.elapsed()),
            floor: grant.floor,
            floor_after: FLOOR_AFTER,
        };
        if !self.is_lent {
            // From now on there is only the shared bucket.
            quota.shrink(0);
            (self.is_lent, self.is_set_aside) = (true, false);
        }
        quota.accept(share, grant.tokens);
        self.held_then = quota.available();
        true
    }

    /// Returns everything; the bucket is independent again.
    pub(crate) async fn leave(&mut self, contact: &Contact) {
        let quota = self.quota.as_ref();
        if self.is_lent {
            self.returned = self.returned.saturating_add(quota.shrink(0));
            let ask = self.next_ask(contact, 0);
            // Without an answer, the lease simply expires.
            let _lost = contact.lend(&ask).await;
        }
        self.quota.as_ref().unshare();
    }
}
