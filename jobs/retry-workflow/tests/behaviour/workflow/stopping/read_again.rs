//! The command keeps all digits of numbers, and its tests run this with that feature, those of the
//! library without it.

use retry_workflow::{JobStatus, StopReason};

#[test]
fn a_share_that_stopped_a_job_is_read_again_with_and_without_all_digits() {
    for (text, share) in [("0.5", 0.5), ("1.10", 1.1), ("1180591620717411303424", 2_f64.powi(70))] {
        let status =
            r#"{"status":"stopped","reason":{"stopped_by":"failure_threshold","failure_threshold":TEXT,"failed":1,"ended":2}}"#
            .replace("TEXT", text);
        let status: JobStatus = serde_json::from_str(&status).unwrap();
        let again = serde_json::to_string(&status).unwrap();
        for status in [status, serde_json::from_str(&again).unwrap()] {
            let JobStatus::Stopped {
                reason: StopReason::FailureThreshold { failure_threshold, .. },
            } = status
            else {
                panic!("{status:?}")
            };
            assert!((failure_threshold / share - 1.0).abs() < 1e-12, "{text}: {failure_threshold}");
        }
    }
}
