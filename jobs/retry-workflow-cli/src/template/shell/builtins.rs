//! The treatment of words by the shell's builtins: the builtins that parse an argument as code, as
//! arithmetic, or as the name of a variable. This list is complete. Of other programs, only those are
//! known that run the command behind their options, such as `timeout`.

use super::variables::{controls_shell, controls_shell_message, is_name};
use super::word::Word;
use crate::template::error::TemplateError;

const NEVER_A_COMMAND: &str =
    "a value can be an argument, but not a command or part of its name; write the name here";

/// The characters by which a word is recognised as an expansion.
const NOT_FIXED: [char; 5] = ['$', '`', '(', ')', '}'];

/// The effect of a command on the whole script.
#[derive(Default)]
pub(super) struct Effect {
    pub(super) refused: Vec<TemplateError>,
    /// The command, if no value is safe anywhere in its script, and what to do about it.
    pub(super) unsafe_command: Option<&'static str>,
}

impl Effect {
    fn refuse(&mut self, words: &[Word], why: &str) {
        let refused = words.iter().flat_map(|word| &word.values);
        self.refused.extend(refused.map(|value| value.refused(why)));
    }
}

/// Checks that the shell does not parse the values in the words of a simple command, which do not
/// include its assignments.
pub(super) fn check_command(words: &[Word]) -> Effect {
    let mut verdict = Effect::default();
    shells(words, &mut verdict);
    let Some((at, name)) = resolve(words, &mut verdict) else { return verdict };
    let arguments = &words[at + 1..];
    verdict.unsafe_command = unsafe_command(name, arguments);
    match name {
        "[" | "test" => test(name, arguments, &mut verdict),
        "printf" => printf(arguments, &mut verdict),
        _ => {
            if let Some(why) = parses(name) {
                verdict.refuse(arguments, &why);
            }
        }
    }
    verdict
}

/// The name of the command and its index, after `command`, `builtin`, `exec` and programs that run
/// a command; `None` if it is known only at runtime, or if nothing is run.
fn resolve<'a>(words: &'a [Word], verdict: &mut Effect) -> Option<(usize, &'a str)> {
    let mut at = 0;
    let mut refuse = |words: &[Word], why: &str| {
        verdict.refuse(words, why);
        None
    };
    loop {
        let word = words.get(at)?;
        if !word.values.is_empty() {
            return refuse(std::slice::from_ref(word), NEVER_A_COMMAND);
        }
        let last = word.text.rsplit('/').next().unwrap_or_default();
        // `{eval,x}` and `ev?l` may expand to the name of any builtin, and `/bin/?h` to a shell.
        if word.braces || word.pattern && word.text != "[" && last.contains(['*', '?', '[']) {
            let why = "the command's name before it could become several words: put it in quotes";
            return refuse(&words[at + 1..], why);
        }
        if word.expands && (word.unquoted_expansion || last.contains(NOT_FIXED)) {
            let why = "the command's name before it is known only when it runs, and may be `eval` \
                       or a shell: write the name, with at most its folder in a variable, as in \
                       `\"$VENV/bin/python\" ./work.py ${item.id}`";
            return refuse(&words[at + 1..], why);
        }
        if word.expands {
            return None;
        }
        let name = word.text.as_str();
        let program = SYSTEM.iter().find_map(|folder| name.strip_prefix(folder)).unwrap_or(name);
        let Some((operands, letters)) = runs_command(program) else { return Some((at, name)) };
        at += 1;
        let is_option = |word: &&Word| word.text.starts_with('-') && word.text != "--";
        while let Some(option) = words.get(at).filter(is_option) {
            let Some(length) = option_length(&words[at..], program, letters) else {
                return refuse(&words[at..], UNKNOWN_OPTION);
            };
            at += length;
            if program == "command" && option.text.contains(['v', 'V']) {
                // `command -v` only prints what would run.
                return None;
            }
        }
        at += usize::from(words.get(at).is_some_and(|word| word.text == "--"));
        while let Some(word) = words.get(at)
            && let Some((variable, _)) = word.text.split_once('=')
            && is_name(variable)
        {
            if controls_shell(variable) {
                refuse(std::slice::from_ref(word), &controls_shell_message(variable));
            }
            at += 1;
        }
        at += operands;
    }
}

/// The folders of the system's programs. A program of the project may have the name of one of them.
const SYSTEM: [&str; 5] = ["/bin/", "/usr/bin/", "/usr/sbin/", "/sbin/", "/usr/local/bin/"];

const UNKNOWN_OPTION: &str = "an option before it is not fixed, unknown, or `env -S`: write it out, \
    and its argument as in `--option=argument`";

