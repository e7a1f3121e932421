//! One bucket for many members: the hub never lends more than the capacity, and lends it to those
//! that need it.

use std::sync::Arc;
use std::time::Duration;

use retry_fleet::{Fleet, MemoryHub};
use retry_runtime::{Class, QuotaConfig, RetryQuota};
use tokio::time::{Instant, sleep};

use crate::support::{MILLI, SEC, Wire, until};

const CONFIG: QuotaConfig = QuotaConfig::new().capacity(1_000);

struct Borrower {
    quota: Arc<RetryQuota>,
    fleet: Fleet,
    wire: Wire,
}

async fn borrowers(count: usize, hub: &MemoryHub, config: QuotaConfig) -> Vec<Borrower> {
    let mut all = Vec::new();
    for _ in 0..count {
        let quota = Arc::new(RetryQuota::new("api", config));
        let wire = Wire::new(hub);
        let fleet = Fleet::join(wire.clone(), "billing").await.expect("joined");
        fleet.share(Arc::clone(&quota));
        all.push(Borrower { quota, fleet, wire });
    }
    all
}

fn held(all: &[Borrower]) -> u32 {
    all.iter().map(|one| one.quota.limit()).sum()
}

fn tokens(all: &[Borrower]) -> u32 {
    all.iter().map(|one| one.quota.available()).sum()
}

/// Lets time pass, checking all the while that no more is lent than the capacity.
async fn watch(hub: &MemoryHub, all: &[Borrower], time: Duration, mut each: impl FnMut()) {
    let begin = Instant::now();
    while begin.elapsed() < time {
        let (lent, used) = (hub.lent("billing", "api"), held(all));
        assert!(lent <= 1_000, "{lent} are lent");
        assert!(used <= 1_000, "{used} are held");
        each();
        sleep(50 * MILLI).await;
    }
}

/// Ignores how much was spent.
fn ignore(_spent: u32) {}

fn spend_all(one: &Borrower) -> u32 {
    let mut spent = 0;
    while let Some(cost) = one.quota.try_acquire(Class::empty()) {
        spent += cost;
    }
    spent
}

#[tokio::test(start_paused = true)]
async fn alone_it_has_the_whole_bucket() {
    let hub = MemoryHub::new();
    let all = borrowers(1, &hub, CONFIG).await;
    sleep(SEC).await;
    assert_eq!((all[0].quota.limit(), all[0].quota.available()), (1_000, 1_000));
    all[0].fleet.leave().await;
    assert_eq!((all[0].quota.limit(), hub.lent("billing", "api")), (1_000, 0));
}

#[tokio::test(start_paused = true)]
async fn half_is_dealt_out_and_busy_members_borrow_more() {
    let hub = MemoryHub::new();
    let all = borrowers(10, &hub, CONFIG).await;
    watch(&hub, &all, 15 * SEC, || {}).await;
    assert!(all.iter().all(|one| one.quota.limit() == 50), "{}", held(&all));
    assert_eq!(tokens(&all), 500, "and 500 are in the hub");

    let mut spent = 0;
    watch(&hub, &all, 8 * SEC, || spent += spend_all(&all[3])).await;
    assert!(spent >= 540, "{spent}: its own and what was lent to nobody");
    // Tokens that one member has spent are gone for the others and for the hub.
    assert!(spent + tokens(&all) <= 1_000);
}

#[tokio::test(start_paused = true)]
async fn all_members_together_spend_at_most_one_bucket() {
    let hub = MemoryHub::new();
    let all = borrowers(20, &hub, CONFIG).await;
    sleep(10 * SEC).await;
    let mut spent = 0;
    watch(&hub, &all, 60 * SEC, || spent += all.iter().map(spend_all).sum::<u32>()).await;
    assert!((900..=1_000).contains(&spent), "{spent}");
}

