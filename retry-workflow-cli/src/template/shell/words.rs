//! [`Command`]: the words of a command as far as they are read, which show whether the
//! next one is an argument or something that is run.

use super::programs::{
    Next, Remote, basename, interpreter, is_assignment, is_shell, next, reads_code, remote,
};
use crate::template::placeholder::Fault;

/// A list of commands: the whole text, or what is in parentheses.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is so or not, whatever the others are")]
pub(super) struct Command {
    pub(super) within: Within,
    /// The words so far of the command that is being read.
    pub(super) words: Vec<String>,
    pub(super) word: Option<String>,
    /// The next word is where a redirection goes.
    pub(super) redirection: bool,
    /// Open `case … in`.
    pub(super) cases: usize,
    /// What comes next is a pattern of one.
    pub(super) pattern: bool,
    /// The redirection is `<<<`.
    pub(super) here_string: bool,
    /// The first value of all.
    pub(super) any: Option<Fed>,
    /// The first value of this pipeline.
    pub(super) fed: Option<Fed>,
    /// The first value of what is piped into this command.
    pub(super) upstream: Option<Fed>,
    /// The same of what the commands stand in.
    pub(super) piped_into: Option<Fed>,
    /// The next word is the first one after a `|`.
    pub(super) after_pipe: bool,
    /// Open `{`, `if` and loops.
    pub(super) open: usize,
    /// Part of the word is quoted: it is no keyword.
    pub(super) quoted: bool,
    /// There was a `time` or a `function`, which not every shell knows as keywords.
    pub(super) extended: bool,
    /// After one of these a `case` began: shells differ in what its `)` ends.
    pub(super) uncertain: bool,
    /// The last word was `time`.
    pub(super) timed: bool,
    /// Values that a later command would read as code.
    pub(super) faults: Vec<Fault>,
}

/// Where a value stands, and how it is written.
#[derive(Clone)]
pub(super) struct Fed {
    pub(super) at: usize,
    pub(super) part: String,
}

/// What commands stand in.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Within {
    #[default]
    Text,
    /// `(…)`.
    Parentheses,
    /// `$(…)`.
    Substitution,
}

impl Command {
    pub(super) fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        let keyword = if std::mem::take(&mut self.quoted) { "" } else { word.as_str() };
        self.after_pipe = false;
        if std::mem::take(&mut self.redirection) {
            self.here_string = false;
            return;
        }
        if self.pattern {
            if keyword == "esac" {
                self.end_case();
            }
            return;
        }
        if self.words.is_empty() {
            match keyword {
                "{" | "if" | "while" | "until" | "for" | "select" => self.open += 1,
                "}" | "fi" | "done" => self.open = self.open.saturating_sub(1),
                "esac" => self.end_case(),
                _ => {}
            }
            if std::mem::take(&mut self.timed) && word.starts_with('-') {
                if word == "-p" || word == "--" {
                    self.timed = true;
                    return;
                }
                // Options that the keyword does not have: it is the program.
                self.words.push("time".to_owned());
            }
            self.timed |= keyword == "time";
            self.extended |= keyword == "time" || keyword == "function";
            let goes_on = matches!(
                keyword,
                "if" | "then" | "do" | "else" | "elif" | "while" | "until" | "!" | "{" | "time"
            );
            if goes_on || is_assignment(&word) {
                return;
            }
        }
        if self.words.is_empty()
            && keyword.is_empty()
            && ["case", "function"].contains(&word.as_str())
        {
            // Some program of that name.
            self.words.push(format!("./{word}"));
            return;
        }
        self.words.push(word);
        if self.words.len() == 3 && self.words[0] == "case" && self.words[2] == "in" {
            self.cases += 1;
            self.pattern = true;
            self.uncertain |= self.extended;
            self.words.clear();
        }
        if self.words.len() == 2 && self.words[0] == "function" {
            self.words.clear();
        }
    }

    fn end_case(&mut self) {
        self.cases = self.cases.saturating_sub(1);
        self.pattern = false;
    }

    pub(super) fn end_command(&mut self) {
        self.end_word();
        self.redirection = false;
        self.here_string = false;
        self.timed = false;
        if let Some(Fed { at, part }) = &self.upstream
            && let Some(name) = reads_code(&self.words)
        {
            let message = format!(
                "`{part}` cannot stand here: `{name}` would read what is piped into it as code: run the \
                 command itself, with the value as its argument"
            );
            self.faults.push(Fault { at: *at, part: part.clone(), message });
            self.upstream = None;
        }
        self.words.clear();
    }

    pub(super) fn part(&mut self, part: &str) {
        self.word.get_or_insert_default().push_str(part);
    }

    /// Why a value must not stand where the lexer is now.
    pub(super) fn refuses(&self) -> Option<String> {
        let so_far = self.word.as_deref().unwrap_or_default();
        if self.redirection {
            let name = self.here_string.then(|| self.shell()).flatten()?;
            return Some(reads_as_code(name));
        }
        if self.pattern {
            return None;
        }
        if self.words.is_empty() {
            return (!is_assignment(so_far)).then(never_a_command);
        }
        if let Some((name, how)) = remote(&self.words, so_far) {
            return Some(match how {
                Remote::Command => format!(
                    "`{name}` would have the value read as code on the other side: send it on stdin, \
                     as in `printf '%s\\n' ${{item.id}} | ssh host 'read -r id; …'`, or in a file"
                ),
                Remote::Option => format!(
                    "an option of `{name}` can be a command that it runs: write it without a value, \
                     or set it in the settings file of `ssh`"
                ),
            });
        }
        if let Some(name) = interpreter(&self.words, so_far) {
            return Some(reads_as_code(name));
        }
        match next(&self.words, so_far) {
            Next::Name => Some(never_a_command()),
            Next::Own => None,
            Next::Argument(at) => {
                let rest = &self.words[at + 1..];
                argument_refused(basename(&self.words[at]), rest, so_far)
            }
        }
    }

    /// Why the output of a command with a value must not stand where the lexer is now.
    pub(super) fn refuses_output(&self) -> Option<String> {
        let so_far = self.word.as_deref().unwrap_or_default();
        if so_far.ends_with("<(")
            && let Some(name) = self.shell()
        {
            return Some(reads_as_code(name));
        }
        let lenient = !self.redirection
            && self.words.first().is_some_and(|first| {
                matches!(first.as_str(), "[[" | "declare" | "typeset" | "local" | "export")
            });
        if lenient { None } else { self.refuses() }
    }

    /// The command's name, if it is one that reads code from stdin, or a file.
    fn shell(&self) -> Option<&str> {
        let Next::Argument(at) = next(&self.words, "") else { return None };
        let name = basename(&self.words[at]);
        (is_shell(name) || name == "." || name == "source" || reads_code(&self.words).is_some())
            .then_some(name)
    }

    /// A value stands here.
    pub(super) fn fed(&mut self, value: &Fed) {
        self.any.get_or_insert_with(|| value.clone());
        self.fed.get_or_insert_with(|| value.clone());
    }

    /// `|`.
    pub(super) fn pipe(&mut self) {
        self.end_command();
        if self.upstream.is_none() {
            self.upstream.clone_from(&self.fed);
        }
        self.after_pipe = true;
    }

    /// What ends a pipeline, unless that goes on around it.
    pub(super) fn end_pipeline(&mut self) {
        self.end_command();
        if self.open == 0 && self.cases == 0 && !self.after_pipe {
            self.fed = None;
            self.upstream.clone_from(&self.piped_into);
        }
    }
}

