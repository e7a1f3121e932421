//! [`Page`]: one tab, and what a person does with it: looking, clicking, typing, pressing keys.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base64::Engine as _;
use serde_json::{Value, json};

use crate::chromium::Chromium;
use crate::devtools::DevTools;

/// The time limit of a condition that a test waits for.
const PATIENCE: Duration = Duration::from_secs(20);

/// The screenshots of the documentation.
const DOCUMENTED: [&str; 8] = [
    "jobs-wide-light",
    "job-wide-dark",
    "dead-letters-wide-light",
    "dead-letters-wide-dark",
    "dead-letters-narrow-light",
    "dead-letters-narrow-dark",
    "item-wide-light",
    "policies-wide-light",
];

/// `true` if pages are to be drawn for people: a test needs no picture of them, and most of them are
/// not looked at.
pub(crate) fn are_pictures_wanted() -> bool {
    std::env::var_os("RETRY_TEST_PICTURES").is_some()
}

/// A tab with its own cookies, which is closed when dropped.
pub(crate) struct Page {
    tools: DevTools,
    context: Arc<Context>,
    browser: Arc<Chromium>,
}

/// A browser with its own cookies.
struct Context {
    /// The browser discards all tabs when this connection closes.
    tools: Mutex<DevTools>,
    id: Value,
}

/// A way to look at a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) width: u32,
    pub(crate) is_dark: bool,
}

impl Look {
    pub(crate) const WIDE: u32 = 1280;
    pub(crate) const NARROW: u32 = 360;

    /// All looks.
    pub(crate) const ALL: [Self; 4] = [
        Self { width: Self::WIDE, is_dark: false },
        Self { width: Self::WIDE, is_dark: true },
        Self { width: Self::NARROW, is_dark: false },
        Self { width: Self::NARROW, is_dark: true },
    ];

    pub(crate) fn name(self) -> String {
        let size = if self.width == Self::WIDE { "wide" } else { "narrow" };
        format!("{size}-{}", if self.is_dark { "dark" } else { "light" })
    }
}

impl Page {
    /// Opens a new tab; `None`, with a message, if there is no browser.
    pub(crate) fn open() -> Option<Self> {
        let browser = Chromium::get()?;
        let mut context = DevTools::connect(&browser.address, &browser.path);
        let id =
            must(context.call("Target.createBrowserContext", json!({ "disposeOnDetach": true })));
        let target = json!({ "url": "about:blank", "browserContextId": id["browserContextId"] });
        let target = must(context.call("Target.createTarget", target));
        let tools = attach(&browser, &target);
        let context =
            Arc::new(Context { tools: Mutex::new(context), id: id["browserContextId"].clone() });
        let mut page = Self { tools, context, browser };
        page.look(Look::ALL[0]);
        Some(page)
    }

    /// Opens another window of the same browser, with the same cookies. Both are visible.
    pub(crate) fn open_beside(&self) -> Self {
        let target = json!({
            "url": "about:blank", "browserContextId": self.context.id, "newWindow": true,
        });
        let mut context = self.context.tools.lock().expect("no test has panicked with it");
        let target = must(context.call("Target.createTarget", target));
        drop(context);
        let (browser, context) = (Arc::clone(&self.browser), Arc::clone(&self.context));
        let mut page = Self { tools: attach(&browser, &target), context, browser };
        page.look(Look::ALL[0]);
        page
    }

    /// Hides the page, as a tab behind another one is, or shows it again.
    pub(crate) fn set_hidden(&mut self, is_hidden: bool) {
        self.eval(&format!(
            "Object.defineProperty(document, 'hidden', {{ value: {is_hidden}, configurable: true }});
            document.dispatchEvent(new Event('visibilitychange'))"
        ));
    }

    /// Sets the clock of the page forward, as if this time had passed.
    pub(crate) fn set_clock_forward(&mut self, by: Duration) {
        self.eval(&clock_forward(by));
    }

    /// Does the same with the clock of the worker that all tabs of this browser share.
    pub(crate) fn set_workers_clock_forward(&mut self, by: Duration) {
        let mut context = self.context.tools.lock().expect("no test has panicked with it");
        let targets = must(context.call("Target.getTargets", json!({})));
        drop(context);
        let targets = targets["targetInfos"].as_array().expect("a list");
        let worker = targets.iter().find(|target| {
            target["type"] == "shared_worker" && target["browserContextId"] == self.context.id
        });
        let mut worker = connect(&self.browser, worker.expect("the tabs share a worker"));
        must(worker.call("Runtime.evaluate", json!({ "expression": clock_forward(by) })));
    }

