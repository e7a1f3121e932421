//! Random commands with placeholders in every context of the grammar, run by the real `dash` and
//! `bash`, with values that leave a mark if a shell parses them or does not pass them as one word.
//!
//! `RETRY_WORKFLOW_FUZZ` sets the number of commands (1,000 by default), and `RETRY_WORKFLOW_SEED`
//! the seed.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use super::super::{Script, reference, variable};
use super::HERE;

/// The number of commands that one process runs.
const BATCH: usize = 250;

/// The beginning of each script. `show` leaves a mark if it gets only part of a value.
const PRELUDE: &str = r#"show() {
    for _a; do
        case $_a in
            *"$WHOLE"*) ;;
            *qq7*|*7zz*) : > split ;;
        esac
    done
}
body() {
    _b=
    while IFS= read -r _l || [ -n "$_l" ]; do
        _b="$_b$_l
"
    done
    show "$_b"
}
showx() { show "$x"; }
n=0
run() {
    n=$((n + 1))
    ( eval "$1" ) </dev/null >/dev/null 2>&1
    if [ -e pwned ] || [ -e split ]; then
        echo "$n" >&3
        exit
    fi
}
"#;

/// Each value leaves a mark when parsed, or makes its reader parse another value that does.
const HOSTILE: &[&str] = &[
    "$(>pwned)",
    "`>pwned`",
    "a[$(>pwned)]",
    "a[`>pwned`]=1",
    "x[$(>pwned)]",
    "x=$(>pwned)",
    "; >pwned;",
    "\n>pwned\n",
    ">pwned",
    "'; >pwned; '",
    "\"; >pwned; \"",
    "\\'; >pwned; \\\"",
    ") >pwned; (",
    ")) >pwned ((",
    "} >pwned; {",
    "]; >pwned; [",
    "\nE\n>pwned\n",
    "E\n>pwned",
    "x) >pwned;; esac; >pwned",
    "${x:-$(>pwned)}",
    "$'; >pwned'",
    "& >pwned &",
    "|| >pwned",
    "-v",
    "-c",
    "-n",
    "-eq",
    "-a",
    "!",
    "(",
    "=",
    "--",
    "%n",
    "%s",
    "eval",
    "[[",
    "a",
    "",
    "\\",
    "\u{81}\u{82}\u{83}\u{88} \u{1f980}$(>pwned)",
];

/// A value that falls apart if anything splits or expands it.
const WHOLE: &str = "qq7 one * two\n three\t~ $HOME $(>pwned) `>pwned` ' \" \\ \\\\ {a,b} ${x} [a] \
                     \u{81}\u{88}\u{e9}\u{1f980} -v ; >pwned 7zz";

