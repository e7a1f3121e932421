//! [`Chromium`]: the browser, one process for all tests that run at the same time.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tempfile::TempDir;

/// The names to look for if `RETRY_TEST_CHROMIUM` is not set.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// A headless browser, which ends with the last test that uses it.
pub(crate) struct Chromium {
    process: Child,
    /// The address of `DevTools`: `127.0.0.1:PORT`.
    pub(crate) address: String,
    /// The path of the browser's own endpoint.
    pub(crate) path: String,
    /// A fresh profile, independent of the user's.
    _profile: TempDir,
}

impl Chromium {
    /// The browser; `None`, with a message, if there is none.
    pub(crate) fn get() -> Option<Arc<Self>> {
        static RUNNING: Mutex<Weak<Chromium>> = Mutex::new(Weak::new());

        let Some(program) = find() else {
            assert!(
                std::env::var_os("RETRY_TEST_REQUIRE_BROWSER").is_none(),
                "Chromium is not installed, and RETRY_TEST_REQUIRE_BROWSER is set"
            );
            eprintln!("skipped: there is no Chromium on the PATH (Debian: chromium)");
            return None;
        };
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        Some(running.upgrade().unwrap_or_else(|| {
            let started = Arc::new(Self::start(program));
            *running = Arc::downgrade(&started);
            started
        }))
    }

    fn start(program: PathBuf) -> Self {
        let profile = tempfile::tempdir().expect("a folder");
        let mut process = Command::new(program)
            .args(["--headless=new", "--remote-debugging-port=0", "--disable-gpu"])
            // Containers have a small `/dev/shm`, and the sandbox does not work as root.
            .args(["--no-sandbox", "--disable-dev-shm-usage"])
            // No network requests of its own.
            .args(["--no-first-run", "--disable-background-networking", "--disable-sync"])
            .args(["--disable-component-update", "--disable-extensions", "--no-proxy-server"])
            // The same rendering on every machine.
            .args(["--hide-scrollbars", "--force-color-profile=srgb", "--lang=en-US"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .env("TZ", "Europe/Berlin")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("Chromium starts");
        let mut said = BufReader::new(process.stderr.take().expect("it is piped")).lines();
        let mut heard = Vec::new();
        let address = loop {
            let line = said.next().and_then(Result::ok);
            let line = line.unwrap_or_else(|| panic!("Chromium has ended: {}", heard.join("\n")));
            if let Some((_, address)) = line.split_once("DevTools listening on ws://") {
                break address.to_owned();
            }
            heard.push(line);
        };
        // Drain the rest of the output, because a full pipe would block the browser.
        std::thread::spawn(move || said.for_each(drop));
        let (address, path) = address.split_once('/').expect("a path");
        Self { process, address: address.into(), path: format!("/{path}"), _profile: profile }
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn find() -> Option<PathBuf> {
    if let Some(program) = std::env::var_os("RETRY_TEST_CHROMIUM") {
        return Some(program.into());
    }
    let folders = std::env::var_os("PATH")?;
    let mut files =
        std::env::split_paths(&folders).flat_map(|folder| NAMES.map(|name| folder.join(name)));
    files.find(|file| file.is_file())
}
