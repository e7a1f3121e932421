//! The current state of a breaker in one word, the tag with which a permit remembers what it was
//! admitted under, and what a call keeps of it for its retries and waits.

use core::time::Duration;

use retry_rules::BreakerConfig;

use crate::event::transition::State;

/// The handling of a call and its outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Closed; consecutive failures count. Zero, because this is the case to be tested fastest.
    Closed = 0,
    /// Closed; every outcome goes into the window.
    Measured = 1,
    /// Like `Measured`, and the duration of a call counts too.
    Timed = 2,
    /// Closed by force; nothing counts.
    Forced = 3,
    /// Open.
    Open = 4,
    /// Half-open: each permit is a probe.
    HalfOpen = 5,
    /// Half-open, after the probes: a share of the calls is admitted, and judged as when closed.
    Gradual = 6,
}

impl Mode {
    /// The mode of a closed breaker with this configuration.
    pub(super) const fn closed_by(config: &BreakerConfig) -> Self {
        if config.get_slow_calls().is_some() || config.get_abandoned_after().is_some() {
            Self::Timed
        } else if config.is_by_rate() {
            Self::Measured
        } else {
            Self::Closed
        }
    }

    /// The state that users see.
    pub(super) const fn state(self) -> State {
        match self {
            Self::Closed | Self::Measured | Self::Timed | Self::Forced => State::Closed,
            Self::Open => State::Open,
            Self::HalfOpen | Self::Gradual => State::HalfOpen,
        }
    }

    /// Returns whether calls are recorded in the window.
    pub(super) const fn is_measured(self) -> bool {
        matches!(self, Self::Measured | Self::Timed | Self::Gradual)
    }
}

/// Three bits for the mode, one for whether calls are noted, and one for whether they may be held.
const MODE_BITS: u32 = 5;
const MODE: u64 = 0b0_0111;
const WATCHED: u64 = 0b0_1000;
const HELD: u64 = 0b1_0000;
/// The bits that do not belong to the period between two changes of state.
const PASSING: u64 = WATCHED | HELD;
/// The bit that `Open`, `HalfOpen` and `Gradual` have in common.
const LIMITED: u64 = 0b0_0100;

const fn mode_of(bits: u64) -> Mode {
    match bits & MODE {
        0 => Mode::Closed,
        1 => Mode::Measured,
        2 => Mode::Timed,
        3 => Mode::Forced,
        4 => Mode::Open,
        6 => Mode::Gradual,
        _ => Mode::HalfOpen,
    }
}

/// `generation << 5 | held << 4 | watched << 3 | mode`. The generation increases with every change,
/// so two words with the same generation belong to the same period between changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackedState(pub(super) u64);

impl PackedState {
    pub(super) const fn first(mode: Mode) -> Self {
        Self(FIRST_GENERATION << MODE_BITS | mode as u64)
    }

    pub(super) const fn next(self, mode: Mode) -> Self {
        Self((self.generation() + 1) << MODE_BITS | self.0 & PASSING | mode as u64)
    }

    pub(super) const fn generation(self) -> u64 {
        self.0 >> MODE_BITS
    }

    pub(super) const fn mode(self) -> Mode {
        mode_of(self.0)
    }

    /// Closed, with nothing to count, to note or to hold.
    #[inline]
    pub(super) const fn is_closed(self) -> bool {
        self.0 & (MODE | PASSING) == Mode::Closed as u64
    }

    /// The same state, but calls are held from now on.
    pub(super) const fn held(self) -> Self {
        Self(self.0 | HELD)
    }

    /// The same state, but calls are no longer held.
    pub(super) const fn released(self) -> Self {
        Self(self.0 & !HELD)
    }

    /// Returns whether calls are held, or were until their hold ended without a call since.
    pub(super) const fn is_held(self) -> bool {
        self.0 & HELD != 0
    }

    /// The same state, but calls are noted from now on.
    pub(super) const fn watched(self) -> Self {
        Self(self.0 | WATCHED)
    }

