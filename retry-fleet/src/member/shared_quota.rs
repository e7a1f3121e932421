//! One bucket of this process that is shared: how much of it the member borrows, and what it
//! gives back.

use core::time::Duration;

use retry_runtime::__private::random_between;
use retry_runtime::{RetryQuota, Share, Shared};
use tokio::time::Instant;

use crate::hub::HubResult;
use crate::member::contact::Contact;
use crate::rules::lending::{Ask, Grant};
use crate::rules::timing::{CHUNK, CHUNK_HELD, FLOOR_AFTER, FORGOTTEN, HEARTBEAT, SPREAD};

pub(crate) struct SharedQuota {
    quota: Shared<RetryQuota>,
    name: String,
    /// Whether the bucket is a part by now, and no more a whole one.
    is_lent: bool,
    seq: u64,
    floor: u32,
    /// Tokens that were taken out, for the hub.
    returned: u32,
    /// What retries ask for between two looks; falls off slowly.
    need: u32,
    /// The empty part of the whole bucket, at the last look.
    room: u32,
    members: u32,
    /// What the bucket held at the last renewal.
    held_then: u32,
    renew_at: Instant,
    /// When it may be asked for more again, after there was not enough.
    retry_at: Instant,
}

impl SharedQuota {
    pub(crate) fn new(quota: Shared<RetryQuota>, is_connected: bool) -> Self {
        let name = quota.as_ref().name().to_owned();
        if is_connected {
            // What it holds was its own; from now on there is one bucket.
            quota.as_ref().shrink(0);
        }
        let now = Instant::now();
        Self {
            quota,
            name,
            is_lent: false,
            seq: 0,
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

    /// Renews what is lent, borrows more, or gives some back, if it is time for that.
    pub(crate) async fn attend(&mut self, contact: &Contact, members: u32) -> HubResult<()> {
        let now = Instant::now();
        self.members = members;
        let quota = self.quota.as_ref();
        // Falls to a half in about two looks.
        self.need = quota.take_demand().max(self.need.saturating_mul(7) / 10);
        let want = self.want();
        let lacks = want > quota.limit() || quota.available() < self.need.saturating_mul(2);
        let is_short = self.is_lent && self.need > 0 && lacks && now >= self.retry_at;
        if now < self.renew_at && !is_short {
            return Ok(());
        }
        if self.is_lent {
            // What has filled beyond what it needs is for the others, and makes room.
            let is_full = quota.available() >= quota.limit();
            let keeps = if is_full { want.min(self.fill()) } else { want };
            self.returned = self.returned.saturating_add(quota.shrink(keeps));
        } else {
            quota.shrink(0);
        }
        let result = self.ask(contact, want).await;
        if result.is_err() && !self.is_lent {
            let quota = self.quota.as_ref();
            quota.unshare();
            quota.reset();
        }
        result
    }

    /// How much of the capacity this member could use.
    fn want(&self) -> u32 {
        let quota = self.quota.as_ref();
        let capacity = quota.config().get_capacity();
        // Where the whole bucket is not full, a full part takes some room to be filled by
        // successes, and keeps it while it fills.
        let (limit, tokens) = (quota.limit(), quota.available());
        let may_fill = tokens >= limit || tokens > self.held_then;
        let extra = if may_fill { self.room.div_ceil(self.members) } else { 0 };
        self.fill().saturating_add(extra).min(capacity)
    }

    /// How many tokens it should have: half of the bucket is dealt out evenly, the other half is
    /// for those who need it.
    fn fill(&self) -> u32 {
        let capacity = self.quota.as_ref().config().get_capacity();
        let dealt = if self.members <= 1 { capacity } else { capacity / self.members / 2 };
        dealt.saturating_add(self.need.saturating_mul(2)).min(capacity)
    }

    async fn ask(&mut self, contact: &Contact, want: u32) -> HubResult<()> {
        // Once more, where something was called back.
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
        let quota = self.quota.as_ref();
        self.seq += 1;
        Ask {
            quota: self.name.clone(),
            member: contact.id.clone(),
            seq: self.seq,
            capacity: quota.config().get_capacity(),
            refill_per_sec: quota.config().get_refill_per_sec(),
            held: quota.limit(),
            lacks: self.fill().min(want).saturating_sub(quota.available()),
            floor: self.floor,
            // If the answer is lost they are as well, rather than there twice.
            returned: core::mem::take(&mut self.returned),
            want,
            lasts: CHUNK,
            forgotten: FORGOTTEN,
        }
    }

    /// Takes what is lent; returns whether the lease was renewed.
    fn accept(&mut self, grant: &Grant, asked: Instant) -> bool {
        let quota = self.quota.as_ref();
        self.members = grant.members;
        self.room = grant.room;
        if !grant.is_renewed {
            self.returned = self.returned.saturating_add(quota.shrink(grant.capacity));
            return false;
        }
        self.floor = grant.floor;
        let share = Share {
            capacity: grant.capacity,
            lasts: CHUNK_HELD.saturating_sub(asked.elapsed()),
            floor: grant.floor,
            floor_after: FLOOR_AFTER,
        };
        quota.accept(share, grant.tokens);
        self.is_lent = true;
        self.held_then = quota.available();
        true
    }

    /// Gives everything back, and is an independent bucket again.
    pub(crate) async fn leave(&mut self, contact: &Contact) {
        let quota = self.quota.as_ref();
        if self.is_lent {
            self.returned = self.returned.saturating_add(quota.shrink(0));
            let ask = self.next_ask(contact, 0);
            // Without an answer, the lease ends by itself.
            let _lost = contact.lend(&ask).await;
        }
        self.quota.as_ref().unshare();
    }
}