/// The long options of these commands. Those with `=` have an argument.
const LONG_OPTIONS: &str = "adjustment= append arg-file= background chdir= class= classdata= debug \
    delimiter= error= exit foreground fork format= group= ignore ignore-environment input= \
    interactive kill-after= max-args= max-procs= no-run-if-empty non-interactive null output= \
    portability preserve-env preserve-groups preserve-status quiet replace set-home signal= \
    skip-chdir stdin unset= user= verbose wait";

/// Returns how many of the words are an option and its argument; `None` if that is not known, or if
/// the option makes words of a text.
fn option_length(words: &[Word], program: &str, letters: &str) -> Option<usize> {
    let option = &words[0];
    let text = option.text.as_str();
    let name = text.split('=').next()?;
    let letter = text.find(|letter| letters.contains(letter));
    let is_this = |known: &&str| name.get(2..) == Some(known.trim_end_matches('='));
    let has_argument = match name.strip_prefix("--") {
        None if program == "env" && text[letter.unwrap_or(0)..].starts_with('S') => return None,
        None => letter.is_some_and(|letter| letter + 1 == text.len()),
        Some(long) if program == "env" && long.starts_with('s') => return None,
        Some(_) if name != text => false,
        Some(_) => LONG_OPTIONS.split(' ').find(is_this)?.ends_with('='),
    };
    let is_fixed = option.is_one_word() && !(option.expands && name.contains(NOT_FIXED));
    let argument = words.get(1).filter(|_| has_argument);
    (is_fixed && argument.is_none_or(Word::is_one_word)).then_some(1 + usize::from(has_argument))
}

/// For a builtin or a program that runs the command behind its options: the number of operands
/// before it, and the letters of the options that have an argument.
fn runs_command(program: &str) -> Option<(usize, &'static str)> {
    Some(match program {
        "command" | "builtin" | "nohup" | "setsid" => (0, ""),
        "exec" => (0, "a"),
        "timeout" => (1, "ks"),
        "env" => (0, "aCPSu"),
        "nice" => (0, "n"),
        "xargs" => (0, "adEILnPs"),
        "sudo" | "doas" => (0, "aCDghpRrTtUu"),
        "time" => (0, "fo"),
        "stdbuf" => (0, "eio"),
        "ionice" => (0, "cnPpu"),
        "chroot" => (1, ""),
        _ => return None,
    })
}

/// Returns why a value must not be an argument of this command.
fn parses(name: &str) -> Option<String> {
    let instead = match name {
        "eval" | "trap" | "coproc" => "write the command itself",
        "." | "source" => "run the script as a command, `sh ./script.sh ${item.id}`",
        "let" => "check the value with `case` first; a variable that holds it would be run as well",
        "export" | "readonly" => "write `x=${item.id}`, and then `export x`",
        "declare" | "typeset" | "local" => "write `x=${item.id}` on its own",
        "alias" | "unset" | "read" | "mapfile" | "readarray" | "getopts" | "bind" | "complete"
        | "compgen" | "compopt" | "enable" | "hash" | "wait" | "jobs" | "fc" | "history" => {
            "write this word without a value"
        }
        _ => return None,
    };
    Some(format!("`{name}` may parse the value, as code or as a name: {instead}"))
}

/// Returns how this command changes the treatment of values elsewhere in the script.
fn unsafe_command(name: &str, arguments: &[Word]) -> Option<&'static str> {
    let options = || {
        arguments
            .iter()
            .map(|word| word.text.as_str())
            .filter(|text| text.starts_with(['-', '+']) && !text.starts_with("--"))
    };
    match name {
        "declare" | "typeset" | "local" if options().any(|text| text.contains(['i', 'n'])) => Some(
            "`declare -i` or `declare -n`, whose variables parse the values \
             assigned to them: remove these options",
        ),
        "set"
            if options().any(|text| text.contains('k'))
                || arguments.iter().any(|word| word.text == "keyword") =>
        {
            Some("`set -k`, which turns arguments into variables: remove it")
        }
        "read" | "mapfile" | "readarray" | "getopts"
            if arguments.iter().any(|word| controls_shell(&word.text)) =>
        {
            Some("`read` into a variable that controls the shell: rename the variable")
        }
        _ => None,
    }
}

