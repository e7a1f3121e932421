//! Draws the pictures of the guide: `cargo run -p retry-examples --example pictures`. Each is an
//! SVG for light and dark pages, accompanied by the same picture as a URI, with which rustdoc shows
//! it. A test of the examples fails if a picture is out of date.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// A box with a few lines of text, centred on a point.
struct Node {
    at: (i32, i32),
    size: (i32, i32),
    class: &'static str,
    lines: &'static [&'static str],
}

/// A line through these points, with an arrowhead at the last one, and words beside it.
struct Arrow {
    through: &'static [(i32, i32)],
    words_at: (i32, i32),
    anchor: &'static str,
    words: &'static [&'static str],
}

struct Picture {
    file: &'static str,
    title: &'static str,
    size: (i32, i32),
    nodes: Vec<Node>,
    arrows: Vec<Arrow>,
}

const fn node(
    at: (i32, i32),
    size: (i32, i32),
    class: &'static str,
    lines: &'static [&'static str],
) -> Node {
    Node { at, size, class, lines }
}

const fn arrow(
    through: &'static [(i32, i32)],
    words_at: (i32, i32),
    anchor: &'static str,
    words: &'static [&'static str],
) -> Arrow {
    Arrow { through, words_at, anchor, words }
}

fn breaker() -> Picture {
    Picture {
        file: "retry-runtime/src/guide/pictures/breaker.svg",
        title: "The states of a circuit breaker: closed, open, half-open",
        size: (720, 300),
        nodes: vec![
            node((130, 70), (180, 64), "good", &["closed", "calls go through"]),
            node((590, 70), (180, 64), "bad", &["open", "calls are rejected at once"]),
            node((360, 240), (180, 64), "wait", &["half-open", "a few probes go through"]),
        ],
        arrows: vec![
            arrow(
                &[(220, 60), (498, 60)],
                (360, 30),
                "middle",
                &["failures in a row, or their rate"],
            ),
            arrow(
                &[(590, 104), (590, 240), (452, 240)],
                (600, 200),
                "start",
                &["the open time", "has passed"],
            ),
            arrow(
                &[(268, 240), (130, 240), (130, 104)],
                (120, 200),
                "end",
                &["enough probes", "succeed"],
            ),
            arrow(&[(400, 206), (400, 130), (498, 82)], (408, 150), "start", &["a probe fails"]),
        ],
    }
}

fn decisions() -> Picture {
    const QUESTIONS: [(&str, &str); 8] = [
        ("Is the failure retryable?", "not_retryable"),
        ("Are there attempts left?", "attempts"),
        ("Is the wait of the server short enough?", "retry_after"),
        ("Does the next wait fit into the budget?", "budget"),
        ("Does it end before the deadline?", "deadline, max_elapsed"),
        ("Has the quota tokens?", "quota"),
        ("Does the breaker admit calls?", "circuit_open"),
        ("", ""),
    ];
    const ROWS: [&[(i32, i32)]; 7] = [
        &[(360, 104), (470, 104)],
        &[(360, 164), (470, 164)],
        &[(360, 224), (470, 224)],
        &[(360, 284), (470, 284)],
        &[(360, 344), (470, 344)],
        &[(360, 404), (470, 404)],
        &[(360, 464), (470, 464)],
    ];
    const DOWN: [&[(i32, i32)]; 8] = [
        &[(190, 62), (190, 84)],
        &[(190, 124), (190, 144)],
        &[(190, 184), (190, 204)],
        &[(190, 244), (190, 264)],
        &[(190, 304), (190, 324)],
        &[(190, 364), (190, 384)],
        &[(190, 424), (190, 444)],
        &[(190, 484), (190, 504)],
    ];
    let mut nodes = vec![node((190, 40), (330, 40), "bad", &["an attempt fails"])];
    let mut arrows = Vec::new();
    for (row, (question, reason)) in QUESTIONS.iter().take(7).enumerate() {
        let y = 104 + 60 * i32::try_from(row).unwrap_or_default();
        nodes.push(Node { at: (190, y), size: (330, 38), class: "plain", lines: lines(question) });
        nodes.push(Node { at: (570, y), size: (190, 38), class: "wait", lines: lines(reason) });
        arrows.push(arrow(ROWS[row], (412, y - 6), "middle", &["no"]));
    }
    for (row, down) in DOWN.iter().enumerate() {
        let words: &[&str] = if row == 0 { &[] } else { &["yes"] };
        arrows.push(arrow(down, (200, down[0].1 + 15), "start", words));
    }
    nodes.push(node((190, 524), (330, 40), "good", &["wait, then try again"]));
    nodes.push(node((570, 40), (190, 40), "plain", &["the call ends, for"]));
    Picture {
        file: "retry-runtime/src/guide/pictures/decisions.svg",
        title: "The questions after a failed attempt, in their order",
        size: (690, 560),
        nodes,
        arrows,
    }
}

