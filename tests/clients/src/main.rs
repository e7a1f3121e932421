//! Writes the page on the standard output.
//!
//! `--json FILE` writes everything that was seen; `--with FILE`, once or more, shows the figures of
//! such a file beside, under its name. The texts go into `corpus/seen.json`.

use std::path::Path;

use retry_clients::report::{Case, Report};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut json = None;
    let mut others = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let file = arguments.next().ok_or("a file is expected")?;
        match argument.as_str() {
            "--json" => json = Some(file),
            "--with" => {
                let name = Path::new(&file).file_stem().unwrap_or_default();
                let report: Report = serde_json::from_str(&std::fs::read_to_string(&file)?)?;
                others.push((name.to_string_lossy().into_owned(), report));
            }
            _ => return Err(format!("`{argument}` is not known: --json FILE, --with FILE").into()),
        }
    }
    let runtime = tokio::runtime::Runtime::new()?;
    let report = runtime.block_on(retry_clients::run());
    print!("{}", retry_clients::page::page(&report, &others));
    if let Some(file) = json {
        std::fs::write(file, serde_json::to_string(&report)?)?;
    }
    if cfg!(feature = "typed") {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
        std::fs::create_dir_all(&corpus)?;
        std::fs::write(corpus.join("seen.json"), seen(&report)?)?;
    }
    Ok(())
}

/// The texts of each failure, a line each.
fn seen(report: &Report) -> Result<String, serde_json::Error> {
    let line = |case: &Case| {
        let texts: Vec<String> = case.texts.iter().map(|text| without_ports(text)).collect();
        serde_json::to_string(&serde_json::json!({
            "client": case.client,
            "version": case.version,
            "failure": case.failure,
            "decision": case.decision,
            "texts": texts,
        }))
    };
    let lines = report.cases.iter().map(line).collect::<Result<Vec<_>, _>>()?;
    Ok(format!("[\n{}\n]\n", lines.join(",\n")))
}

/// Free ports are different ones each time, and say nothing.
fn without_ports(text: &str) -> String {
    let mut parts = text.split_inclusive(':');
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let is_port =
            digits == 5 && (result.ends_with("127.0.0.1:") || result.ends_with("localhost:"));
        result.push_str(if is_port { "4000" } else { &part[..digits] });
        result.push_str(&part[digits..]);
    }
    result
}