#[tokio::test(start_paused = true)]
async fn successes_fill_the_whole_bucket_again() {
    let hub = MemoryHub::new();
    let all = borrowers(5, &hub, CONFIG).await;
    sleep(5 * SEC).await;
    watch(&hub, &all, 30 * SEC, || ignore(all.iter().map(spend_all).sum())).await;
    assert!(tokens(&all) < 100);
    // Only one member succeeds, often enough to have filled its own part long ago.
    watch(&hub, &all, 120 * SEC, || (0..10).for_each(|_| all[0].quota.refund())).await;
    let mut spent = 0;
    watch(&hub, &all, 20 * SEC, || spent += spend_all(&all[4])).await;
    assert!(spent > 400, "{spent}: what others have earned is lent to who needs it");
}

#[tokio::test(start_paused = true)]
async fn time_fills_it_at_one_rate_for_all() {
    let hub = MemoryHub::new();
    let all = borrowers(10, &hub, CONFIG.refill_per_sec(10.0)).await;
    sleep(5 * SEC).await;
    watch(&hub, &all, 30 * SEC, || ignore(all.iter().map(spend_all).sum())).await;
    let mut spent = 0;
    watch(&hub, &all, 100 * SEC, || spent += all.iter().map(spend_all).sum::<u32>()).await;
    assert!((800..=1_050).contains(&spent), "{spent} in 100 s, of 10 each");
}

#[tokio::test(start_paused = true)]
async fn a_disconnected_member_keeps_only_its_floor() {
    let hub = MemoryHub::new();
    let all = borrowers(4, &hub, CONFIG).await;
    // The first members had larger floors; with each renewal, they pass some on to the others.
    sleep(30 * SEC).await;
    // One member has borrowed much, and is then cut off.
    watch(&hub, &all, 3 * SEC, || ignore(spend_all(&all[0]))).await;
    until(10 * SEC, || {
        ignore(spend_all(&all[0]));
        all[0].quota.limit() > 250
    })
    .await;
    all[0].wire.cut();
    all[1].wire.cut();
    let before = all[1].quota.limit();
    // The others want everything.
    watch(&hub, &all, 9 * SEC, || ignore(all[2..].iter().map(spend_all).sum())).await;
    assert_eq!(all[0].quota.limit(), 250, "its floor");
    assert_eq!(all[1].quota.limit(), before, "of its floor what it held");
    watch(&hub, &all, 13 * SEC, || ignore(all[2..].iter().map(spend_all).sum())).await;
    assert_eq!((all[0].quota.limit(), all[1].quota.limit()), (250, 250));
    all[0].wire.restore();
    all[1].wire.restore();
    watch(&hub, &all, 30 * SEC, || {}).await;
    assert!(all[0].quota.limit() < 250, "it needs no more, and gives it back");
}

#[tokio::test(start_paused = true)]
async fn without_the_hub_each_has_its_floor_and_it_heals() {
    let hub = MemoryHub::new();
    let all = borrowers(10, &hub, CONFIG).await;
    sleep(30 * SEC).await;
    for one in &all {
        one.wire.cut();
    }
    watch(&hub, &all, 300 * SEC, || ignore(all.iter().map(spend_all).sum())).await;
    assert!(all.iter().all(|one| one.quota.limit() == 100));
    for one in &all {
        one.wire.restore();
    }
    watch(&hub, &all, 60 * SEC, || {}).await;
    assert!(all.iter().all(|one| one.quota.limit() < 1_000));
    assert_eq!(all[0].fleet.known_members(), 10);
}

