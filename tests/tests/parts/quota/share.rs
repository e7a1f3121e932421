//! A bucket of which a share was lent: what it may hold, until when, and what is left after that.

use std::time::Duration;

use retry_runtime::{Class, QuotaConfig, Share};
use tokio::time::advance;

use super::{DEFAULT, quota};

const SEC: Duration = Duration::from_secs(1);

fn share(capacity: u32, floor: u32) -> Share {
    Share { capacity, lasts: 9 * SEC, floor, floor_after: 21 * SEC }
}

#[tokio::test(start_paused = true)]
async fn a_shrunk_quota_has_the_granted_size() {
    let quota = quota(DEFAULT);
    assert_eq!(quota.shrink(0), 500);
    assert_eq!((quota.limit(), quota.available()), (0, 0));
    quota.refund();
    assert_eq!(quota.available(), 0, "there is no room");

    quota.accept(share(40, 10), 12);
    assert_eq!((quota.limit(), quota.available()), (40, 12));
    for _ in 0..100 {
        quota.refund();
    }
    assert_eq!(quota.available(), 40);
    quota.release(5);
    quota.reset();
    assert_eq!(quota.available(), 40);
    quota.accept(share(60, 10), 15);
    assert_eq!((quota.limit(), quota.available()), (60, 55));
    quota.accept(share(20, 10), 0);
    assert_eq!((quota.limit(), quota.available()), (20, 20));
    assert_eq!(quota.shrink(500), 0, "it never grows by that");
    assert_eq!(quota.limit(), 20);
}

#[tokio::test(start_paused = true)]
async fn a_part_ends_by_itself_down_to_the_floor() {
    let quota = quota(DEFAULT);
    quota.shrink(0);
    quota.accept(share(40, 10), 40);
    advance(Duration::from_millis(8_999)).await;
    assert_eq!((quota.limit(), quota.available()), (40, 40));
    advance(Duration::from_millis(1)).await;
    assert_eq!(quota.try_acquire(Class::empty()), Some(5), "of the floor");
    assert_eq!((quota.limit(), quota.available()), (10, 5));
    advance(100 * SEC).await;
    assert_eq!((quota.limit(), quota.available()), (10, 5));
}

#[tokio::test(start_paused = true)]
async fn a_share_below_the_floor_grows_late_and_empty() {
    let quota = quota(DEFAULT);
    quota.shrink(0);
    quota.accept(share(4, 10), 4);
    advance(9 * SEC).await;
    assert_eq!((quota.limit(), quota.available()), (4, 4));
    advance(12 * SEC).await;
    assert_eq!((quota.limit(), quota.available()), (10, 4));
    quota.accept(share(30, 10), 10);
    advance(SEC).await;
    assert_eq!((quota.limit(), quota.available()), (30, 14), "and is lent more again");
    quota.unshare();
    advance(100 * SEC).await;
    assert_eq!((quota.limit(), quota.available()), (500, 14), "or goes on alone");
}

#[tokio::test(start_paused = true)]
async fn a_part_fills_by_its_part_of_the_rate() {
    let quota = quota(DEFAULT.capacity(100).refill_per_sec(10.0));
    quota.shrink(0);
    advance(100 * SEC).await;
    quota.accept(share(50, 0), 0);
    assert_eq!(quota.available(), 0, "what time gave before was not lent");
    advance(2 * SEC).await;
    assert_eq!(quota.available(), 10);
    advance(7 * SEC).await;
    assert_eq!((quota.limit(), quota.available()), (0, 0));
    advance(100 * SEC).await;
    quota.accept(share(50, 0), 0);
    assert_eq!(quota.available(), 0);
}

#[test]
fn no_span_and_no_number_is_too_large() {
    let quota = quota(QuotaConfig::new().capacity(u32::MAX));
    let lasts = Duration::MAX;
    quota.accept(Share { capacity: u32::MAX, lasts, floor: 0, floor_after: lasts }, u32::MAX);
    assert_eq!(quota.limit(), u32::MAX);
    assert_eq!(quota.shrink(0), u32::MAX);
}
