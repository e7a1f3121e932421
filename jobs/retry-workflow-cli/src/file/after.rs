//! [`AfterPlan`]: the job that has to succeed first, whose name may contain variables of the
//! environment.

use std::time::Duration;

use regex::Regex;

use crate::yaml::span::SourceSpan;
use retry_workflow::Job;
use retry_workflow::job::After;

/// `after` of a file.
#[derive(Clone, Debug)]
pub(crate) struct AfterPlan {
    pub(super) name: NameTemplate,
    pub(super) newer_than: Option<Duration>,
    pub(super) span: SourceSpan,
}

/// A name with variables, such as `import-${NIGHT}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NameTemplate(Vec<NamePart>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum NamePart {
    Text(String),
    Variable(String),
}

impl NameTemplate {
    /// # Errors
    /// The place of the mistake in the text, and a message.
    pub(super) fn parse(text: &str) -> Result<Self, (usize, String)> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            let (before, from) = rest.split_at(at);
            let here = text.len() - from.len();
            let name = from.strip_prefix("${").and_then(|inner| inner.split_once('}'));
            let Some((name, after)) = name.filter(|(name, _)| is_in_capitals(name)) else {
                return Err((
                    here,
                    "only variables of the environment in capitals and braces can stand here: write \
                     one as in `import-${NIGHT}`"
                        .to_owned(),
                ));
            };
            if !before.is_empty() {
                parts.push(NamePart::Text(before.to_owned()));
            }
            parts.push(NamePart::Variable(name.to_owned()));
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(NamePart::Text(rest.to_owned()));
        }
        Ok(Self(parts))
    }

    pub(super) fn variables(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|part| match part {
            NamePart::Variable(name) => Some(name.as_str()),
            NamePart::Text(_) => None,
        })
    }

    /// The name, with the values of its variables.
    ///
    /// # Errors
    /// A variable has no value, or the result cannot be the name of a job.
    fn resolve(&self, value: impl Fn(&str) -> Option<String>) -> Result<String, String> {
        let mut name = String::new();
        for part in &self.0 {
            match part {
                NamePart::Text(text) => name.push_str(text),
                NamePart::Variable(variable) => match value(variable) {
                    Some(value) if !value.trim().is_empty() => name.push_str(&value),
                    Some(_) => return Err(format!("${variable} is empty: set it to a value")),
                    None => {
                        return Err(format!(
                            "${variable} is not set: set it before you start the job, as in \
                             `{variable}=… retry-workflow run …`, or in `env`"
                        ));
                    }
                },
            }
        }
        Job::check_name(&name)
            .map_err(|error| format!("this cannot be the name of a job: {error}"))?;
        Ok(name)
    }

    /// Returns whether a name may have been built from this template, with some values of the
    /// variables.
    fn may_be(&self, name: &str) -> bool {
        let pattern: String = self
            .0
            .iter()
            .map(|part| match part {
                NamePart::Text(text) => regex::escape(text),
                NamePart::Variable(_) => ".+".to_owned(),
            })
            .collect();
        Regex::new(&format!("^(?s:{pattern})$")).is_ok_and(|pattern| pattern.is_match(name))
    }
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
        let after = After::new(name);
        match self.newer_than {
            Some(age) => after.newer_than(age),
            None => after,
        }
    }
}

/// Returns whether this is the name of a variable that a shell would expand, and not a placeholder.
fn is_in_capitals(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    name.starts_with(|c: char| c.is_ascii_uppercase() || c == '_') && name.chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_takes_variables_in_capitals_and_nothing_else() {
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