/// Every context of the grammar with a minimal placeholder, and whether it is accepted there.
const CONTEXTS: &[(&str, bool)] = &[
    ("show @", true),
    ("show \"@\" \"a @ b\"", true),
    ("show '@' 'a @ b'", true),
    ("show a@b --x=@ @@ \"@\"'@'@", true),
    ("show \\\n  @ # @", true),
    ("show a && show @ || show @", true),
    ("show a | show @", true),
    ("! show @", true),
    ("x=@; show \"$x\"", true),
    ("x=@ showx", true),
    ("x=a\"@\"'@' y=@ showx", true),
    ("{ show @; }; (show @); if show @; then show @; elif show @; then :; else show @; fi", true),
    ("for x in @ a@; do show \"$x\" @; done", true),
    ("for x\nin @\ndo show \"$x\"; done", true),
    // They would end without `break`, but not with every piece that is inserted.
    ("while show @ && false; do show @; break; done; until show @; do break; done", true),
    ("case @ in (a) ;; @|b) show @ ;; \"@\"*) show @ ;; esac", true),
    ("f1() { show \"$@\" @; }; f1 @", true),
    ("show \"$(show @)\" $(show \"@\")", true),
    ("show \"$(case a in (a) show @ ;; esac)\"", true),
    ("x=$(show @; printf %s @); show \"$x\"", true),
    ("show @ >@ 2>>@ <@ >|@ 3<>@", true),
    ("show @ >./@ 2>a/@", true),
    ("body <<E\na @ \"@\" '@' \\$x $x $(show a) `:` $((1))\nE\nshow @", false),
    ("body <<'E'\na @ \"@\" '@' $x $(>pwnd) `>pwnd` \\\\ \\$\nE\nshow @", false),
    ("body <<-\\E\n\t@\n\tE\nshow @", false),
    ("body <<E 3<<'F'\n@\nE\n@ $\nF\nshow @", false),
    ("if body <<E\n@\nE\nthen show @; fi", false),
    ("body <<<@", true),
    ("body < <(show @)", true),
    ("[ @ ] && [ -n @ ] && [ @ = @ ] && [ ! @ -eq 1 ] && test @ \\< @", true),
    ("[ \"$(show @)\" = @ ]", true),
    ("printf '%s %d %q %b\\n' @ @ @ @; printf -- %s @; printf '%(x)T' @", true),
    ("echo @; : @; true @; cd @; type @; kill -l @; ulimit -n @; umask @; shift @", true),
    ("command -v @; command show @; set -- @; show \"$@\"", true),
    ("set @; show a", true),
    ("shopt -s @; pushd @; caller @; times @; test @", true),
    ("exit @", true),
    ("f1() { return @; }; f1", true),
    ("time show @; time -p show @", true),
    ("sh -c 'x=$1' sh @; bash -- @; sh ./@.sh; sh a @", true),
    ("exec sh -c : sh @", true),
    ("env X=@ ./a @; timeout @ ./a @; xargs ./a @; awk @", true),
    ("env @ x; nohup @; xargs @", false),
    ("show ${x:-a} ${#x} @", true),
    ("show $((1 + (2))) @", false),
    ("show $'a' @", false),
    ("((i = 1)); show @", false),
    ("[[ a = b ]]; show @", false),
    ("x=(a b); show @", false),
    ("show `:` @", false),
    ("function f { show @; }; f", false),
    ("select x in @; do break; done", true),
    ("@", false),
    ("@ a", false),
    ("a@ b", false),
    ("x=1 @", false),
    (">o @", false),
    ("! @", false),
    ("time @", false),
    ("command @; builtin @; exec @", false),
    ("$(show @)", false),
    ("for x do @; done", false),
    ("if :; then { :; } else @; fi", false),
    ("for @ in a; do :; done", false),
    ("function @ { :; }", false),
    ("@() { :; }", false),
    ("eval @", false),
    ("command eval @", false),
    ("builtin eval @", false),
    ("exec -a x eval @; eval a @", false),
    ("eval \"$(printf %s @)\"", false),
    ("eval <<E @\n@\nE", false),
    ("trap @ EXIT", false),
    (". @", false),
    ("command . ./@", false),
    ("source ./x @", false),
    ("show $((@)) ", false),
    ("show $(($(printf %s @)))", false),
    ("((@))", false),
    ("show $[@]", false),
    ("let @", false),
    ("let x=@", false),
    ("declare -i x; x=@", false),
    ("declare -i x=@", false),
    ("declare x=@", false),
    ("declare -n r=@; r=1", false),
    ("typeset @", false),
    ("f1() { local x=@; }; f1", false),
    ("export @", false),
    ("export x=@", false),
    ("readonly x=@", false),
    ("x[@]=1", false),
    ("x[0]=@", false),
    ("x+=@", false),
    ("x=(a @)", false),
    ("x=([@]=1)", false),
    ("unset @", false),
    ("read @ <<E\na\nE", false),
    ("mapfile -C @ -c 1 x <<E\na\nE", false),
    ("readarray @ <<E\na\nE", false),
    ("compgen -W @; compgen -C @", false),
    ("complete -C @ x", false),
    ("bind -x @", false),
    ("enable -f @ x", false),
    ("hash -p @ x", false),
    ("wait -p @", false),
    ("alias p=@\np", false),
    ("alias p=eval\np @", false),
    ("coproc @", false),
    ("coproc x @", false),
    ("getopts @ x", false),
    ("jobs -x @", false),
    ("PS4=@; set -x; :", false),
    ("PROMPT_COMMAND=@ IFS=@ PATH=@ BASH_ENV=@ LD_PRELOAD=@ SHELLOPTS=@ show a", false),
    ("RANDOM=@; SRANDOM=@; OPTIND=@; HISTCMD=@", false),
    ("for RANDOM in @; do :; done", false),
    ("read RANDOM <<E\n@\nE", false),
    ("set -k; show x=@", false),
    ("printf @", false),
    ("printf @ @", false),
    ("printf -v @ a", false),
    ("printf {-v,@} a", false),
    ("printf {-v,} @", false),
    ("printf {x}>o @", false),
    ("printf %n @", false),
    ("[ @ @ ]", false),
    ("[ -v @ ]", false),
    ("test -v @", false),
    ("[ a -o @ @ ]", false),
    ("[ ! @ @ ]", false),
    ("[ $(printf %s @) ]", false),
    ("[[ @ -eq 1 ]]", false),
    ("[[ -v @ ]]", false),
    ("[[ a && -v @ ]]", false),
    ("[[ $(printf %s @) -eq 1 ]]", false),
    ("sh -c @", false),
    ("sh -ec \"show @\"", false),
    ("sh @ @", false),
    ("command sh -o errexit -c @", false),
    ("exec bash -c @", false),
    ("show ${x:@}", false),
    ("show ${x:-@} \"${x:-@}\"", false),
    ("show ${x:$(printf %s @)}", false),
    ("show `show @` \"`show @`\"", false),
    ("show $'@'", false),
    ("show a >&@", false),
    ("show a <&@", false),
    ("show a >/dev/@", false),
    ("show a >$(printf %s @)", false),
    ("show a &>o @", false),
    ("body <<@\na\n@", false),
    ("body <<E\n$(show @) `show @` $((@)) ${x:-@}\nE", false),
    ("{eval,:} @", false),
    ("show a; ev[a]l @", false),
    ("x[1 + 1]=2 eval @", false),
    ("\"e\\\nval\" @", false),
    ("$'\\x65val' @", false),
    ("$\"eval\" @", false),
    ("eval $\\\n(printf %s @)", false),
];

