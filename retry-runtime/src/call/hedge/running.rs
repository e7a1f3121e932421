//! [`Running`]: the hedges of an attempt.

use core::pin::Pin;

/// The hedges that run, by slot, after the attempt that they have joined.
#[expect(clippy::box_collection, reason = "one pointer, because few attempts have any")]
pub(crate) struct Running<Fut>(Option<Box<Vec<Pin<Box<Fut>>>>>);

impl<Fut> Running<Fut> {
    pub(crate) const fn none() -> Self {
        Self(None)
    }

    /// Adds a hedge in the slot after the last one.
    pub(crate) fn join(&mut self, hedge: Fut) {
        self.0.get_or_insert_default().push(Box::pin(hedge));
    }

    /// Returns the hedge at this place.
    pub(crate) fn at(&mut self, place: usize) -> Option<Pin<&mut Fut>> {
        Some(self.0.as_mut()?[place].as_mut())
    }

    /// Removes the hedge at this place.
    pub(crate) fn remove(&mut self, place: usize) {
        if let Some(hedges) = &mut self.0 {
            drop(hedges.remove(place));
        }
    }
}
