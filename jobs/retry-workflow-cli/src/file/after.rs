//! [`AfterPlan`]: the job that has to end first, whose name may contain variables of the
//! environment.

use std::sync::LazyLock;
use std::time::Duration;

use regex::Regex;

use crate::yaml::span::SourceSpan;
use retry_workflow::Job;
use retry_workflow::job::{After, AwaitedStatus};

/// `after` of a file.
#[derive(Clone, Debug)]
pub(crate) struct AfterPlan {
    pub(super) name: NameTemplate,
    pub(super) newer_than: Option<Duration>,
    pub(super) status: AwaitedStatus,
    pub(super) span: SourceSpan,
}

/// A name with variables, such as `import-${NIGHT}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NameTemplate(String);

/// A variable of the environment in a name; a shell would expand it, and it is not a placeholder.
static VARIABLE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\$\{[A-Z_][A-Z0-9_]*\}").expect("a pattern of ours"));

impl NameTemplate {
    /// # Errors
    /// The place of the mistake in the text, and a message.
    pub(super) fn parse(text: &str) -> Result<Self, (usize, String)> {
        let variables: Vec<_> = VARIABLE.find_iter(text).map(|found| found.start()).collect();
        match text.match_indices('$').find(|(at, _)| !variables.contains(at)) {
            None => Ok(Self(text.to_owned())),
            Some((at, _)) => Err((
                at,
                "only variables of the environment in capitals and braces can stand here: write \
                 one as in `import-${NIGHT}`"
                    .to_owned(),
            )),
        }
    }

    pub(super) fn variables(&self) -> impl Iterator<Item = &str> {
        VARIABLE.find_iter(&self.0).map(|found| name_of(found.as_str()))
    }

    /// The name, with the values of its variables.
    ///
    /// # Errors
    /// A variable has no value, or the result cannot be the name of a job.
    fn resolve(&self, value: impl Fn(&str) -> Option<String>) -> Result<String, String> {
        let (mut name, mut end) = (String::new(), 0);
        for found in VARIABLE.find_iter(&self.0) {
            let variable = name_of(found.as_str());
            name.push_str(&self.0[end..found.start()]);
            end = found.end();
            match value(variable) {
                Some(value) if !value.trim().is_empty() => name.push_str(&value),
                Some(_) => return Err(format!("${variable} is empty: set it to a value")),
                None => {
                    return Err(format!(
                        "${variable} is not set: set it before you start the job, as in \
                         `{variable}=… retry-workflow run …`, or in `env`"
                    ));
                }
            }
        }
        name.push_str(&self.0[end..]);
        Job::check_name(&name)
            .map_err(|error| format!("this cannot be the name of a job: {error}"))?;
        Ok(name)
    }

    /// Returns whether a name may have been built from this template, with some values of the
    /// variables.
    fn may_be(&self, name: &str) -> bool {
        let texts: Vec<_> = VARIABLE.split(&self.0).map(regex::escape).collect();
        let pattern = format!("^(?s:{})$", texts.join(".+"));
        Regex::new(&pattern).is_ok_and(|pattern| pattern.is_match(name))
    }
}

/// The name of a variable in braces.
fn name_of(variable: &str) -> &str {
    variable.trim_start_matches("${").trim_end_matches('}')
}

impl AfterPlan {
    /// The job that is waited for, by the variables of the environment.
    ///
    /// # Errors
    /// See [`NameTemplate::resolve`].
    pub(super) fn resolve(&self, value: impl Fn(&str) -> Option<String>) -> Result<After, String> {
        Ok(self.with_name(self.name.resolve(value)?))
    }

    /// The same with the name that a job has recorded, unless the file names another one now.
    pub(crate) fn recorded(&self, job: &Job) -> Option<After> {
        let name = job.after.as_ref().filter(|name| self.name.may_be(name))?;
        Some(self.with_name(name.clone()))
    }

    fn with_name(&self, name: String) -> After {
        let after = After::new(name).status(self.status);
        match self.newer_than {
            Some(age) => after.newer_than(age),
            None => after,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_accepts_only_variables_in_capitals() {
        let value = |name: &str| (name == "NIGHT").then(|| "2026-11-25".to_owned());
        let name = |text: &str| NameTemplate::parse(text).unwrap().resolve(value);
        assert_eq!(name("import"), Ok("import".to_owned()));
        assert_eq!(name("import-${NIGHT}-b"), Ok("import-2026-11-25-b".to_owned()));
        assert!(name("${NIGHT}${OTHER}").unwrap_err().starts_with("$OTHER is not set"));
        for (wrong, at) in
            [("a-${night}", 2), ("$NIGHT", 0), ("${A", 0), ("${A:-b}", 0), ("${}", 0)]
        {
            assert_eq!(NameTemplate::parse(wrong).unwrap_err().0, at, "{wrong}");
        }
    }

    #[test]
    fn a_recorded_name_is_one_of_the_template_as_long_as_its_text_is_the_same() {
        let may_be = |text: &str, name: &str| NameTemplate::parse(text).unwrap().may_be(name);
        assert!(may_be("import-${NIGHT}", "import-2026-11-25"));
        assert!(may_be("${A}-x-${B}", "1-x-2") && may_be("${A}", "b") && may_be("a", "a"));
        assert!(may_be("a-${A}-b-${B}-c", "a-1-b-2-c"));
        assert!(!may_be("import-${NIGHT}", "imports-2026") && !may_be("a", "ab"));
        assert!(!may_be("a-${A}-b", "a-1-c") && !may_be("${A}-x", "1-y"));
    }
}