/// Pieces that are inserted anywhere into a command.
const PIECES: &[&str] = &[
    "@",
    "@",
    "@",
    "'",
    "\"",
    "`",
    "$(",
    "((",
    "$((",
    ")",
    "))",
    "${X:-",
    "${X#",
    "}",
    "\\",
    "\\\n",
    "\n",
    " <<E\n",
    " <<'E'\n",
    " <<-\\E\n",
    "\nE\n",
    " case x in x) ",
    " case ",
    " in ",
    " ;; ",
    " esac",
    "#",
    "$'",
    "$\"",
    "\u{e9}",
    " ",
    " ",
    " >o ",
    " >",
    "<",
    "|",
    "&&",
    ";",
    "(",
    "{ ",
    " }",
    "{",
    ",",
    "x=",
    "x[",
    "]",
    "show ",
    "show ",
    " if :; then ",
    " fi",
    " else ",
    "[ ",
    " ]",
    "[[ ",
    " ]]",
    "$$",
    "$",
    "f1() ",
    " <<<",
    " <(",
    "sh -c ",
    "eval ",
    "command ",
    "time -p ",
    "exec ",
    "printf ",
    "test ",
    "!",
    "1",
    "+",
    "-v ",
    "-c ",
    "=",
    " -eq ",
    "for x in ",
    " do ",
    " done",
    "function ",
    "$[",
    "declare ",
    "-i ",
    "let ",
    "&>",
    "*",
    "~",
];

struct Random(u64);

