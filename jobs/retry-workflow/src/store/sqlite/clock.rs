//! [`StoreClock`]: the clock of a store's file. It follows the wall clock from boot to boot, and is
//! measured within one: setting the wall clock does not change how long anything takes. It never
//! goes backwards.

use std::time::{Duration, Instant};

use rusqlite::{Connection, Result};

use super::transaction::Transaction;
use crate::item::clock::{Timestamp, micros, virtual_now};

/// The file's record of the clock may be this old.
const WRITE_EVERY: Duration = Duration::from_secs(1);

/// A moment, as the file stores it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ClockReading {
    time: Timestamp,
    /// The running time of the machine by then, and its boot; `None` if the system does not report
    /// them.
    running: Duration,
    boot: Option<String>,
}

/// The clock of a store's file.
#[derive(Debug)]
pub(super) struct StoreClock {
    from: ClockReading,
    measured: RunningTime,
}

impl StoreClock {
    /// The clock as the last process to write left it, or a new one.
    pub(super) fn open(connection: &Connection) -> Self {
        let left = connection
            .query_row("SELECT time, running, boot FROM clock", (), |row| {
                Ok(ClockReading {
                    time: Timestamp::from_micros(row.get(0)?),
                    running: Duration::from_micros(row.get::<_, i64>(1)?.unsigned_abs()),
                    boot: row.get(2)?,
                })
            })
            // A damaged page is reported where it matters: when it is written.
            .ok();
        let (measured, boot) = RunningTime::start();
        let here = ClockReading { time: Timestamp::now(), running: measured.running(), boot };
        Self { from: continued(left, here), measured }
    }

    pub(super) fn now(&self) -> Timestamp {
        virtual_now().unwrap_or_else(|| self.at(self.measured.running()))
    }

    fn at(&self, running: Duration) -> Timestamp {
        self.from.time + running.saturating_sub(self.from.running)
    }

    /// Saves the time that the next process is to continue from, unless it was saved recently.
    pub(super) fn keep(&self, tx: &Transaction<'_>, last: &mut Option<Duration>) -> Result<()> {
        let running = self.measured.running();
        if last.is_some_and(|last| running < last + WRITE_EVERY) {
            return Ok(());
        }
        *last = Some(running);
        tx.prepare(
            "INSERT INTO clock (one, time, running, boot) VALUES (1, ?1, ?2, ?3) \
             ON CONFLICT (one) DO UPDATE SET time = max(time, ?1), running = ?2, boot = ?3",
        )?
        .execute((self.at(running).as_micros(), micros(running), &self.from.boot))?;
        Ok(())
    }
}

/// Returns where the clock continues: another process left it at `left`, and the machine says
/// `here`.
fn continued(left: Option<ClockReading>, here: ClockReading) -> ClockReading {
    let Some(left) = left else { return here };
    if left.boot.is_some() && left.boot == here.boot && left.running <= here.running {
        return left;
    }
    ClockReading { time: left.time.max(here.time), ..here }
}

/// The running time of the machine, suspended or not.
#[derive(Debug)]
struct RunningTime(Instant);

impl RunningTime {
    /// Also returns the id of the boot.
    fn start() -> (Self, Option<String>) {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
        let boot = boot.filter(|_| cfg!(target_os = "linux"));
        (Self(Instant::now()), boot.map(|boot| boot.trim().to_owned()))
    }

    #[cfg(target_os = "linux")]
    fn running(&self) -> Duration {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        Duration::try_from(time).unwrap_or_else(|_| self.0.elapsed())
    }

    #[cfg(not(target_os = "linux"))]
    fn running(&self) -> Duration {
        self.0.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3600;

    fn moment(time: i64, running: u64, boot: Option<&str>) -> ClockReading {
        ClockReading {
            time: Timestamp::from_micros(time * 1_000_000),
            running: Duration::from_secs(running),
            boot: boot.map(ToOwned::to_owned),
        }
    }

    /// Returns the reading of the clock of a process that starts like this, `later` seconds after,
    /// in seconds.
    fn clock(left: Option<ClockReading>, here: ClockReading, later: u64) -> i64 {
        let at = here.running + Duration::from_secs(later);
        let (measured, _) = RunningTime::start();
        let clock = StoreClock { from: continued(left, here), measured };
        clock.at(at).as_micros() / 1_000_000
    }

    #[test]
    fn within_a_boot_it_is_measured_wherever_the_wall_was_set() {
        let left = moment(100_000, 500, Some("a"));
        for wall in [100_010, 100_010 - HOUR, 100_010 + 24 * HOUR] {
            let here = moment(wall, 510, Some("a"));
            assert_eq!(clock(Some(left.clone()), here, 5), 100_015, "{wall}");
        }
    }

    #[test]
    fn after_a_boot_the_clock_follows_the_wall_clock_and_never_goes_back() {
        let left = moment(100_000, 500, Some("a"));
        for boot in [Some("b"), None] {
            assert_eq!(clock(Some(left.clone()), moment(100_060, 20, boot), 5), 100_065);
            assert_eq!(clock(Some(left.clone()), moment(100_000 - HOUR, 20, boot), 5), 100_005);
        }
        // If nothing is known of boots, each process counts as one.
        let left = moment(100_000, 500, None);
        assert_eq!(clock(Some(left), moment(100_060, 600, None), 5), 100_065);
    }

    #[test]
    fn the_clock_of_a_new_store_starts_at_the_wall_clock() {
        assert_eq!(clock(None, moment(100_000, 500, Some("a")), 7), 100_007);
    }
}