fn never_a_command() -> String {
    "a value is an argument and never a command, nor part of a command's name: write the name here"
        .to_owned()
}

/// Why a value is no argument of this command.
fn argument_refused(name: &str, rest: &[String], so_far: &str) -> Option<String> {
    let last = rest.last().map(String::as_str).unwrap_or_default();
    match name {
        "eval" | "trap" | "alias" | "let" | "[[" | "unset" | "read" | "declare" | "typeset"
        | "bind" | "complete" | "compgen" | "mapfile" | "readarray" | "getopts" => Some(format!(
            "`{name}` would read the value as code: use a command that does not, such as `[ … ]` \
             or `case`"
        )),
        "export" | "local" | "readonly" => (!is_assignment(so_far)).then(|| {
            format!("a value cannot be the name of a variable: write `{name} x=${{item.id}}`")
        }),
        "[" | "test" | "printf" if last == "-v" || so_far.starts_with("-v") => Some(format!(
            "`{name} -v` would read the value as the name of a variable, and code in it: write the \
             name here"
        )),
        "watch" | "parallel" => Some(format!(
            "`{name}` would have the value read as code by a shell: {}",
            if name == "watch" {
                "run the command in a loop, as in `while ./ready.sh ${item.id}; do sleep 1; done`"
            } else {
                "run the command for each value in a step of its own"
            }
        )),
        "find" if ["-exec", "-execdir", "-ok", "-okdir"].contains(&last) => Some(never_a_command()),
        "git" => {
            let setting = last == "-c" && !so_far.starts_with("user.");
            let code = ["-x", "--exec", "--config-env", "run", "foreach"].contains(&last)
                || rest.iter().any(|word| word == "foreach" || word == "filter-branch")
                || ["--exec", "--upload-pack", "--receive-pack", "--config-env"]
                    .iter()
                    .any(|flag| so_far.starts_with(flag));
            (setting || code).then(|| {
                "`git` would run the value as a command: write this word without a value".to_owned()
            })
        }
        _ => None,
    }
}

/// That a program reads the value as code, and what to write instead.
fn reads_as_code(name: &str) -> String {
    let instead = match name {
        "awk" | "gawk" | "mawk" | "nawk" | "original-awk" => {
            format!(
                "hand it over as a variable, as in `{name} -v id=${{item.id}} '{{ print id }}'`"
            )
        }
        "sed" | "gsed" => "use `awk` with a variable, as in `awk -v id=${item.id} '$1 == id'`, or \
                           write the program without a value"
            .to_owned(),
        "env" => "write the command and its arguments without `-S`".to_owned(),
        "flock" => {
            "write the command without `-c`, as in `flock file ./work.sh ${item.id}`".to_owned()
        }
        "rsync" => "write the option without a value".to_owned(),
        _ if is_shell(name) => {
            format!(
                "hand it over as an argument, as in `{name} -c 'echo \"$1\"' {name} ${{item.id}}`"
            )
        }
        "su" | "runuser" | "script" => format!(
            "hand it over in a variable, as in `ID=${{item.id}} {name} -c './work.sh \"$ID\"'`"
        ),
        _ => format!(
            "hand it over as an argument of a script, or in a variable that the code reads, as in \
             `ID=${{item.id}} {name} …`"
        ),
    };
    format!("`{name}` would read the value as code: {instead}")
}
