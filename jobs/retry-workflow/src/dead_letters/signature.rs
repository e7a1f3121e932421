//! The lookup of the signature that a text names: by the signature itself, by its short id or a
//! prefix of the id, or by a message that has the signature.

use std::collections::BTreeMap;
use std::fmt;

use super::DeadLetters;
use crate::item::record::Filter;
use crate::item::sanitize::OneLine;
use crate::item::signature::Signature;
use crate::store::{NEWEST_FAILURES, StoreError, StoreResult};

/// The reason why a signature cannot be resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignatureError {
    /// No signature matches.
    None {
        /// The text that should name one.
        given: String,
        /// The existing signatures, or some of them.
        known: Vec<Signature>,
    },
    /// Several ids begin with the text.
    Several {
        /// The text that should name one.
        given: String,
        /// The signatures whose ids begin with it, or some of them.
        candidates: Vec<Signature>,
    },
    /// The store cannot be read.
    Store(StoreError),
}

/// The largest number of signatures that are suggested.
const SUGGESTED: usize = 5;

impl fmt::Display for SignatureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed = match self {
            Self::Store(error) => return error.fmt(f),
            Self::None { given, known } => {
                write!(f, "no dead letter has the signature \"{}\"", OneLine(given))?;
                if known.is_empty() {
                    return f.write_str(": there are no dead letters");
                }
                f.write_str("; there are")?;
                known
            }
            Self::Several { given, candidates } => {
                write!(f, "\"{}\" is the beginning of several signature ids:", OneLine(given))?;
                candidates
            }
        };
        for signature in listed {
            write!(f, "\n  {}  {}", signature.id(), OneLine(signature.as_str()))?;
        }
        Ok(())
    }
}

impl std::error::Error for SignatureError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Store(error) => error.source(),
            Self::None { .. } | Self::Several { .. } => None,
        }
    }
}

retry_rules::conversion!(|error: StoreError| -> SignatureError { Self::Store(error) });

impl DeadLetters {
    /// Returns the signature that a text names, among the signatures of the items that `filter`
    /// selects: by the signature itself, by its [`id`](Signature::id) or a prefix of it, or by a
    /// message that has the signature.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// # use retry_workflow::*;
    /// let letters = DeadLetters::new(SqliteStore::in_memory());
    /// let error = letters.signature(&Filter::all(), "3f9a").await.unwrap_err();
    /// assert!(error.to_string().contains("there are no dead letters"));
    /// # }
    /// ```
    ///
    /// # Errors
    /// None matches, or several do (with the candidates), or the store cannot be read.
    pub async fn signature(
        &self,
        filter: &Filter,
        given: &str,
    ) -> Result<Signature, SignatureError> {
        // Usually it is given in full, and a recent one: then not all failures are looked at.
        let any = Filter { signature: None, ..filter.clone() };
        let id = given.trim().to_ascii_lowercase();
        let newest = self.signatures(&any, Some(NEWEST_FAILURES)).await?;
        match newest.into_iter().find(|one| one.as_str() == given || one.id() == id) {
            Some(signature) => Ok(signature),
            None => choose(given, self.signatures(&any, None).await?),
        }
    }

    /// The signatures of failures, in order of frequency.
    async fn signatures(
        &self,
        filter: &Filter,
        newest: Option<usize>,
    ) -> StoreResult<Vec<Signature>> {
        // Groups of different classes may share a signature.
        let mut counts: BTreeMap<Signature, u64> = BTreeMap::new();
        for group in self.store.stats(filter, newest).await? {
            let count = counts.entry(group.signature).or_default();
            *count = count.saturating_add(group.count);
        }
        let mut all: Vec<_> = counts.into_iter().collect();
        all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        Ok(all.into_iter().map(|(signature, _)| signature).collect())
    }
}

/// Chooses from signatures, which are in order of frequency.
fn choose(given: &str, mut all: Vec<Signature>) -> Result<Signature, SignatureError> {
    let prefix = given.trim().to_ascii_lowercase();
    let begins = |one: &Signature| !prefix.is_empty() && one.id().starts_with(&prefix);
    let mut candidates: Vec<_> = all.iter().filter(|one| begins(one)).cloned().collect();
    if candidates.len() == 1 {
        return Ok(candidates.swap_remove(0));
    }
    if !candidates.is_empty() {
        candidates.truncate(SUGGESTED);
        return Err(SignatureError::Several { given: given.to_owned(), candidates });
    }
    let folded = Signature::new(given);
    if let Some(same) = all.iter().position(|one| *one == folded) {
        return Ok(all.swap_remove(same));
    }
    // A stable sort: those that contain the text come first.
    all.sort_by_key(|one| !one.as_str().contains(given));
    all.truncate(SUGGESTED);
    Err(SignatureError::None { given: given.to_owned(), known: all })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Vec<Signature> {
        ["disk full", "row <n> is locked", "no answer after <n>s"].map(Signature::new).to_vec()
    }

    #[test]
    fn a_text_an_id_a_beginning_and_a_message_are_known() {
        let locked = Signature::new("row <n> is locked");
        let id = locked.id();
        for given in ["row <n> is locked", &id, &id[..4], &id.to_uppercase(), "row 17 is locked"] {
            assert_eq!(choose(given, known()).unwrap(), locked, "{given}");
        }
    }

    #[test]
    fn an_unknown_signature_is_refused_with_the_known_ones() {
        let error = choose("locked", known()).unwrap_err().to_string();
        let id = Signature::new("row <n> is locked").id();
        assert!(error.starts_with("no dead letter has the signature \"locked\"; there are\n"));
        assert!(error.lines().nth(1).unwrap().contains(&id), "{error}");
        assert!(choose("", known()).is_err());
    }

    #[test]
    fn an_ambiguous_prefix_is_refused() {
        let many: Vec<_> =
            (b'a'..=b'z').map(|c| Signature::new(&char::from(c).to_string())).collect();
        let shared = many
            .iter()
            .map(|one| one.id()[..1].to_owned())
            .find(|first| many.iter().filter(|one| one.id().starts_with(first)).count() > 1)
            .unwrap();
        let error = choose(&shared, many).unwrap_err();
        assert!(matches!(error, SignatureError::Several { .. }), "{error}");
    }
}
