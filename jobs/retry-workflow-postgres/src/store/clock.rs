//! [`ServerClock`]: the server's clock, as all workers of a store read it. It never goes backwards,
//! even if the server's clock or this machine's does.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use retry_workflow::Timestamp;
use retry_workflow::store::sql::micros;

use crate::server::columns::column;
use crate::server::{PooledClient, PostgresError};

/// The time for which a measurement of the server's clock is used.
const MEASURE_EVERY: Duration = Duration::from_secs(30);

/// If the server is ahead by more than this (1 s), the clock jumps instead of catching up
/// gradually.
const LARGEST_SLEW: i64 = 1_000_000;

/// The server's clock.
#[derive(Debug)]
pub(crate) struct ServerClock(Mutex<ClockState>);

#[derive(Debug)]
struct ClockState {
    /// The time of the measurement, by this machine's clock.
    measured: Instant,
    /// The reading of this clock then, in microseconds.
    at: i64,
    /// The lead of the server's clock over it.
    ahead: i64,
    /// Its last reading.
    last: i64,
}

impl ClockState {
    /// Returns the reading of the clock this long after the measurement. It makes up for an offset
    /// by running at half speed, or at one and a half times the speed.
    fn after(&self, elapsed: i64) -> i64 {
        let ahead = if self.ahead > LARGEST_SLEW {
            self.ahead
        } else {
            self.ahead.clamp(-elapsed / 2, elapsed / 2)
        };
        self.at.saturating_add(elapsed).saturating_add(ahead)
    }

    fn read(&mut self, elapsed: i64) -> i64 {
        self.last = self.last.max(self.after(elapsed));
        self.last
    }
}

impl ServerClock {
    /// A clock that has just been measured.
    pub(crate) fn new((server, asked, answered): Measurement) -> Self {
        let way = micros(answered.saturating_duration_since(asked)) / 2;
        let at = server.saturating_add(way);
        Self(Mutex::new(ClockState { measured: answered, at, ahead: 0, last: at }))
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::paused().unwrap_or_else(|| {
            let mut inner = self.0.lock();
            let elapsed = micros(inner.measured.elapsed());
            Timestamp::from_micros(inner.read(elapsed))
        })
    }

    fn measured(&self, (server, asked, answered): Measurement) {
        let mut inner = self.0.lock();
        let elapsed = micros(answered.saturating_duration_since(inner.measured));
        let here = inner.read(elapsed);
        let way = micros(answered.saturating_duration_since(asked)) / 2;
        let ahead = server.saturating_add(way).saturating_sub(here);
        // The answer took that long, so a smaller offset cannot be distinguished from zero.
        let ahead = if ahead.saturating_abs() <= way { 0 } else { ahead };
        inner.measured = answered;
        (inner.at, inner.ahead) = (here, ahead);
    }

    /// Measures the server's clock again if that is due.
    pub(crate) async fn renew(&self, client: &PooledClient) -> Result<(), PostgresError> {
        if self.0.lock().measured.elapsed() >= MEASURE_EVERY {
            self.measured(measure(client).await?);
        }
        Ok(())
    }
}

/// The server's time in microseconds, when it was asked for, and when the answer arrived.
type Measurement = (i64, Instant, Instant);

/// Asks the server for the time.
pub(crate) async fn measure(client: &PooledClient) -> Result<Measurement, PostgresError> {
    let sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
    // Prepared first, so that preparing is not part of the measurement.
    let statement = client.prepare_cached(sql).await?;
    let asked = Instant::now();
    let row = client.query_one(&statement, &[]).await?;
    Ok((column(&row, 0)?, asked, Instant::now()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000;

    /// A clock at 1000 s, with the server's ahead by this much.
    fn clock(ahead: i64) -> ClockState {
        ClockState { measured: Instant::now(), at: 1000 * SECOND, ahead, last: 1000 * SECOND }
    }

    #[test]
    fn a_small_clock_difference_is_corrected_gradually() {
        let ahead = clock(SECOND);
        assert_eq!(ahead.after(SECOND), 1001 * SECOND + SECOND / 2);
        assert_eq!(ahead.after(4 * SECOND), 1005 * SECOND);
        let behind = clock(-SECOND);
        assert_eq!(behind.after(SECOND), 1000 * SECOND + SECOND / 2);
        assert_eq!(behind.after(4 * SECOND), 1003 * SECOND);
    }

    #[test]
    fn it_follows_a_server_that_was_set_forward_and_does_not_go_back() {
        let mut inner = clock(7200 * SECOND);
        assert_eq!(inner.read(1), 8200 * SECOND + 1);
        inner = ClockState { last: inner.last, ..clock(0) };
        assert_eq!(inner.read(SECOND), 8200 * SECOND + 1);
    }

    #[test]
    fn half_of_a_round_trip_is_the_way_back() {
        let asked = Instant::now();
        let answered = asked + Duration::from_millis(20);
        let clock = ServerClock::new((1000 * SECOND, asked, answered));
        assert_eq!(clock.0.lock().at, 1000 * SECOND + 10_000);
        // An offset that the round trip alone may explain does not count.
        let later = answered + Duration::from_secs(10);
        clock.measured((1010 * SECOND + 45_000, later, later + Duration::from_millis(40)));
        assert_eq!(clock.0.lock().ahead, 0);
        let later = later + Duration::from_secs(10);
        clock.measured((1030 * SECOND, later, later));
        assert!(clock.0.lock().ahead > 9 * SECOND, "{:?}", clock.0.lock());
    }
}