impl Random {
    fn below(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(below).unwrap()).unwrap()
    }

    fn of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }

    /// Generates a command with `@` in place of values.
    fn commands(&mut self, depth: usize) -> String {
        let mut text = String::new();
        for index in 0..=self.below(3) {
            if index > 0 {
                text += self.of(&["; ", "\n", " && ", " || ", " | "]);
            }
            let (mut context, mut accepted) = CONTEXTS[self.below(CONTEXTS.len())];
            // A context that is refused gets the surrounding command refused as well.
            while !accepted && self.below(8) > 0 {
                (context, accepted) = CONTEXTS[self.below(CONTEXTS.len())];
            }
            for (at, part) in context.split('@').enumerate() {
                if at > 0 {
                    text += &self.value(depth, part.starts_with(['"', '\'']));
                }
                text += part;
            }
        }
        text
    }

    /// Generates what is used in place of a value.
    fn value(&mut self, depth: usize, quoted: bool) -> String {
        if quoted {
            return self.of(&["@", "a", "@ @", "$u", "\\$"]).to_owned();
        }
        match self.below(14) {
            0 => "'@'".to_owned(),
            1 => "\"a @\"".to_owned(),
            2 => "a@'b @'\"@\"".to_owned(),
            3 => "\"$u\"@".to_owned(),
            4 if depth > 0 => format!("\"$({})\"", self.commands(depth - 1)),
            5 if depth > 0 => format!("$({})", self.commands(depth - 1)),
            6 if depth > 0 => format!("<({})", self.commands(depth - 1)),
            7 => "a".to_owned(),
            8 => "{a,@}".to_owned(),
            9 => "*@".to_owned(),
            _ => "@".to_owned(),
        }
    }

    /// Generates a command, half of the time with a random piece inserted.
    fn text(&mut self) -> String {
        let mut text = if self.below(4) == 0 {
            (0..3 + self.below(9)).map(|_| self.of(PIECES)).collect()
        } else {
            self.commands(2)
        };
        if self.below(2) == 0 {
            for _ in 0..=self.below(3) {
                let places: Vec<_> = text.char_indices().map(|(at, _)| at).collect();
                let Some(&at) = places.get(self.below(places.len().max(1))) else { break };
                match self.below(3) {
                    0 => {
                        text.remove(at);
                    }
                    1 => text.truncate(at),
                    _ => text.insert_str(at, self.of(PIECES)),
                }
            }
        }
        text
    }
}

/// Replaces each `@` with one of three placeholders.
fn with_placeholders(text: &str, random: &mut Random) -> String {
    let mut parts = text.split('@');
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        whole += random.of(&["${item}", "${item.a}", "${last.output}"]);
        whole += part;
    }
    whole
}

fn shells() -> Vec<PathBuf> {
    let found: Vec<_> = ["/bin/dash", "/bin/bash"]
        .iter()
        .map(PathBuf::from)
        .filter(|shell| shell.exists())
        .collect();
    if found.is_empty() { vec!["/bin/sh".into()] } else { found }
}

/// A folder for commands to run in, with the shells as the only programs.
struct Lab(tempfile::TempDir);

impl Lab {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("bin")).unwrap();
        Self(folder)
    }

    /// The index of the first text that leaves a mark when this shell runs it with these values.
    fn marked(&self, shell: &Path, texts: &[&str], values: [&str; 3]) -> Option<usize> {
        let here = self.0.path().join("here");
        fs::create_dir_all(&here).unwrap();
        for name in ["sh", "bash"] {
            let program = self.0.path().join("bin").join(name);
            let shell = shell.display();
            // Code in a file or on stdin is not the shell's responsibility, so such shells run
            // nothing.
            let text = format!(
                "#!{shell}\ncase $1 in --) ;; [-+]*) exec {shell} \"$@\" </dev/null ;; esac\n"
            );
            fs::write(&program, text).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let mut driver = PRELUDE.to_owned();
        // Disable globbing, so that a pattern such as `eval *` does not find files named by
        // a value.
        driver += if values[0] == WHOLE { "" } else { "set -f\n" };
        for text in texts {
            writeln!(driver, "run '{}'", text.replace('\'', "'\\''")).unwrap();
        }
        let file = self.0.path().join("driver");
        fs::write(&file, driver).unwrap();
        let mut command = Command::new("/bin/sh");
        // Keep files empty: running a file that a value was written to is the script's own doing.
        command
            .args(["-c", "ulimit -t 2; ulimit -f 0; exec \"$0\" \"$1\" 3>&1"])
            .arg(shell)
            .arg(&file);
        command.env_clear().env("PATH", self.0.path().join("bin"));
        // Otherwise `set` would print it in pieces.
        command.env("WHOLE", if values[0] == WHOLE { WHOLE } else { "" });
        command.env("LC_ALL", "C.UTF-8");
        for (number, value) in values.iter().enumerate() {
            command.env(variable(number), value);
        }
        command.current_dir(&here).stdin(Stdio::null()).stderr(Stdio::null());
        let output = within_a_minute(&mut command);
        let left = here.join("pwned").exists() || here.join("split").exists();
        fs::remove_dir_all(&here).unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let index = said.trim().parse::<usize>().ok().map(|number| number - 1);
        // A background process left the mark: run each text alone to find out which.
        index.or_else(|| match texts {
            _ if !left => None,
            [_] => Some(0),
            all => Some(
                (0..all.len())
                    .find(|at| self.marked(shell, &all[*at..=*at], values).is_some())
                    .unwrap_or(all.len() - 1),
            ),
        })
    }
}