/// A single line, leaked to make it `'static`.
fn lines(text: &'static str) -> &'static [&'static str] {
    Box::leak(Box::new([text]))
}

fn item() -> Picture {
    Picture {
        file: "jobs/retry-workflow/src/guide/pictures/item.svg",
        title: "The life of an item: pending, leased, succeeded, dead or skipped",
        size: (760, 330),
        nodes: vec![
            node((110, 90), (170, 64), "wait", &["pending", "waits for its time"]),
            node((380, 90), (170, 64), "plain", &["leased", "a worker has it"]),
            node((650, 40), (170, 48), "good", &["succeeded"]),
            node((650, 130), (170, 48), "bad", &["dead", "a dead letter"]),
            node((650, 220), (170, 48), "plain", &["skipped"]),
        ],
        arrows: vec![
            arrow(&[(195, 78), (293, 78)], (244, 68), "middle", &["claim"]),
            arrow(
                &[(380, 58), (380, 20), (110, 20), (110, 56)],
                (245, 14),
                "middle",
                &["failed: try again later"],
            ),
            arrow(
                &[(380, 122), (380, 160), (130, 160), (130, 124)],
                (255, 178),
                "middle",
                &["the worker stopped, or died: again"],
            ),
            arrow(&[(465, 78), (563, 44)], (505, 46), "middle", &["done"]),
            arrow(&[(465, 94), (563, 126)], (508, 130), "middle", &["given up"]),
            arrow(&[(440, 122), (500, 220), (563, 220)], (470, 200), "end", &["left out"]),
            arrow(&[(650, 154), (650, 194)], (660, 180), "start", &["purge"]),
            arrow(
                &[(650, 244), (650, 290), (90, 290), (90, 124)],
                (370, 310),
                "middle",
                &["re-drive, of what is dead or skipped: a new run, the history kept"],
            ),
        ],
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

fn svg(picture: &Picture) -> String {
    let (width, height) = picture.size;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" role=\"img\">\n<title>{}</title>\n<style>\n\
         text {{ font: 14px system-ui, sans-serif; fill: #1f2328; text-anchor: middle }}\n\
         .name {{ font-weight: 600 }} .word {{ fill: #59636e; font-size: 13px }}\n\
         rect {{ stroke: #59636e; fill: #f6f8fa }} .good {{ fill: #dafbe1 }} .bad {{ fill: #ffebe9 }} .wait {{ fill: #fff8c5 }}\n\
         polyline {{ fill: none; stroke: #59636e; stroke-width: 1.5 }} marker path {{ fill: #59636e }}\n\
         @media (prefers-color-scheme: dark) {{ text {{ fill: #f0f6fc }} .word {{ fill: #9198a1 }}\n\
         rect {{ stroke: #9198a1; fill: #212830 }} .good {{ fill: #12361d }} .bad {{ fill: #4d1b1b }} .wait {{ fill: #3d2f00 }}\n\
         polyline {{ stroke: #9198a1 }} marker path {{ fill: #9198a1 }} }}\n</style>\n\
         <defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" \
         orient=\"auto\"><path d=\"M0 0 8 4 0 8z\"/></marker></defs>\n",
        escape(picture.title)
    );
    for Arrow { through, words_at, anchor, words } in &picture.arrows {
        let points: Vec<String> = through.iter().map(|(x, y)| format!("{x},{y}")).collect();
        let points = points.join(" ");
        let _ = writeln!(svg, "<polyline points=\"{points}\" marker-end=\"url(#head)\"/>");
        for (line, words) in (0..).zip(*words) {
            let (x, y) = (words_at.0, words_at.1 + 17 * line);
            let words = escape(words);
            let _ = writeln!(
                svg,
                "<text class=\"word\" x=\"{x}\" y=\"{y}\" style=\"text-anchor: {anchor}\">{words}</text>"
            );
        }
    }
    for Node { at: (x, y), size: (width, height), class, lines } in &picture.nodes {
        let (left, top) = (x - width / 2, y - height / 2);
        let _ = writeln!(
            svg,
            "<rect class=\"{class}\" x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" rx=\"6\"/>"
        );
        let count = i32::try_from(lines.len()).unwrap_or(1);
        for (line, text) in (0..).zip(*lines) {
            let (y, text) = (y + 5 + 19 * line - 19 * (count - 1) / 2, escape(text));
            let class = if line == 0 { "name" } else { "word" };
            let _ = writeln!(svg, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{text}</text>");
        }
    }
    svg + "</svg>\n"
}

/// The picture as a data URI, with everything unusual percent-encoded.
fn uri(svg: &str) -> String {
    let mut uri = "data:image/svg+xml,".to_owned();
    for byte in svg.replace('\n', " ").bytes() {
        match byte {
            b'a'..=b'z'
            | b'A'..=b'Z'
            | b'0'..=b'9'
            | b'-'
            | b'.'
            | b'_'
            | b'~'
            | b'/'
            | b':'
            | b'=' => {
                uri.push(char::from(byte));
            }
            byte => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}

fn main() -> io::Result<()> {
    // The folder to write the pictures to: that of a test, or the project's.
    let root = env::args_os()
        .nth(1)
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), PathBuf::from);
    for picture in [breaker(), decisions(), item()] {
        let (file, svg) = (root.join(picture.file), svg(&picture));
        fs::create_dir_all(file.parent().unwrap_or(&root))?;
        fs::write(file.with_extension("uri"), uri(&svg))?;
        fs::write(&file, svg)?;
    }
    Ok(())
}
