//! Several workers of a job with several rates, which are dropped and started again now and then.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use retry_workflow::job::Rates;
use retry_workflow::{Rate, Store, Timestamp, Workflow, keyed};

/// The times at which items started, and their costs.
type Starts = Arc<Mutex<Vec<(Timestamp, u64)>>>;

/// The most of a number or a cost that starts in any span of this length.
fn most_within(starts: &Starts, span: Duration, of: impl Fn(u64) -> u64) -> u64 {
    let starts = starts.lock().unwrap();
    let within = |from: Timestamp| {
        let is_in = |&&(at, _): &&(Timestamp, u64)| at >= from && at < from + span;
        starts.iter().filter(is_in).map(|(_, cost)| of(*cost)).sum()
    };
    starts.iter().map(|(from, _)| within(*from)).max().unwrap_or(0)
}

/// The cost of an item: first small, and later now and then nearly as much as a minute has.
fn cost(item: u64) -> u64 {
    if item > 150 && item % 10 == 9 { 5_500 } else { 1 + item * 37 % 100 }
}

fn rates() -> Vec<Rates> {
    let rate = |text: &str| text.parse::<Rate>().unwrap();
    let by_cost = rate("6000/m").cost(|item| item.as_u64().map(cost));
    vec![rate("20/s").into(), rate("100/m").into(), by_cost, rate("290/h").into()]
}

pub(crate) async fn run(store: Arc<dyn Store>) {
    let starts = Starts::default();
    let worker = || {
        let (clock, starts) = (Arc::clone(&store), Arc::clone(&starts));
        let job = Workflow::new("shared").job_id("shared").store(Arc::clone(&store)).rate(rates());
        tokio::spawn(job.max_parallel(8).run(
            keyed(0..300_u64, u64::to_string),
            move |item: u64, _| {
                starts.lock().unwrap().push((clock.now(), cost(item)));
                async {
                    tokio::time::sleep(Duration::from_millis(300)).await;
                    Ok::<_, String>(())
                }
            },
        ))
    };
    let began = store.now();
    let last = worker();
    for killed in 1..=12_u64 {
        let worker = worker();
        tokio::time::sleep(Duration::from_millis(killed * 733 % 9_000)).await;
        worker.abort();
    }
    let report = last.await.unwrap().unwrap();
    assert_eq!(report.succeeded(), 300, "{report}");
    let minute = Duration::from_secs(60);
    for (text, span, most, of) in [
        ("20/s", Duration::from_secs(1), 21, (|_| 1) as fn(u64) -> u64),
        ("100/m", minute, 100, |_| 1),
        ("6000/m", minute, 6_000, |cost| cost),
        ("290/h", minute * 60, 290, |_| 1),
    ] {
        let seen = most_within(&starts, span, of);
        assert!(seen <= most, "{text}: {seen}");
        println!("{text}: {seen} of {most}");
    }
    // The last ten items start in the second hour, and no room of it was lost for long.
    let took = store.now().since(began);
    assert!(took > minute * 59 && took < minute * 63, "{took:?}");
}
