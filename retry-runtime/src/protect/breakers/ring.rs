//! A clock with second chances (Corbató, 1968): which key makes room for a new one.

/// The keys lie in a ring, over which a hand moves.
pub(super) struct Ring<K> {
    keys: Vec<K>,
    /// The place that is looked at next.
    hand: usize,
}

/// The entry found at a place of the ring.
pub(super) enum Found<T> {
    /// The entry was removed: the place is free.
    Removed(T),
    /// The entry could be removed, but was used since the hand last passed; its mark is now
    /// cleared.
    Used,
    /// The entry has to stay.
    Needed,
}

impl<K> Ring<K> {
    pub(super) const fn new() -> Self {
        Self { keys: Vec::new(), hand: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn push(&mut self, key: K) {
        self.keys.push(key);
    }

    /// Puts a key at a place, and returns the one that was there.
    pub(super) fn replace(&mut self, at: usize, key: K) -> K {
        core::mem::replace(&mut self.keys[at], key)
    }

    /// Frees a place, and returns it with what was removed from it: the first one that was not used
    /// since the hand last passed, or else the first one. Looks at no more than `most` places.
    ///
    /// `look` is called with a key, and whether it gets a second chance if it was used.
    pub(super) fn free<T>(
        &mut self,
        most: usize,
        mut look: impl FnMut(&K, bool) -> Found<T>,
    ) -> Option<(usize, T)> {
        let count = self.keys.len();
        let start = self.hand;
        let steps = most.min(count);
        let mut first_used = None;
        for step in 0..steps {
            let at = (start + step) % count;
            match look(&self.keys[at], true) {
                Found::Removed(removed) => return Some((self.stop_behind(at), removed)),
                Found::Used => first_used = first_used.or(Some(step)),
                Found::Needed => {}
            }
        }
        // Each had its second chance: where the hand would stop in its next round.
        for step in first_used.unwrap_or(steps)..steps {
            let at = (start + step) % count;
            if let Found::Removed(removed) = look(&self.keys[at], false) {
                return Some((self.stop_behind(at), removed));
            }
        }
        self.hand = (start + steps) % count.max(1);
        None
    }

    fn stop_behind(&mut self, at: usize) -> usize {
        self.hand = (at + 1) % self.keys.len();
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANY: usize = 1_000;

    fn ring() -> Ring<usize> {
        Ring { keys: (0..MANY).collect(), hand: 0 }
    }

    /// The place that is freed, and how many were looked at.
    fn free(ring: &mut Ring<usize>, look: impl Fn(usize) -> Found<()>) -> (Option<usize>, usize) {
        let mut looks = 0;
        let freed = ring.free(64, |key, _| {
            looks += 1;
            look(*key)
        });
        (freed.map(|(at, ())| at), looks)
    }

    #[test]
    fn no_more_places_are_looked_at_than_allowed_and_the_next_time_the_next_ones() {
        let mut ring = ring();
        let look = |key| if key == 130 { Found::Removed(()) } else { Found::Needed };
        assert_eq!(
            [(); 3].map(|()| free(&mut ring, look)),
            [(None, 64), (None, 64), (Some(130), 3)]
        );
        let rest: Vec<_> = (0..20).map(|_| free(&mut ring, look).1).collect();
        assert!(rest.iter().all(|looks| *looks <= 64), "{rest:?}");
    }

    #[test]
    fn if_all_were_used_the_first_is_evicted_and_the_next_are_marked() {
        let mut ring = ring();
        let mut used = vec![true; MANY];
        let mut looks = Vec::new();
        for _ in 0..64 {
            let mut count = 0;
            let freed = ring.free(64, |key, spares| {
                count += 1;
                let was_used = std::mem::take(&mut used[*key]);
                if was_used && spares { Found::Used } else { Found::Removed(*key) }
            });
            looks.push((freed.unwrap().0, count));
        }
        assert_eq!(looks[0], (0, 65), "each once, and the first again");
        assert_eq!(looks[1..], (1..64).map(|at| (at, 1)).collect::<Vec<_>>());
    }

    #[test]
    fn an_empty_ring_frees_nothing() {
        assert!(Ring::<u8>::new().free(64, |_, _| Found::Removed(())).is_none());
    }
}