    pub(super) const fn is_watched(self) -> bool {
        self.0 & WATCHED != 0
    }

    /// Closed, whatever is counted, and without a hold.
    #[inline]
    pub(crate) const fn admits_all(self) -> bool {
        self.0 & (LIMITED | HELD) == 0
    }
}

pub(super) const FIRST_GENERATION: u64 = 1;

/// The layout of a timed tag: five bits of mode, 22 of generation, and 37 of the microseconds at
/// which the call began. To wrap, a single call would have to last 38 hours, or the state would
/// have to change 4 million times during one.
const TIMED_BITS: u32 = 27;
const TIMED: u64 = (1 << TIMED_BITS) - 1;

const fn micros(since: u64) -> u64 {
    since / 1_000
}

/// The state of a permit in one word, to keep futures small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag(u64);

impl Tag {
    #[inline]
    pub(super) const fn untimed(packed: PackedState) -> Self {
        Self(packed.0)
    }

    /// A tag with the time at which the call began, a [`clock_nanos`](crate::protect::clock_nanos)
    /// time.
    pub(super) const fn timed(packed: PackedState, now: u64) -> Self {
        Self(packed.0 & TIMED | micros(now) << TIMED_BITS)
    }

    pub(super) const fn probe(id: u64) -> Self {
        Self(id << MODE_BITS | Mode::HalfOpen as u64)
    }

    /// The tag of a call that should have been rejected: its outcome has no effect.
    pub(super) const IGNORED: Self = Self(Mode::Open as u64);

    pub(super) const fn mode(self) -> Mode {
        mode_of(self.0)
    }

    #[inline]
    pub(super) const fn is_closed(self) -> bool {
        self.0 & (MODE | PASSING) == Mode::Closed as u64
    }

    /// Returns whether the report has no effect.
    pub(super) const fn is_ignored(self) -> bool {
        matches!(self.mode(), Mode::Open)
    }

    /// The generation of a tag that is neither timed nor a probe's.
    pub(super) const fn generation(self) -> u64 {
        self.0 >> MODE_BITS
    }

    /// The id in a probe's tag.
    pub(super) const fn probe_id(self) -> u64 {
        self.0 >> MODE_BITS
    }

    /// Returns whether the permit (not a probe's) was admitted in this very state, ignoring the
    /// bits for noting and for holding calls.
    pub(super) const fn is_of(self, packed: PackedState) -> bool {
        let differs = (self.0 ^ packed.0) & !PASSING;
        match self.mode() {
            Mode::Timed | Mode::Gradual => differs & TIMED == 0,
            _ => differs == 0,
        }
    }

    /// The bits of mode and generation, which all timed tags of a period have in common.
    const fn period(self) -> u32 {
        (self.0 & TIMED & !PASSING) as u32
    }

    /// Returns whether the call of a timed tag began at `since` or later.
    pub(super) const fn began_since(self, since: u64, now: u64) -> bool {
        self.elapsed(now).as_micros() <= micros(now).saturating_sub(micros(since)) as u128
    }

    /// Returns how long before `now` the call of a timed tag began.
    pub(super) const fn elapsed(self, now: u64) -> Duration {
        let wrap = u64::MAX >> TIMED_BITS;
        Duration::from_micros(micros(now).wrapping_sub(self.0 >> TIMED_BITS) & wrap)
    }
}

/// The trace of a call's last attempt or refusal in a stage, so that its retries and its waits do
/// not count as new calls.
///
/// The lower bits are a tag of the gradual state. Above them is the number of the stage that
/// refused the call, plus one, or 0 if the call was admitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StagePass(u32);

/// The relation of a call to the stages of the present gradual state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum History {
    /// The call comes for the first time.
    New,
    /// The call waits, and was last refused in this stage.
    Refused(u32),
    /// One of its attempts was admitted, so it may be retried.
    Admitted,
}

impl StagePass {
    /// The pass of a call that was in no stage. Its mode is `Closed`, so it is of no gradual state.
    pub(crate) const NONE: Self = Self(0);

