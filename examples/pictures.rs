//! Draws the pictures of the guide: `cargo run -p retry-examples --example pictures`. Each is an
//! SVG for light and dark pages, accompanied by the same picture as a URI, with which rustdoc shows
//! it. A page may be dark in a light system, so each picture brings its own ground. A test of the
//! examples fails if a picture is out of date.

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
        size: (460, 290),
        nodes: vec![
            node((86, 80), (150, 64), "good", &["closed", "calls go through"]),
            node((374, 80), (150, 64), "bad", &["open", "calls are rejected"]),
            node((230, 240), (150, 64), "wait", &["half-open", "a few probes"]),
        ],
        arrows: vec![
            arrow(
                &[(161, 70), (297, 70)],
                (230, 26),
                "middle",
                &["failures in a row,", "or their rate"],
            ),
            arrow(
                &[(374, 112), (374, 240), (307, 240)],
                (366, 170),
                "end",
                &["the open time", "has passed"],
            ),
            arrow(
                &[(155, 240), (86, 240), (86, 114)],
                (94, 170),
                "start",
                &["enough probes", "succeed"],
            ),
            arrow(&[(230, 208), (230, 130), (297, 94)], (222, 128), "end", &["a probe fails"]),
        ],
    }
}

fn decisions() -> Picture {
    const QUESTIONS: [(&str, &str); 8] = [
        ("Is the failure retryable?", "not_retryable"),
        ("Are there attempts left?", "attempts"),
        ("Does the server's wait fit?", "retry_after"),
        ("Does the budget cover it?", "budget"),
        ("Does it end in time?", "deadline, max_elapsed"),
        ("Does the quota have tokens?", "quota"),
        ("Does the breaker admit it?", "circuit_open"),
        ("", ""),
    ];
    const ROWS: [&[(i32, i32)]; 7] = [
        &[(270, 104), (304, 104)],
        &[(270, 164), (304, 164)],
        &[(270, 224), (304, 224)],
        &[(270, 284), (304, 284)],
        &[(270, 344), (304, 344)],
        &[(270, 404), (304, 404)],
        &[(270, 464), (304, 464)],
    ];
    const DOWN: [&[(i32, i32)]; 8] = [
        &[(138, 62), (138, 84)],
        &[(138, 124), (138, 144)],
        &[(138, 184), (138, 204)],
        &[(138, 244), (138, 264)],
        &[(138, 304), (138, 324)],
        &[(138, 364), (138, 384)],
        &[(138, 424), (138, 444)],
        &[(138, 484), (138, 504)],
    ];
    let mut nodes = vec![node((138, 40), (262, 40), "bad", &["an attempt fails"])];
    let mut arrows = Vec::new();
    for (row, (question, reason)) in QUESTIONS.iter().take(7).enumerate() {
        let y = 104 + 60 * i32::try_from(row).unwrap_or_default();
        nodes.push(Node { at: (138, y), size: (262, 38), class: "plain", lines: lines(question) });
        nodes.push(Node { at: (395, y), size: (184, 38), class: "wait", lines: lines(reason) });
        arrows.push(arrow(ROWS[row], (286, y - 6), "middle", &["no"]));
    }
    for (row, down) in DOWN.iter().enumerate() {
        let words: &[&str] = if row == 0 { &[] } else { &["yes"] };
        arrows.push(arrow(down, (148, down[0].1 + 15), "start", words));
    }
    nodes.push(node((138, 524), (262, 40), "good", &["wait, then try again"]));
    nodes.push(node((395, 40), (184, 40), "plain", &["the call ends with"]));
    Picture {
        file: "retry-runtime/src/guide/pictures/decisions.svg",
        title: "The questions after a failed attempt, in their order",
        size: (494, 560),
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
        size: (475, 380),
        nodes: vec![
            node((95, 90), (140, 64), "wait", &["pending", "waits for its time"]),
            node((345, 90), (150, 64), "plain", &["leased", "a worker has it"]),
            node((70, 290), (110, 52), "plain", &["skipped"]),
            node((245, 290), (120, 52), "bad", &["dead", "a dead letter"]),
            node((405, 290), (120, 52), "good", &["succeeded"]),
        ],
        arrows: vec![
            arrow(&[(165, 78), (268, 78)], (217, 68), "middle", &["claim"]),
            arrow(
                &[(345, 58), (345, 34), (95, 34), (95, 56)],
                (220, 24),
                "middle",
                &["failed: try again later"],
            ),
            arrow(
                &[(300, 122), (300, 160), (120, 160), (120, 124)],
                (210, 178),
                "middle",
                &["the worker stopped or died"],
            ),
            arrow(&[(405, 122), (405, 262)], (397, 200), "end", &["done"]),
            arrow(
                &[(345, 122), (345, 240), (245, 240), (245, 262)],
                (295, 234),
                "middle",
                &["given up"],
            ),
            arrow(
                &[(320, 122), (320, 212), (70, 212), (70, 262)],
                (195, 206),
                "middle",
                &["left out"],
            ),
            arrow(&[(185, 290), (127, 290)], (155, 282), "middle", &["purge"]),
            arrow(
                &[(70, 316), (70, 346), (10, 346), (10, 90), (23, 90)],
                (235, 368),
                "middle",
                &["re-drive: a new run, the history kept"],
            ),
            arrow(&[(245, 316), (245, 346), (10, 346), (10, 90), (23, 90)], (0, 0), "start", &[]),
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
         .paper {{ stroke: none; fill: #ffffff }}\n\
         polyline {{ fill: none; stroke: #59636e; stroke-width: 1.5 }} marker path {{ fill: #59636e }}\n\
         @media (prefers-color-scheme: dark) {{ text {{ fill: #f0f6fc }} .word {{ fill: #a6aeb8 }}\n\
         rect {{ stroke: #9198a1; fill: #212830 }} .good {{ fill: #12361d }} .bad {{ fill: #4d1b1b }} .wait {{ fill: #3d2f00 }}\n\
         .paper {{ stroke: none; fill: #0d1117 }}\n\
         polyline {{ stroke: #9198a1 }} marker path {{ fill: #9198a1 }} }}\n</style>\n\
         <defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" \
         orient=\"auto\"><path d=\"M0 0 8 4 0 8z\"/></marker></defs>\n\
         <rect class=\"paper\" width=\"{width}\" height=\"{height}\" rx=\"6\"/>\n",
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
