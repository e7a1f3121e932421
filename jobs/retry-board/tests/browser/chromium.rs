//! [`Chromium`]: the browser, one process for all tests that run at the same time.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The names to look for if `RETRY_TEST_CHROMIUM` is not set.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Parts of the browser that would each have a process of their own for each window: one for the
/// next page, and one for what drops down from the field of the address, which is not visible here.
const UNSEEN: &str =
    "--disable-features=SpareRendererForSitePerProcess,WebUIOmniboxPopup,WebUIOmniboxAimPopup";

/// Runs the browser until standard input ends, and removes its profile. That end comes when a
/// [`Chromium`] is dropped, and also when this process is killed, which runs no code of its own.
const GUARD: &str = r#"
profile=$1; shift
trap : HUP INT TERM
"$@" &
# That the browser has ended is seen by the end of what it says.
exec 2>/dev/null
read -r _
kill -KILL $!
# If that was a script: those that it has started.
kill -TERM 0
wait
# The processes of the browser end a moment after it, and write until then.
until rm -rf "$profile"; do :; done
"#;

/// A headless browser, which ends with the last test that uses it.
pub(crate) struct Chromium {
    guard: Child,
    /// The address of `DevTools`: `127.0.0.1:PORT`.
    pub(crate) address: String,
    /// The path of the browser's own endpoint.
    pub(crate) path: String,
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
        // A fresh profile, independent of the user's; the guard removes it.
        let profile = tempfile::tempdir().expect("a folder").keep();
        let mut guard = Command::new("sh");
        guard.args(["-c", GUARD, "guard"]).arg(&profile).arg(program);
        let mut guard = guard
            .args(["--headless=new", "--remote-debugging-port=0", "--no-startup-window"])
            // Containers have a small `/dev/shm`, and the sandbox does not work as root.
            .args(["--no-sandbox", "--disable-dev-shm-usage"])
            // No network requests of its own.
            .args(["--no-first-run", "--disable-background-networking", "--disable-sync"])
            .args(["--disable-component-update", "--disable-extensions", "--no-proxy-server"])
            // The same rendering on every machine.
            .args(["--hide-scrollbars", "--force-color-profile=srgb", "--lang=en-US"])
            // Each page lives for seconds: what is done in advance, or to be fast later, is in
            // vain.
            .args(["--disable-gpu", "--disable-software-rasterizer", "--disable-breakpad"])
            .args(["--js-flags=--no-opt,--no-maglev", UNSEEN])
            .arg(format!("--user-data-dir={}", profile.display()))
            .env("TZ", "Europe/Berlin")
            // The files beside its profile are removed with it.
            .env("TMPDIR", &profile)
            // A terminal's Ctrl+C is for the tests.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("Chromium starts");
        let mut said = BufReader::new(guard.stderr.take().expect("it is piped")).lines();
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
        Self { guard, address: address.into(), path: format!("/{path}") }
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
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