/// Returns the stdout of a command. A text that never ends is not a failure; it is killed, with all
/// its processes.
fn within_a_minute(command: &mut Command) -> Output {
    std::os::unix::process::CommandExt::process_group(command, 0);
    let child = command.stdout(Stdio::piped()).spawn().unwrap();
    let group = rustix::process::Pid::from_child(&child);
    let (ended, is_ended) = mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        if is_ended.recv_timeout(Duration::from_secs(60)).is_err() {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    });
    let output = child.wait_with_output().unwrap();
    let _ = ended.send(());
    watch.join().unwrap();
    output
}

/// The script, with variables numbered by placeholder.
fn numbered(text: &str) -> Option<String> {
    let script = Script::parse(text, HERE).ok()?;
    if script.values.is_empty() {
        return None;
    }
    // Variables are numbered by first use, but the values have fixed numbers.
    let mut whole = script.text;
    for (number, _) in script.values.iter().enumerate() {
        whole = whole.replace(&reference(number), &format!("${{<{number}>}}"));
    }
    for (number, placeholder) in script.values.iter().enumerate() {
        let own = match placeholder.written.as_str() {
            "${item}" => 0,
            "${item.a}" => 1,
            _ => 2,
        };
        whole = whole.replace(&format!("${{<{number}>}}"), &reference(own));
    }
    Some(whole)
}

#[test]
fn a_value_is_accepted_only_in_the_documented_contexts() {
    for (context, accepted) in CONTEXTS {
        let parts: Vec<_> = context.split('@').collect();
        // In a context that is refused, each place is refused on its own.
        for place in 1..parts.len() {
            let mut text = String::new();
            for (at, part) in parts.iter().enumerate() {
                if at > 0 {
                    text +=
                        if *accepted || at == place || parts.len() == 3 { "${item}" } else { "a" };
                }
                text += part;
            }
            assert_eq!(Script::parse(&text, HERE).is_ok(), *accepted, "{text}");
        }
    }
}

