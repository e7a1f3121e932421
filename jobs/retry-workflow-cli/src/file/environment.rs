//! [`EnvironmentPlan`]: where the variables of a workflow file come from. Their values are read
//! when a job begins, on the machine that runs it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use retry_rules::suggest::nearest;

use crate::file::shown_value::short;
use crate::steps::environment::{Environment, parse_env_file};
use crate::steps::mask::{Masks, SHORTEST};
use crate::template::shell::set_by_shell;
use crate::terminal::text::count;
use crate::yaml::span::{FileError, Mistake, Source, SourceSpan};

/// `env`, `env_files` and `secrets` of a file.
#[derive(Debug, Default)]
pub(crate) struct EnvironmentPlan {
    pub(super) files: Vec<(PathBuf, SourceSpan)>,
    pub(super) variables: Vec<Variable>,
}

/// A variable that a script inserts without a default, as in `${NIGHT}`.
#[derive(Debug)]
pub(super) struct NeededVariable {
    pub(super) name: String,
    pub(super) span: SourceSpan,
}

impl NeededVariable {
    /// Returns the mistake if the variable is not set, and whether another name was meant.
    pub(super) fn missing(&self, environment: &Environment) -> Option<(Mistake, bool)> {
        let name = self.name.as_str();
        let own = environment.variables.iter().map(|(own, _)| own.clone());
        let process = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        let known: Vec<_> = own.chain(process).collect();
        if known.iter().any(|known| known == name) {
            return None;
        }
        // The shell or this command sets these, whatever the script means.
        let names = known.iter().map(String::as_str).filter(|known| !set_by_shell(known));
        let meant = nearest(name, names);
        let cure = match meant {
            Some(meant) => format!("did you mean `${{{meant}}}`?"),
            None => format!(
                "set it before you start the job, as in `{name}=… retry-workflow run …`, or in \
                 `env`; if it may be missing, write a default: `${{{name}:-…}}`"
            ),
        };
        let message = format!("${name} is not set, so the shell would insert nothing: {cure}");
        Some((Mistake::at(self.span, message), meant.is_some()))
    }
}

/// A variable of the file.
#[derive(Debug)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) value: VariableValue,
    pub(super) is_secret: bool,
    /// The place of its value.
    pub(super) span: SourceSpan,
}

#[derive(Debug)]
pub(super) enum VariableValue {
    Text(String),
    /// The value of this variable of the process.
    Inherited(String),
}

impl EnvironmentPlan {
    /// Returns the files that the variables refer to and that do not exist now.
    pub(super) fn unseen(&self, folder: &Path) -> Vec<String> {
        let files = self.files.iter().filter(|(file, _)| !folder.join(file).exists());
        let files = files.map(|(file, _)| format!("`{}` does not exist yet", file.display()));
        let inherited = self.variables.iter().filter_map(|variable| match &variable.value {
            VariableValue::Inherited(from) if std::env::var_os(from).is_none() => {
                Some(format!("the secret ${from} is not set here"))
            }
            _ => None,
        });
        files.chain(inherited).collect()
    }

    /// Reads the values. `spares_missing` skips those that do not exist.
    pub(super) fn read(
        &self,
        source: &Arc<Source>,
        folder: &Path,
        spares_missing: bool,
    ) -> Result<Environment, FileError> {
        let mut variables = Vec::new();
        let mut secrets = Vec::new();
        let mut mistakes = Vec::new();
        let mut wrong = |span, message| mistakes.push(Mistake::at(span, message));
        for (file, span) in &self.files {
            let path = folder.join(file);
            if spares_missing && !path.exists() {
                continue;
            }
            match fs::read_to_string(&path) {
                Ok(text) => variables.extend(parsed(&path, &text)?),
                Err(error) => {
                    let name = short(&file.to_string_lossy());
                    wrong(*span, format!("cannot read the variables in `{name}`: {error}"));
                }
            }
        }
        for Variable { name, value, is_secret, span } in &self.variables {
            let value = match value {
                VariableValue::Text(text) => text.clone(),
                VariableValue::Inherited(from) => match std::env::var(from) {
                    Ok(value) => value,
                    Err(_) if spares_missing => continue,
                    Err(error) => {
                        wrong(*span, format!("the secret `{name}` has no value: ${from}: {error}"));
                        continue;
                    }
                },
            };
            if *is_secret && value.len() < SHORTEST {
                wrong(
                    *span,
                    format!(
                        "the secret `{name}` is {} long, so it would be masked wherever that text \
                         occurs by chance: make it at least {SHORTEST} bytes long, or do not \
                         declare it as a secret",
                        count(value.len() as u64, "byte"),
                    ),
                );
                continue;
            }
            if *is_secret {
                secrets.push(value.clone());
            }
            variables.push((name.clone(), value));
        }
        if !mistakes.is_empty() {
            return Err(FileError::new(Arc::clone(source), mistakes));
        }
        let variables = variables.into_iter().map(|(name, value)| (name, value.into())).collect();
        Ok(Environment { variables, masks: Arc::new(Masks::new(secrets)) })
    }
}

fn parsed(path: &Path, text: &str) -> Result<Vec<(String, String)>, FileError> {
    parse_env_file(text).map_err(|(line, why)| {
        let start = text.split_inclusive('\n').take(line - 1).map(str::len).sum::<usize>();
        let len = text[start..].lines().next().map_or(0, str::len);
        let message = format!("{why}: write one such as `NAME=value`");
        let source = Source { path: path.to_owned(), text: text.to_owned(), before: (0, 0) };
        FileError::at(&Arc::new(source), SourceSpan::new(start, len), message)
    })
}