    /// Goes to an address, and waits until the page has loaded.
    pub(crate) fn go(&mut self, url: &str) {
        let gone = must(self.tools.call("Page.navigate", json!({ "url": url })));
        assert!(gone["errorText"].is_null(), "{url}: {}", gone["errorText"]);
        self.wait_for_load();
    }

    /// Runs a script before those of each page from now on.
    pub(crate) fn before_scripts(&mut self, script: &str) {
        let source = json!({ "source": script });
        must(self.tools.call("Page.addScriptToEvaluateOnNewDocument", source));
    }

    /// Waits until the next page has loaded.
    pub(crate) fn wait_for_load(&mut self) {
        self.wait_until("document.readyState === 'complete' && location.href !== 'about:blank'");
    }

    /// Evaluates an expression in the page, and awaits it if it is a promise.
    pub(crate) fn eval(&mut self, script: &str) -> Value {
        self.try_eval(script).unwrap_or_else(|error| panic!("{error}\nin {script}"))
    }

    fn try_eval(&mut self, script: &str) -> Result<Value, String> {
        let call = json!({ "expression": script, "awaitPromise": true, "returnByValue": true });
        let mut done = self.tools.call("Runtime.evaluate", call)?;
        match &done["exceptionDetails"] {
            Value::Null => Ok(done["result"]["value"].take()),
            thrown => Err(thrown["exception"]["description"].to_string()),
        }
    }

    /// Waits until an expression is true. The page may change in the meantime.
    #[track_caller]
    pub(crate) fn wait_until(&mut self, condition: &str) {
        let start = Instant::now();
        while self.try_eval(condition) != Ok(Value::Bool(true)) {
            if start.elapsed() > PATIENCE {
                let seen = self.text("body");
                panic!("never true: {condition}\nthe page says:\n{seen}");
            }
            std::thread::sleep(Duration::from_millis(25));
        }
    }

    /// Waits until a page has loaded whole, and an element contains this text.
    #[track_caller]
    pub(crate) fn wait_for_text(&mut self, selector: &str, text: &str) {
        let (selector, text) = (json!(selector), json!(text));
        self.wait_until(&format!(
            "document.readyState === 'complete' && \
             [...document.querySelectorAll({selector})].some(e => e.innerText.includes({text}))"
        ));
    }

    /// The visible text of the first matching element.
    pub(crate) fn text(&mut self, selector: &str) -> String {
        let selector = json!(selector);
        let text = self.eval(&format!("document.querySelector({selector})?.innerText ?? null"));
        text.as_str().unwrap_or_else(|| panic!("there is no {selector}")).to_owned()
    }

    pub(crate) fn count(&mut self, selector: &str) -> u64 {
        let selector = json!(selector);
        self.eval(&format!("document.querySelectorAll({selector}).length"))
            .as_u64()
            .expect("a number")
    }

    /// The path of the page, with its query.
    pub(crate) fn path(&mut self) -> String {
        self.eval("location.pathname + location.search").as_str().expect("a path").to_owned()
    }

