//! Which dead letters the arguments mean.

use crate::command::arguments::FilterArguments;
use crate::command::outcome::CommandError;
use retry_workflow::{DeadLetters, Filter, Store};

impl FilterArguments {
    /// The filter, with the signature looked up.
    pub(crate) async fn filter<S: Store>(
        &self,
        letters: &DeadLetters<S>,
    ) -> Result<Filter, CommandError> {
        if let (Some(since), Some(until)) = (self.since, self.until)
            && since >= until
        {
            return Err(CommandError::Usage(format!(
                "nothing ends since {since} and before {until}: --since is earlier than --until"
            )));
        }
        let mut filter = Filter::default();
        filter.job = self.job.clone().or_else(|| self.job_option.clone());
        filter.class.clone_from(&self.class);
        filter.since = self.since;
        filter.until = self.until;
        filter.ids = (!self.items.is_empty()).then(|| self.items.clone());
        if let Some(job) = &filter.job {
            known(letters.store(), job).await?;
        }
        if let Some(given) = &self.signature {
            filter.signature = Some(letters.signature(&filter, given).await?.as_str().to_owned());
        }
        Ok(filter)
    }

    fn is_empty(&self) -> bool {
        self.job.is_none()
            && self.job_option.is_none()
            && self.signature.is_none()
            && self.class.is_none()
            && self.since.is_none()
            && self.until.is_none()
            && self.items.is_empty()
    }

    /// Without a condition, all dead letters are meant only where that is said.
    pub(super) fn or_all(&self, all: bool, done: &str, flag: &str) -> Result<(), CommandError> {
        match (self.is_empty(), all) {
            (true, false) => Err(CommandError::Usage(format!(
                "which dead letters are to be {done}? Name a job, --signature, --class, --since, \
                 --until or --item, or write {flag}"
            ))),
            (false, true) => Err(CommandError::Usage(format!(
                "{flag} means every dead letter, and there is a condition beside it: keep one"
            ))),
            _ => Ok(()),
        }
    }
}

/// A job that is misspelt has no dead letters, and that would look like good news.
async fn known<S: Store>(store: &S, job: &str) -> Result<(), CommandError> {
    if store.counts(job).await?.total() == 0 {
        crate::command::engine::find(store, job).await?;
    }
    Ok(())
}
