//! The program to compile: modules of 50 functions, each of which makes one call with a client, and
//! all of which are called.

use std::fmt::Write as _;

use super::style::Style;
use crate::scratch::Crate;

/// The number of functions in a module.
const FUNCTIONS: usize = 50;
const ARGUMENTS: [&str; 5] = ["id", "order", "customer", "account", "page"];

const LIBRARY: &str = "
#[derive(Debug)]
pub struct Error(u64);

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, \"refused: {}\", self.0)
    }
}

impl std::error::Error for Error {}

pub struct Client(u64);

impl Client {
    pub async fn get(&self, id: u64) -> Result<u64, Error> {
        tokio::task::yield_now().await;
        if id == self.0 { Err(Error(id)) } else { Ok(id) }
    }
}
";

/// Writes this many functions in this style, in place of those of an earlier call.
pub(in crate::parts) fn write(program: &Crate, style: &Style, functions: usize) {
    let mut library = String::new();
    for number in 0..functions / FUNCTIONS {
        program.write(&format!("src/m_{number}.rs"), &module(style, number));
        let _ = writeln!(library, "pub mod m_{number};");
    }
    library.push_str(LIBRARY);
    library.push_str(style.once);
    program.write("src/lib.rs", &library);
}

fn module(style: &Style, number: usize) -> String {
    let mut text = format!("use crate::{{Client, Error}};\n{}\n", style.imports);
    let functions = (0..FUNCTIONS).map(|function| number * FUNCTIONS + function);
    for number in functions.clone() {
        text.push_str(&function(style, number));
    }
    text.push_str(&caller(functions));
    text
}

fn function(style: &Style, number: usize) -> String {
    let argument = ARGUMENTS[number % ARGUMENTS.len()];
    let body = style.body.replace("ARGUMENT", argument);
    format!(
        "
{}
pub async fn f_{number}(client: &Client, {argument}: u64) -> Result<u64, Error> {{
    {body}
}}
",
        style.attribute
    )
}

/// The compiler generates no code for async functions that are never polled.
fn caller(functions: impl Iterator<Item = usize>) -> String {
    let calls: Vec<String> = functions
        .map(|number| format!("        Box::pin(f_{number}(client, {number})),"))
        .collect();
    let calls = calls.join("\n");
    format!(
        "
type Call<'a> = std::pin::Pin<Box<dyn Future<Output = Result<u64, Error>> + Send + 'a>>;

pub fn calls(client: &Client) -> Vec<Call<'_>> {{
    vec![
{calls}
    ]
}}
"
    )
}