#[test]
fn no_command_that_is_accepted_parses_a_value_or_takes_it_to_pieces() {
    let number = |name| std::env::var(name).ok().and_then(|number| number.parse().ok());
    let count = number("RETRY_WORKFLOW_FUZZ").unwrap_or(1_000);
    let seed = number("RETRY_WORKFLOW_SEED").unwrap_or(1);
    let seed = u64::try_from(seed).unwrap().wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut random = Random(seed);
    let lab = Lab::new();
    let (mut accepted, mut tried, mut whole) = (0, 0, 0);
    while accepted < count {
        let mut texts = Vec::new();
        while texts.len() < BATCH.min(count - accepted) {
            tried += 1;
            let text = with_placeholders(&random.text(), &mut random);
            // A function that calls itself never ends.
            if text.matches("f1").count() > 2 || text.contains("show()") {
                continue;
            }
            // A script may do anything with its own variables.
            let parsed = ["eval", "let ", "declare", "trap", "sh -c", ". "];
            let own = ["$x", "$@", "$1", "$*"].iter().any(|own| text.contains(own));
            if text.matches("$x").count() > text.matches("show \"$x\"").count()
                || own && parsed.iter().any(|word| text.contains(word))
            {
                continue;
            }
            texts.extend(numbered(&text).map(|script| (text, script)));
        }
        accepted += texts.len();
        if count > 1_000 {
            println!("{accepted}");
        }
        let pick = |random: &mut Random| random.of(HOSTILE);
        let hostile = [pick(&mut random), pick(&mut random), pick(&mut random)];
        // Splitting by the script itself is its own doing.
        let kept: Vec<_> = texts
            .iter()
            .filter(|(text, _)| {
                !["$(", "$x", "${x", "${X", "<(", "IFS"].iter().any(|part| text.contains(part))
            })
            .collect();
        whole += kept.len();
        for shell in shells() {
            let scripts: Vec<_> = texts.iter().map(|(_, script)| script.as_str()).collect();
            if let Some(index) = lab.marked(&shell, &scripts, hostile) {
                let (text, script) = &texts[index];
                panic!("{} runs a value of {hostile:?}:\n{text}\n\n{script}", shell.display());
            }
            let scripts: Vec<_> = kept.iter().map(|(_, script)| script.as_str()).collect();
            if let Some(index) = lab.marked(&shell, &scripts, [WHOLE; 3]) {
                let (text, script) = kept[index];
                panic!("{} takes a value to pieces:\n{text}\n\n{script}", shell.display());
            }
        }
    }
    println!("{accepted} of {tried} commands were accepted; {whole} were held to one word");
    assert!(whole * 4 > accepted, "few are held to one word: {whole} of {accepted}");
}

/// The accepted contexts, with the value that falls apart most easily: in these, the script itself
/// splits nothing.
#[test]
fn each_context_that_is_accepted_gives_one_word_unchanged() {
    let lab = Lab::new();
    for shell in shells() {
        for (context, _) in CONTEXTS.iter().filter(|(_, accepted)| *accepted) {
            let script = numbered(&context.replace('@', "${item}")).unwrap();
            assert_eq!(lab.marked(&shell, &[&script], [WHOLE; 3]), None, "{context}");
        }
    }
}

/// Values in places that would be refused do leave a mark. Otherwise, the tests above could pass
/// because nothing ever leaves one.
#[test]
fn a_value_that_a_shell_parses_is_detected() {
    if !Path::new("/bin/bash").exists() {
        return;
    }
    let lab = Lab::new();
    let marks = |text: &str| {
        let text = text.replace('@', "\"${RETRY_WORKFLOW_VALUE_1}\"");
        let two = text.replacen(
            "VALUE_1}\" \"${RETRY_WORKFLOW_VALUE_1",
            "VALUE_2}\" \"${RETRY_WORKFLOW_VALUE_1",
            1,
        );
        HOSTILE.iter().any(|value| {
            ["-v", "-c", "a"].iter().any(|first| {
                lab.marked(Path::new("/bin/bash"), &[&two], [value, first, "a"]).is_some()
            })
        })
    };
    for text in [
        "eval @",
        "trap @ EXIT",
        "show $((@))",
        "show $[@]",
        "((@))",
        "let @",
        "declare -i x; x=@",
        "x[@]=1",
        "a=1; unset @",
        "RANDOM=@",
        "OPTIND=@",
        "printf -v @ a",
        "printf @ @ a",
        "[ @ @ ]",
        "[ -v @ ]",
        "[[ @ -eq 1 ]]",
        "sh -c @",
        "sh @ @",
        "x=1; show ${x:@}",
        "mapfile -C @ -c 1 x <<E\na\nE",
        "PS4=@; set -x; :",
        "x[1 + 1]=2 eval @",
        "{eval,:} @",
    ] {
        assert!(marks(text), "{text}");
    }
    // Splitting is detected as well.
    let split = "show ${RETRY_WORKFLOW_VALUE_1}";
    assert_eq!(lab.marked(Path::new("/bin/bash"), &[split], [WHOLE; 3]), Some(0));
}
