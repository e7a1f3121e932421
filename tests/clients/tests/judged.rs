//! The library judges what real clients report as an experienced engineer would.

use retry_clients::page::page;

#[test]
fn real_failures_are_judged_as_an_engineer_would() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let report = runtime.block_on(retry_clients::run());
    let total = report.total();
    println!("{}", page(&report, &[]));
    let few = |part: usize, of: usize| part * 100 <= 3 * of;
    assert!(few(total.false_retries, total.permanent), "false retries: {total:?}");
    assert!(total.all > 1_000 || !report.skipped.is_empty(), "hardly any case: {total:?}");
    if cfg!(feature = "typed") {
        assert!(total.right * 100 >= 96 * total.all, "right: {total:?}");
        assert!(few(total.missed, total.transient), "missed: {total:?}");
        assert_eq!(total.missed_conflicts, 0, "{total:?}");
        let waits = report.waits();
        assert!(waits.iter().all(|&(_, asked, obeyed)| obeyed == asked), "{waits:?}");
    }
}
