//! The additions to clap's message about wrong arguments: the command that runs a file, and the
//! meaning of each possible value.

use std::ffi::OsString;
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, CommandFactory as _, Error, Parser as _};
use retry_rules::suggest::nearest;

use super::Arguments;
use crate::file::names_file;

/// Parses the arguments of this process; where they are wrong, the process ends.
pub(crate) fn parse() -> Arguments {
    let words: Vec<_> = std::env::args_os().collect();
    Arguments::try_parse_from(&words).unwrap_or_else(|error| add_tips(error, &words).exit())
}

/// Adds to an error what clap does not suggest itself.
fn add_tips(mut error: Error, words: &[OsString]) -> Error {
    let tips = match error.kind() {
        ErrorKind::InvalidSubcommand => command_for_file(&error).into_iter().collect(),
        ErrorKind::InvalidValue => meanings_of_values(&error, words),
        _ => Vec::new(),
    };
    if error.kind() == ErrorKind::UnknownArgument {
        error.remove(ContextKind::Usage);
        let meant = error.remove(ContextKind::SuggestedArg);
        if let (Some(ContextValue::String(wrong)), Some(ContextValue::String(meant))) =
            (error.get(ContextKind::InvalidArg), meant)
            && nearest(wrong, [meant.as_str()]).is_some()
        {
            error.insert(ContextKind::SuggestedArg, ContextValue::String(meant));
        }
    }
    if !tips.is_empty() {
        error.remove(ContextKind::SuggestedSubcommand);
        let tips = tips.into_iter().map(Into::into).collect();
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    error
}

/// Returns the command to write in place of the name of a file alone.
fn command_for_file(error: &Error) -> Option<String> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    names_file(Path::new(word))
        .then(|| format!("to run a workflow file, write `retry-workflow run {word}`"))
}

/// Returns what each possible value of the wrong argument does.
fn meanings_of_values(error: &Error, words: &[OsString]) -> Vec<String> {
    let Some(ContextValue::String(wrong)) = error.get(ContextKind::InvalidArg) else {
        return Vec::new();
    };
    let command = command_of(words);
    let argument = command.get_arguments().find(|argument| argument.to_string() == *wrong);
    let values = argument.map(Arg::get_possible_values).unwrap_or_default();
    values
        .iter()
        .filter_map(|value| Some(format!("`{}`: {}", value.get_name(), value.get_help()?)))
        .collect()
}

/// Returns the command that these words name.
fn command_of(words: &[OsString]) -> Command {
    let mut command = Arguments::command();
    // An argument can be displayed only then.
    command.build();
    for word in words {
        if let Some(below) = command.find_subcommand(word) {
            command = below.clone();
        }
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(line: &str) -> String {
        let words: Vec<OsString> =
            std::iter::once("retry-workflow").chain(line.split(' ')).map(Into::into).collect();
        let error = Arguments::try_parse_from(&words).map(|_| ()).unwrap_err();
        add_tips(error, &words).to_string()
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
    fn file_alone_gets_the_command_that_runs_it() {
        let message = message("job.yml");
        assert!(
            message.contains("tip: to run a workflow file, write `retry-workflow run job.yml`")
        );
        assert_eq!(message.matches("tip:").count(), 1, "{message}");
    }

    #[test]
    fn wrong_value_gets_the_meaning_of_each_possible_one() {
        let values = message("run job.yml --job-id a --if-ended restart");
        assert!(values.contains("tip: `refuse`: exit with code 2"), "{values}");
        assert!(values.contains("tip: `report`: report its result"), "{values}");
    }
}
