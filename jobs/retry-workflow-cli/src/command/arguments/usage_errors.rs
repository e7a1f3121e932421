//! The additions to clap's message about wrong arguments.

use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Error, Parser as _};
use retry_rules::file::KEYS;
use retry_rules::suggest::{nearest, shortened_values};

use super::Arguments;
use crate::file::names_file;
use crate::yaml::foreign_keys::{key_of_others, name as key_of};

/// Parses the arguments of this process; where they are wrong, the process ends.
pub(crate) fn parse() -> Arguments {
    Arguments::try_parse().unwrap_or_else(|error| shorten(add_tips(error)).exit())
}

/// Shortens the message of an error about an argument that is too long to be read.
fn shorten(error: Error) -> Error {
    let message = error.render().to_string();
    let short = shortened_values(&message);
    if short == message || !error.use_stderr() {
        return error;
    }
    Error::raw(error.kind(), short.strip_prefix("error: ").unwrap_or(&short))
}

/// Adds to an error what clap does not suggest itself.
fn add_tips(mut error: Error) -> Error {
    if error.kind() == ErrorKind::UnknownArgument {
        error.remove(ContextKind::Usage);
        error.remove(ContextKind::Suggested);
        let meant = error.remove(ContextKind::SuggestedArg);
        if let (Some(ContextValue::String(wrong)), Some(ContextValue::String(meant))) =
            (error.get(ContextKind::InvalidArg), meant)
            && nearest(wrong, [meant.as_str()]).is_some()
        {
            error.insert(ContextKind::SuggestedArg, ContextValue::String(meant));
        }
    }
    if let Some(tip) = command_for_file(&error).or_else(|| setting_meant(&error)) {
        error.remove(ContextKind::SuggestedSubcommand);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// Returns the command to write in place of the name of a file alone, or of another verb.
fn command_for_file(error: &Error) -> Option<String> {
    let ContextValue::String(word) = error.get(ContextKind::InvalidSubcommand)? else {
        return None;
    };
    let is_verb = matches!(&**word, "start" | "execute" | "exec" | "submit");
    let file = if is_verb { "FILE" } else { word };
    (is_verb || names_file(Path::new(word)))
        .then(|| format!("to run a workflow file, write `retry-workflow run {file}`"))
}

/// Returns where the setting of retries is written that an unknown argument means.
fn setting_meant(error: &Error) -> Option<String> {
    let ContextValue::String(argument) = error.get(ContextKind::InvalidArg)? else { return None };
    let cure = key_of_others(argument.trim_start_matches('-'), "", &KEYS)?;
    let (key, flag) = (key_of(&cure), key_of(&cure).replace('_', "-"));
    Some(format!("this is `{key}` in the `retry_config` of a step, and `--{flag}` of `explain`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(line: &str) -> String {
        let words = std::iter::once("retry-workflow").chain(line.split(' '));
        let error = Arguments::try_parse_from(words).map(|_| ()).unwrap_err();
        add_tips(error).to_string()
    }

    #[test]
    fn misspelt_words_get_the_nearest_one() {
        for (line, tip) in [
            ("jops", "'jobs'"),
            ("dlq retri", "'retry'"),
            ("run job.yml --max-paralel 4", "'--max-parallel'"),
            ("run job.yml --max-parallel=4 --continu", "'--continue'"),
            ("explain --max-dela 1s", "'--max-delay'"),
        ] {
            let message = message(line);
            let tips: Vec<_> = message.lines().filter(|line| line.contains("tip:")).collect();
            assert!(matches!(tips[..], [one] if one.contains(tip)), "{line}: {message}");
        }
        assert!(!message("walk").contains("tip:"));
    }

    #[test]
    fn setting_of_retries_gets_its_place() {
        let tip = "tip: this is `attempts` in the `retry_config` of a step, and `--attempts` of `explain`";
        assert!(message("run job.yml --retries 3").contains(tip));
        assert!(message("explain --delay 1s").contains("and `--initial-delay` of `explain`"));
        assert!(!message("run job.yml --colour 3").contains("tip:"));
    }

    #[test]
    fn file_alone_gets_the_command_that_runs_it() {
        let message = message("job.yml");
        assert!(
            message.contains("tip: to run a workflow file, write `retry-workflow run job.yml`")
        );
        assert_eq!(message.matches("tip:").count(), 1, "{message}");
    }
}
