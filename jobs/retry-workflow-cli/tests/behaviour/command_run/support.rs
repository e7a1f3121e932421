//! [`Place`]: a folder with a workflow file, its scripts, and the command.

use std::fs;
use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use retry_workflow::store::{Change, IntoStore as _};
use retry_workflow::{SqliteStore, Store, Timestamp};
use serde_json::Value;

/// A folder that is removed after the test.
pub(crate) struct Place {
    folder: tempfile::TempDir,
    /// The address of a store outside the folder.
    store: Option<String>,
}

/// The output of the command.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), store: None }
    }

    /// Uses the store at this address instead of a file in the folder.
    pub(crate) fn on(self, store: Option<String>) -> Self {
        Self { store, ..self }
    }

    /// Creates a folder with `job.yml`.
    pub(crate) fn with(workflow: &str) -> Self {
        Self::new().file("job.yml", workflow)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn file(self, name: &str, text: &str) -> Self {
        self.write(name, text);
        self
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Adds a shell script.
    pub(crate) fn script(self, name: &str, body: &str) -> Self {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // By another process: a child that this one forks meanwhile would hold the file open for
        // writing, so that it cannot be run.
        let write = "printf '#!/bin/sh\\n%s\\n' \"$1\" > \"$0\" && chmod 755 \"$0\"";
        let written = Command::new("sh").args(["-c", write]).arg(&path).arg(body).status();
        assert!(written.unwrap().success());
        self
    }

    /// Adds `items.json` with items that have these ids.
    pub(crate) fn items(self, ids: &[&str]) -> Self {
        let items: Vec<_> = ids.iter().map(|id| serde_json::json!({ "id": id })).collect();
        let text = serde_json::json!(items).to_string();
        self.file("items.json", &text)
    }

    /// Reads what scripts have written; empty if there is nothing.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// The same, as sorted lines.
    pub(crate) fn sorted(&self, name: &str) -> Vec<String> {
        let mut lines: Vec<_> = self.read(name).lines().map(str::to_owned).collect();
        lines.sort();
        lines
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_retry-workflow"));
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env_remove("RETRY_WORKFLOW_STORE")
            // The files of a killed process are removed with the folder.
            .env("TMPDIR", self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(store) = &self.store {
            command.env("RETRY_WORKFLOW_STORE", store);
        }
        command
    }

    pub(crate) fn spawn(&self, arguments: &[&str]) -> Running {
        Running::spawned(&mut self.command(arguments))
    }

    pub(crate) fn ran(&self, arguments: &[&str]) -> Ran {
        Ran::from_output(self.command(arguments).output().unwrap())
    }

    /// Runs the command, expecting this exit code.
    #[track_caller]
    pub(crate) fn ends(&self, code: i32, arguments: &[&str]) -> Ran {
        let ran = self.ran(arguments);
        assert_eq!(ran.code, Some(code), "{arguments:?}: {ran:#?}");
        ran
    }

    /// Stops a command, and lets what it runs end by this file.
    #[track_caller]
    pub(crate) fn stops(&self, mut running: Running, file: &str) -> Ran {
        running.signal("INT");
        running.line_with("stopping: ").unwrap();
        self.write(file, "");
        let ran = running.ended();
        assert_eq!(ran.code, Some(1), "{ran:#?}");
        ran
    }

    /// Moves the creation of a job a day back, and ends the leases of its workers.
    pub(crate) fn backdate(&self, job: &str) {
        let change: Change = Box::new(|values: &mut [Option<String>]| {
            let text = values[0].as_mut().expect("the job");
            let mut record: Value = serde_json::from_str(text).unwrap();
            let day_before = |moment: &mut Value| {
                let at: Timestamp = moment.as_str().unwrap().parse().unwrap();
                *moment = (at - Duration::from_secs(86_400)).to_string().into();
            };
            day_before(&mut record["created"]);
            for worker in
                record.get_mut("workers").and_then(Value::as_array_mut).into_iter().flatten()
            {
                day_before(&mut worker["until"]);
            }
            *text = record.to_string();
            Ok(())
        });
        tokio::runtime::Runtime::new().unwrap().block_on(async {
            self.opened().await.update(vec![format!("job/{job}")], change).await.unwrap();
        });
    }

    async fn opened(&self) -> Arc<dyn Store> {
        #[cfg(feature = "postgres")]
        if let Some(address) = &self.store {
            let (url, schema) = address.rsplit_once("&schema=").expect("a schema");
            let store = retry_workflow_postgres::PostgresStore::options().schema(schema);
            return store.connect(url).await.unwrap().into_store();
        }
        SqliteStore::open(self.path("retry-workflow.db")).unwrap().into_store()
    }

    /// The output with `--json`, one object per line.
    #[track_caller]
    pub(crate) fn objects(&self, arguments: &[&str]) -> Vec<Value> {
        let ran = self.ran(&[arguments, &["--json"]].concat());
        ran.out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{ran:#?}")))
            .collect()
    }

    /// The same for a single object.
    #[track_caller]
    pub(crate) fn object(&self, arguments: &[&str]) -> Value {
        let mut objects = self.objects(arguments);
        assert_eq!(objects.len(), 1, "{objects:#?}");
        objects.remove(0)
    }

    /// The waits after each attempt of a failed item, in milliseconds.
    pub(crate) fn waits(&self, item: &str) -> Vec<u64> {
        let object = self.object(&["dlq", "show", item]);
        let history = object["history"].as_array().unwrap();
        let seconds = |attempt: &Value| attempt["wait"].as_f64().unwrap();
        let millis = |seconds| Duration::from_secs_f64(seconds).as_millis().try_into().unwrap();
        history.iter().map(|attempt| millis(seconds(attempt))).collect()
    }
}

impl Ran {
    pub(crate) fn from_output(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    #[track_caller]
    pub(crate) fn says(&self, text: &str) -> &Self {
        let said = format!("{}{}", self.out, self.err);
        assert!(said.contains(text), "{text:?} is not in {self:#?}");
        self
    }
}

/// A running command, which is killed if a test gives up.
pub(crate) struct Running(Option<Child>);

impl Running {
    pub(crate) fn spawned(command: &mut Command) -> Self {
        Self(Some(command.spawn().unwrap()))
    }

    pub(crate) fn stdin(&mut self) -> ChildStdin {
        self.0.as_mut().unwrap().stdin.take().unwrap()
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.as_ref().unwrap().id()
    }

    /// The process that does the work: on Linux, a child of the one that was started.
    #[track_caller]
    pub(crate) fn worker(&self) -> u32 {
        let mut found = (!cfg!(target_os = "linux")).then(|| self.id());
        until("there is a worker", || {
            let names = fs::read_dir("/proc").into_iter().flatten();
            let mut names = names.filter_map(|it| it.ok()?.file_name().into_string().ok());
            let child = names.find(|id| parent(id) == Some(self.id()));
            found = found.or_else(|| child?.parse().ok());
            found.is_some()
        });
        found.unwrap()
    }

    pub(crate) fn signal(&self, name: &str) {
        let id = self.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &id]).status().unwrap();
        assert!(sent.success());
    }

    /// The next line of standard error that contains this text; if it does not appear in time, the
    /// command is killed.
    pub(crate) fn line_with(&mut self, text: &str) -> Option<String> {
        let (found, is_found) = mpsc::channel::<()>();
        let id = self.id().to_string();
        std::thread::spawn(move || {
            // Ends as soon as the line has been read, so that no other process with this id is met.
            if is_found.recv_timeout(Duration::from_secs(60)) == Err(RecvTimeoutError::Timeout) {
                let _ = Command::new("kill").args(["-s", "KILL", &id]).status();
            }
        });
        let line = self.read_line_with(text);
        drop(found);
        line
    }

    fn read_line_with(&mut self, text: &str) -> Option<String> {
        let err = self.0.as_mut().unwrap().stderr.as_mut().unwrap();
        // Byte by byte, to leave what follows to other readers.
        let mut line = Vec::new();
        let mut byte = [0];
        while err.read(&mut byte).unwrap() > 0 {
            if byte != *b"\n" {
                line.push(byte[0]);
                continue;
            }
            let whole = String::from_utf8(std::mem::take(&mut line)).unwrap();
            if whole.contains(text) {
                return Some(whole);
            }
        }
        None
    }

    pub(crate) fn ended(mut self) -> Ran {
        Ran::from_output(self.0.take().unwrap().wait_with_output().unwrap())
    }
}

/// The parent of a process, on Linux.
pub(crate) fn parent(id: &str) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The stores of a test that holds for all of them: a file, and a server if there is one.
pub(crate) fn stores() -> Vec<Option<String>> {
    let file = None;
    #[cfg(feature = "postgres")]
    let server = super::servers::server().map(Some);
    #[cfg(not(feature = "postgres"))]
    let server = None;
    std::iter::once(file).chain(server).collect()
}

/// Waits until the condition holds.
#[track_caller]
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}: not in time");
        std::thread::sleep(Duration::from_millis(10));
    }
}