    /// Clicks on the middle of the first matching element, which must be visible there.
    #[track_caller]
    pub(crate) fn click(&mut self, selector: &str) {
        let selector = json!(selector);
        self.wait_until(&format!("document.querySelector({selector}) !== null"));
        let place = self.eval(&format!(
            "(() => {{
                const element = document.querySelector({selector});
                element.scrollIntoView({{ block: 'center', behavior: 'instant' }});
                const box = [...element.getClientRects()].find(box => box.width && box.height);
                if (!box) return 'it has no size';
                const x = box.left + box.width / 2, y = box.top + box.height / 2;
                const top = document.elementFromPoint(x, y);
                if (!top || !(element.contains(top) || top.contains(element)))
                    return 'it is covered by ' + (top ? top.outerHTML.slice(0, 200) : 'nothing');
                return [x, y];
            }})()"
        ));
        let Some(place) = place.as_array() else { panic!("cannot click on {selector}: {place}") };
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({
                "type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1,
            });
            must(self.tools.call("Input.dispatchMouseEvent", event));
        }
    }

    /// Presses a key: `Tab`, `Enter`, `Space`, `Escape` or an arrow, optionally with `Shift+`.
    pub(crate) fn press(&mut self, key: &str) {
        let (modifiers, key) = key.strip_prefix("Shift+").map_or((0, key), |key| (8, key));
        let (key, code, number, text) = match key {
            "Tab" => ("Tab", "Tab", 9, ""),
            "Enter" => ("Enter", "Enter", 13, "\r"),
            "Space" => (" ", "Space", 32, " "),
            "Escape" => ("Escape", "Escape", 27, ""),
            "ArrowDown" => ("ArrowDown", "ArrowDown", 40, ""),
            "ArrowUp" => ("ArrowUp", "ArrowUp", 38, ""),
            other => panic!("no such key: {other}"),
        };
        for kind in [if text.is_empty() { "rawKeyDown" } else { "keyDown" }, "keyUp"] {
            let event = json!({
                "type": kind, "key": key, "code": code, "windowsVirtualKeyCode": number,
                "nativeVirtualKeyCode": number, "modifiers": modifiers,
                "text": if kind == "keyUp" { "" } else { text },
            });
            must(self.tools.call("Input.dispatchKeyEvent", event));
        }
    }

    /// Types at the focus.
    pub(crate) fn type_text(&mut self, text: &str) {
        must(self.tools.call("Input.insertText", json!({ "text": text })));
    }

    /// Presses Tab until a matching element has the focus, and checks that the focus is visible.
    #[track_caller]
    pub(crate) fn tab_to(&mut self, selector: &str) {
        let selector = json!(selector);
        let mut path = String::new();
        for _ in 0..200 {
            self.press("Tab");
            let focused = self.eval(&format!(
                "(() => {{
                    const element = document.activeElement;
                    const style = getComputedStyle(element);
                    const seen = style.outlineStyle !== 'none' || style.boxShadow !== 'none';
                    return [element.matches({selector}), seen, element.outerHTML.slice(0, 80)];
                }})()"
            ));
            let _ = writeln!(path, "{}", focused[2]);
            if focused[0] == true {
                assert_eq!(focused[1], true, "nobody sees that {selector} has the focus");
                return;
            }
        }
        panic!("Tab never comes to {selector}, but to\n{path}");
    }

    /// Changes the window size and the preferred colour scheme.
    pub(crate) fn look(&mut self, look: Look) {
        let Look { width, is_dark } = look;
        let height = if width == Look::NARROW { 740 } else { 800 };
        let size =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        must(self.tools.call("Emulation.setDeviceMetricsOverride", size));
        let colours = if is_dark { "dark" } else { "light" };
        let media = json!({ "features": [
            { "name": "prefers-color-scheme", "value": colours },
            { "name": "prefers-reduced-motion", "value": "reduce" },
        ] });
        must(self.tools.call("Emulation.setEmulatedMedia", media));
    }

    /// Shows pages in the few colours of a system's contrast theme.
    pub(crate) fn force_colours(&mut self, is_dark: bool) {
        let colours = if is_dark { "dark" } else { "light" };
        let media = json!({ "features": [
            { "name": "forced-colors", "value": "active" },
            { "name": "prefers-color-scheme", "value": colours },
        ] });
        must(self.tools.call("Emulation.setEmulatedMedia", media));
    }

    /// The elements that make the page scroll sideways.
    pub(crate) fn too_wide(&mut self) -> Vec<String> {
        let found = self.eval(
            "(() => {
                const root = document.documentElement, width = root.clientWidth;
                if (root.scrollWidth <= width) return [];
                const wide = [...document.querySelectorAll('body *')]
                    .filter(element => element.getBoundingClientRect().right > width + 0.5)
                    .map(element => element.cloneNode().outerHTML.slice(0, 150));
                return [`${root.scrollWidth - width} px`, ...wide.slice(0, 20)];
            })()",
        );
        let found = found.as_array().expect("a list").iter();
        found.map(|text| text.as_str().expect("a text").to_owned()).collect()
    }

    /// The fields that are too narrow for the example in them.
    pub(crate) fn clipped_placeholders(&mut self) -> Value {
        self.eval(
            "[...document.querySelectorAll('input[placeholder]')].filter(field => {
                const value = field.value;
                field.value = field.placeholder;
                const isClipped = field.scrollWidth > field.clientWidth;
                field.value = value;
                return isClipped;
            }).map(field => field.placeholder)",
        )
    }

    /// Asserts that the page does not scroll sideways, and that its fields show their examples.
    #[track_caller]
    pub(crate) fn assert_fits(&mut self, name: &str) {
        let wide = self.too_wide();
        assert!(wide.is_empty(), "{name} is too wide\n{}", wide.join("\n"));
        assert_eq!(self.clipped_placeholders(), json!([]), "{name} has fields that are too narrow");
    }

    /// Takes a screenshot of the whole page, and keeps it under this name; also in the
    /// documentation, if it belongs there and that is requested.
    pub(crate) fn picture(&mut self, name: &str) -> PathBuf {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("board");
        let how = json!({ "format": "png", "captureBeyondViewport": true });
        let file = self.capture(how, &folder, name);
        if DOCUMENTED.contains(&name) && are_pictures_wanted() {
            let mut how = json!({ "format": "png", "captureBeyondViewport": true });
            if name.contains("narrow") {
                // The first screen of a phone: a page shows it between paragraphs.
                let (width, height) = (Look::NARROW, 2 * Look::NARROW);
                how["clip"] =
                    json!({ "x": 0, "y": 0, "width": width, "height": height, "scale": 2 });
            }
            self.capture(how, &Path::new(env!("CARGO_MANIFEST_DIR")).join("pictures"), name);
        }
        file
    }

    fn capture(&mut self, how: Value, folder: &Path, name: &str) -> PathBuf {
        let picture = must(self.tools.call("Page.captureScreenshot", how));
        let picture = base64::engine::general_purpose::STANDARD
            .decode(picture["data"].as_str().expect("a picture"))
            .expect("base 64");
        std::fs::create_dir_all(folder).expect("a folder");
        let file = folder.join(format!("{name}.png"));
        std::fs::write(&file, &picture).expect("a file");
        file
    }

    /// The faults of the page since the last call: exceptions, console errors, and requests that
    /// the browser blocked or could not load.
    pub(crate) fn troubles(&mut self) -> Vec<String> {
        // This response arrives after all earlier events.
        self.eval("0");
        let trouble = |event: Value| {
            let parameters = &event["params"];
            match event["method"].as_str()? {
                "Runtime.exceptionThrown" => {
                    Some(parameters["exceptionDetails"]["exception"]["description"].to_string())
                }
                "Runtime.consoleAPICalled" if parameters["type"] == "error" => {
                    Some(parameters["args"].to_string())
                }
                "Log.entryAdded" if parameters["entry"]["level"] == "error" => {
                    Some(format!("{} {}", parameters["entry"]["text"], parameters["entry"]["url"]))
                }
                "Page.javascriptDialogOpening" => {
                    Some(format!("a dialog: {}", parameters["message"]))
                }
                _ => None,
            }
        };
        self.tools.take_events().into_iter().filter_map(trouble).collect()
    }

    #[track_caller]
    pub(crate) fn assert_no_trouble(&mut self) {
        let troubles = self.troubles();
        assert!(troubles.is_empty(), "\n{}", troubles.join("\n"));
    }
}

/// A script that sets the clock of its page or worker forward.
fn clock_forward(by: Duration) -> String {
    let by = by.as_millis();
    format!("(now => {{ Date.now = () => now() + {by}; }})(Date.now.bind(Date))")
}

/// Connects to a tab or a worker.
fn connect(browser: &Chromium, target: &Value) -> DevTools {
    let path = format!("/devtools/page/{}", target["targetId"].as_str().expect("an id"));
    DevTools::connect(&browser.address, &path)
}

/// Connects to a tab, and listens to what goes wrong in it.
fn attach(browser: &Chromium, target: &Value) -> DevTools {
    let mut tools = connect(browser, target);
    for part in ["Page.enable", "Runtime.enable", "Log.enable"] {
        must(tools.call(part, json!({})));
    }
    tools
}

#[track_caller]
fn must(answer: Result<Value, String>) -> Value {
    answer.unwrap_or_else(|error| panic!("{error}"))
}