    /// The pass of a call whose attempt was admitted with this tag.
    pub(super) const fn admitted(tag: Tag) -> Self {
        match tag.mode() {
            Mode::Gradual => Self(tag.period()),
            _ => Self::NONE,
        }
    }

    /// The pass of a call that was refused in this stage of a gradual state.
    pub(super) const fn refused(packed: PackedState, stage: u32) -> Self {
        Self(Tag::untimed(packed).period() | (stage + 1) << TIMED_BITS)
    }

    /// The history of the call in this gradual state.
    pub(super) const fn history(self, packed: PackedState) -> History {
        let period = self.0 & ((1 << TIMED_BITS) - 1);
        if period != Tag::untimed(packed).period() {
            return History::New;
        }
        match self.0 >> TIMED_BITS {
            0 => History::Admitted,
            stage => History::Refused(stage - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timed_tag_has_its_generation() {
        let packed = PackedState::first(Mode::Timed);
        let tag = Tag::timed(packed, u64::MAX - 1_000_000);
        assert_eq!(tag.mode(), Mode::Timed);
        assert!(tag.is_of(packed));
        assert!(!tag.is_of(packed.next(Mode::Timed)));
        assert_eq!(tag.elapsed(u64::MAX), Duration::from_millis(1));
    }

    #[test]
    fn a_pass_is_of_the_gradual_state_in_which_it_was_given() {
        let packed = PackedState::first(Mode::Gradual);
        let admitted = StagePass::admitted(Tag::timed(packed, 1 << 62));
        let refused = StagePass::refused(packed, 3);
        for packed in [packed, packed.watched(), packed.held()] {
            assert_eq!(admitted.history(packed), History::Admitted);
            assert_eq!(refused.history(packed), History::Refused(3));
            assert_eq!(StagePass::NONE.history(packed), History::New);
        }
        let next = packed.next(Mode::Gradual);
        assert_eq!((admitted.history(next), refused.history(next)), (History::New, History::New));
        for tag in [Tag::untimed(packed.next(Mode::Closed)), Tag::probe(7), Tag::IGNORED] {
            assert_eq!(StagePass::admitted(tag), StagePass::NONE);
        }
    }
    #[test]
    fn a_timed_tag_is_compared_with_another_moment() {
        let packed = PackedState::first(Mode::Gradual);
        let second = 1_000_000_000;
        let (began, now) = (1 << 62, (1 << 62) + 10 * second);
        let tag = Tag::timed(packed, began);
        assert!(tag.began_since(began, now) && tag.began_since(began - second, now));
        assert!(!tag.began_since(began + second, now));
    }

    #[test]
    fn a_call_that_began_before_calls_were_noted_still_counts() {
        let packed = PackedState::first(Mode::Closed);
        let tag = Tag::untimed(packed);
        assert!(packed.is_closed() && !packed.watched().is_closed());
        assert!(tag.is_of(packed.watched()));
        assert!(packed.watched().next(Mode::Open).is_watched());
        assert_eq!(packed.watched().next(Mode::Open).mode(), Mode::Open);
    }

    #[test]
    fn a_hold_belongs_to_no_state_and_leaves_tags_valid() {
        for mode in [Mode::Closed, Mode::Measured, Mode::Timed, Mode::Gradual] {
            let packed = PackedState::first(mode);
            assert!(!packed.held().is_closed() && !packed.held().admits_all());
            assert_eq!((packed.held().mode(), packed.held().released()), (mode, packed));
            assert!(packed.held().next(Mode::Open).is_held());
            let tag = |packed| match mode {
                Mode::Timed | Mode::Gradual => Tag::timed(packed, 1 << 62),
                _ => Tag::untimed(packed),
            };
            assert!(tag(packed).is_of(packed.held()));
            assert!(tag(packed.held()).is_of(packed));
            assert!(!tag(packed).is_of(packed.held().next(mode)));
        }
    }
}
