//! The additions to clap's message about wrong arguments.

use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, CommandFactory as _, Error, Parser as _};
use retry_rules::file::KEYS;
use retry_rules::foreign_names::{ForeignName, cures};
use retry_rules::suggest::{nearest, shortened_values};

use super::Arguments;
use crate::file::names_file;
use crate::yaml::foreign_keys::{key_of_others, name as key_of};

/// The commands of other tools, and what is written here.
const COMMANDS: &[ForeignName] = &[
    ("start execute exec submit apply create trigger", "run FILE"),
    ("validate lint verify test plan", "check FILE"),
    ("ls list get ps", "jobs"),
    ("describe inspect info show", "status JOB"),
    ("log logs history", "items show JOB ITEM"),
    ("delete rm remove", "jobs rm JOB"),
    ("delete rm remove ack drain clear flush", "dlq purge JOB"),
    ("stop halt suspend", "pause JOB"),
    ("kill abort terminate", "cancel JOB"),
    ("retry rerun replay redrive requeue restart reset", "dlq retry JOB"),
];

/// The arguments of other tools, and what is written here.
const FLAGS: &[ForeignName] = &[
    ("parallel parallelism jobs j workers concurrency maxconcurrency", "--max-parallel"),
    ("resume", "--continue"),
    ("timeout timelimit", "--deadline"),
    ("last from newerthan", "--since"),
    ("reason error type kind", "--class"),
    ("limit count n", "--max"),
    ("force y confirm", "--yes"),
    ("follow f w", "--watch"),
    ("output o format", "--json"),
];

/// Parses the arguments of this process; where they are wrong, the process ends.
pub(crate) fn parse() -> Arguments {
    let words: Vec<_> = std::env::args_os().map(|word| word.to_string_lossy().into()).collect();
    Arguments::try_parse().unwrap_or_else(|error| shorten(add_tips(error, &words)).exit())
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

/// Adds to an error about these words what clap does not suggest itself.
fn add_tips(mut error: Error, words: &[String]) -> Error {
    if error.kind() == ErrorKind::UnknownArgument {
        error.remove(ContextKind::Usage);
        error.remove(ContextKind::Suggested);
        let meant = error.remove(ContextKind::SuggestedArg);
        if let (Some(ContextValue::String(wrong)), Some(ContextValue::String(meant))) =
            (error.get(ContextKind::InvalidArg), meant)
            && nearest(wrong.trim_start_matches('-'), [meant.trim_start_matches('-')]).is_some()
        {
            error.insert(ContextKind::SuggestedArg, ContextValue::String(meant));
        }
    }
    let tip = command_meant(&error, words).or_else(|| argument_meant(&error, words));
    if let Some(tip) = tip.or_else(|| setting_meant(&error, words)) {
        error.remove(ContextKind::SuggestedSubcommand);
        error.remove(ContextKind::SuggestedArg);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// Returns the command to write in place of the name of a file alone, or of another verb.
fn command_meant(error: &Error, words: &[String]) -> Option<String> {
    let ContextValue::String(word) = error.get(ContextKind::InvalidSubcommand)? else {
        return None;
    };
    if names_file(Path::new(word)) {
        return Some(format!("to run a workflow file, write `retry-workflow run {word}`"));
    }
    if Arguments::command().find_subcommand(word).is_some() {
        return Some(format!("this is a command of its own: write `retry-workflow {word}`"));
    }
    let commands: Vec<_> = cures(word, "", COMMANDS).collect();
    // That of the same group comes first.
    let of_group =
        commands.iter().find(|command| words.iter().any(|group| command.starts_with(group)));
    Some(format!("write `retry-workflow {}`", of_group.or(commands.first())?))
}

/// Returns the argument, of the command in these words, that an unknown one stands for.
fn argument_meant(error: &Error, words: &[String]) -> Option<String> {
    let ContextValue::String(argument) = error.get(ContextKind::InvalidArg)? else { return None };
    let mut command = Arguments::command();
    command.build();
    let mut command = &command;
    for word in words {
        command = command.find_subcommand(word).unwrap_or(command);
    }
    let flags = command.get_arguments().filter_map(Arg::get_long);
    let flags: Vec<_> = flags.map(|long| format!("--{long}")).collect();
    let meant = cures(argument, "", FLAGS).find(|cure| flags.contains(cure));
    // The first words of one alone, such as `--initial`.
    let mut longer = flags.iter().filter(|flag| flag.starts_with(&format!("{argument}-")));
    let only = longer.next().filter(|_| longer.next().is_none());
    Some(format!("write `{}`", meant.as_ref().or(only)?))
}

/// Returns where the setting of retries is written that an unknown argument means.
fn setting_meant(error: &Error, words: &[String]) -> Option<String> {
    let ContextValue::String(argument) = error.get(ContextKind::InvalidArg)? else { return None };
    if !words.iter().any(|word| word == "run" || word == "explain") {
        return None;
    }
    let value = words.iter().skip_while(|word| *word != argument).nth(1).map_or("", String::as_str);
    let cure = key_of_others(argument.trim_start_matches('-'), value, &KEYS)?;
    let flag = key_of(&cure).replace('_', "-");
    Some(format!("this is `{cure}` in the `retry_config` of a step, and `--{flag}` of `explain`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(line: &str) -> String {
        let words = std::iter::once("retry-workflow").chain(line.split(' '));
        let words: Vec<_> = words.map(str::to_owned).collect();
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
    fn words_of_other_tools_get_ours() {
        for (line, tip) in [
            ("run job.yml --workers 4", "write `--max-parallel`"),
            ("run job.yml --resume", "write `--continue`"),
            ("dlq list --last 1h", "write `--since`"),
            ("dlq purge import-1 -y", "write `--yes`"),
            ("status import-1 -o json", "write `--json`"),
            ("explain --initial 1s", "write `--initial-delay`"),
            ("run job.yml --job night-1", "write `--job-id`"),
            ("lint job.yml", "write `retry-workflow check FILE`"),
            ("rerun import-1", "write `retry-workflow dlq retry JOB`"),
            ("delete import-1", "write `retry-workflow jobs rm JOB`"),
            ("dlq delete import-1", "write `retry-workflow dlq purge JOB`"),
            ("jobs cancel import-1", "write `retry-workflow cancel`"),
        ] {
            let message = message(line);
            assert!(message.contains(tip), "{line}: {message}");
            assert_eq!(message.matches("tip:").count(), 1, "{line}: {message}");
        }
        // Only arguments that the command has.
        for line in ["jobs --limit 3", "jobs --workers 4", "dlq list --sort age"] {
            assert!(!message(line).contains("tip:"), "{line}: {}", message(line));
        }
    }

    #[test]
    fn setting_of_retries_gets_its_place() {
        let tip = "tip: this is `attempts: 4` in the `retry_config` of a step, and `--attempts` of `explain`";
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