/// `[` and `test`: a value could be taken for an operator.
fn test(name: &str, arguments: &[Word], verdict: &mut Effect) {
    const OPERATORS: [&str; 14] =
        ["=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"];

    let ends = name == "test" || arguments.last().is_some_and(|word| word.is("]"));
    let operands = match arguments.split_last() {
        Some((_, operands)) if name == "[" => operands,
        _ => arguments,
    };
    let operands = match operands {
        [not, rest @ ..] if not.is("!") => rest,
        all => all,
    };
    let is_flag = |word: &Word| {
        let letter = word.text.strip_prefix('-').filter(|letter| letter.len() == 1);
        word.is_fixed() && letter.is_some_and(|letter| "abcdefghknoprstuwxzGLNOS".contains(letter))
    };
    let operator = |word: &Word| word.is_fixed() && OPERATORS.contains(&word.text.as_str());
    let fits = match operands {
        [_] => true,
        [flag, _] => is_flag(flag),
        [_, between, _] => operator(between),
        _ => false,
    };
    // Unquoted words may expand to several words.
    let whole = arguments.iter().all(|word| word.values.is_empty() || !word.splits())
        && !arguments.iter().any(|word| word.braces);
    if !(ends && fits && whole) {
        verdict.refuse(
            arguments,
            &format!(
                "`{name}` might take it for an operator: write each test separately, as in `[ -n \
                 ${{item.id}} ] && [ ${{item.id}} = x ]`, and a substitution in double quotes"
            ),
        );
    }
}

/// `printf`: checks its format, and the variable that `-v` names.
fn printf(arguments: &[Word], verdict: &mut Effect) {
    let arguments = match arguments {
        [end, rest @ ..] if end.is("--") => rest,
        all => all,
    };
    let Some((format, values)) = arguments.split_first() else { return };
    if format.is_fixed() && !format.text.starts_with('-') && !has_percent_n(&format.text) {
        return;
    }
    let why = "`printf` would read it as its format, or as the name of a variable: write \
               `printf '%s\\n' ${item.id}`";
    verdict.refuse(std::slice::from_ref(format), why);
    let why = "`printf` begins with an option, with a format that is not fixed, or with one that \
               has `%n`, and might read it as the name of a variable: write \
               `printf '%s\\n' ${item.id}`";
    verdict.refuse(values, why);
}

/// Returns whether a format contains `%n`, which writes to the variable that an argument names.
fn has_percent_n(format: &str) -> bool {
    format.split('%').skip(1).any(|part| {
        part.trim_start_matches(|c: char| c.is_ascii_digit() || "-+ #0'.*hlLjzt".contains(c))
            .starts_with('n')
    })
}

const SHELLS: [&str; 11] =
    ["sh", "bash", "rbash", "dash", "ash", "ksh", "mksh", "zsh", "fish", "csh", "tcsh"];

/// `sh -c`: a value must not be code for a shell, wherever in a command the shell is named.
fn shells(words: &[Word], verdict: &mut Effect) {
    let mut named = 0;
    for (at, word) in words.iter().enumerate() {
        let name = word.text.rsplit('/').next().unwrap_or_default();
        if at >= named && word.values.is_empty() && SHELLS.contains(&name) {
            // The word after the code is `$0`, even if it is the name of a shell.
            named = at + 2 + shell(name, &words[at + 1..], verdict);
        }
    }
}

/// Checks the words after the name of a shell: options, then code or a script. Returns how many
/// words there are up to and including the code.
fn shell(name: &str, words: &[Word], verdict: &mut Effect) -> usize {
    let (mut code, mut options, mut skip) = (false, true, 0);
    for (at, word) in words.iter().enumerate() {
        let text = word.text.as_str();
        if !word.values.is_empty() {
            // The word may turn out to be an option if it begins with a value, or with an expansion
            // that may be empty.
            let open = text.is_empty() || text.starts_with(['-', '+', '$', '`', '<', '>']);
            if code || options && (open || word.splits()) {
                let instead = if code {
                    format!("pass it as an argument, `{name} -c 'echo \"$1\"' {name} ${{item.id}}`")
                } else {
                    format!(
                        "name the script, `{name} ./script.sh ${{item.id}}`, or write `--` before it"
                    )
                };
                let why = format!("`{name}` would read it as code, or as an option: {instead}");
                verdict.refuse(std::slice::from_ref(word), &why);
            }
            return 0;
        }
        if skip > 0 {
            skip -= 1;
        } else if options && text == "--" {
            options = false;
        } else if options && text.starts_with("--") {
            skip = usize::from(matches!(text, "--rcfile" | "--init-file"));
        } else if options && text.len() > 1 && text.starts_with(['-', '+']) {
            code |= text.starts_with('-') && text.contains('c');
            // Each `o` takes a word as its argument: `-euo pipefail`.
            skip = text.matches(['o', 'O']).count();
        } else if code {
            return at + 1;
        } else if word.is_fixed() {
            return 0;
        }
    }
    0
}