#[tokio::test(start_paused = true)]
async fn a_dead_member_holds_its_floor_for_a_minute() {
    let hub = MemoryHub::new();
    let mut all = borrowers(4, &hub, CONFIG).await;
    sleep(5 * SEC).await;
    // Killed: it never contacts the hub again, and its process uses nothing.
    let dead = all.pop().unwrap();
    dead.wire.cut();
    let needy = |all: &[Borrower]| all.iter().map(spend_all).sum::<u32>();
    watch(&hub, &all, 40 * SEC, || ignore(needy(&all))).await;
    assert!(held(&all) <= 750, "{}", held(&all));
    until(60 * SEC, || {
        assert!(hub.lent("billing", "api") <= 1_000);
        needy(&all);
        held(&all) > 900
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn before_the_first_contact_it_is_a_bucket_of_its_own() {
    let hub = MemoryHub::new();
    let wire = Wire::new(&hub);
    wire.cut();
    let fleet = Fleet::join(wire.clone(), "billing").await.unwrap();
    let quota = Arc::new(RetryQuota::new("api", CONFIG));
    fleet.share(Arc::clone(&quota));
    sleep(5 * SEC).await;
    assert_eq!((quota.limit(), quota.available()), (1_000, 1_000));
    quota.try_acquire(Class::empty()).expect("a full bucket");
    wire.restore();
    sleep(5 * SEC).await;
    assert_eq!(hub.lent("billing", "api"), 1_000);
}

#[tokio::test(start_paused = true)]
async fn a_hub_that_refuses_to_lend_does_not_refill() {
    let hub = MemoryHub::new();
    let wire = Wire::new(&hub);
    wire.refuse_to_lend();
    let fleet = Fleet::join(wire.clone(), "billing").await.unwrap();
    let quota = Arc::new(RetryQuota::new("api", CONFIG));
    fleet.share(Arc::clone(&quota));
    let one = Borrower { quota, fleet, wire };
    let mut spent = 0;
    for _ in 0..600 {
        spent += spend_all(&one);
        sleep(100 * MILLI).await;
    }
    assert_eq!(spent, 1_000, "its own bucket, once");
}

#[tokio::test(start_paused = true)]
async fn tokens_of_a_lost_grant_are_granted_again() {
    let hub = MemoryHub::new();
    let wire = Wire::new(&hub);
    wire.lose_answers(1);
    let fleet = Fleet::join(wire.clone(), "billing").await.unwrap();
    let quota = Arc::new(RetryQuota::new("api", CONFIG));
    fleet.share(Arc::clone(&quota));
    until(10 * SEC, || hub.lent("billing", "api") == 1_000).await;
    sleep(5 * SEC).await;
    assert_eq!((quota.available(), quota.limit()), (1_000, 1_000));
}

#[tokio::test(start_paused = true)]
async fn members_with_repeatedly_lost_responses_lose_no_tokens() {
    for offset in 0..4_u64 {
        let hub = MemoryHub::new();
        let all = borrowers(20, &hub, CONFIG).await;
        // About each second answer, while tokens move: never so many in a row that a lease ends.
        let mut ticks = offset;
        let mut lose = || {
            ticks += 1;
            for (number, one) in (0..).zip(&all) {
                if (ticks + 7 * number) % 100 == 0 {
                    one.wire.lose_answers(1);
                }
            }
        };
        let take_all = || all.iter().map(spend_all).sum::<u32>();
        watch(&hub, &all, 5 * SEC, &mut lose).await;
        let mut spent = 0;
        watch(&hub, &all, 20 * SEC, || {
            lose();
            spent += take_all();
        })
        .await;
        watch(&hub, &all, 40 * SEC, || spent += take_all()).await;
        assert!((800..=1_000).contains(&spent), "{spent} with the offset {offset}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_member_forgotten_by_the_hub_keeps_only_its_floor() {
    let hub = MemoryHub::new();
    let mut all = borrowers(1, &hub, CONFIG).await;
    sleep(5 * SEC).await;
    all.extend(borrowers(1, &hub, CONFIG).await);
    sleep(30 * SEC).await;
    all[0].wire.cut();
    sleep(120 * SEC).await;
    ignore(spend_all(&all[1]));
    sleep(60 * SEC).await;
    assert!(hub.lent("billing", "api") <= 1_000, "what the hub has lent");
    assert_eq!(all[0].quota.limit(), 500, "its floor, which it keeps");
    assert!(held(&all) <= 1_500, "{}", held(&all));
    all[0].wire.restore();
    until(30 * SEC, || held(&all) <= 1_000).await;
}
