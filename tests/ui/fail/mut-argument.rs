//! A change of an argument by value would be left to the next attempt.
use retry_runtime::retry;

#[retry]
async fn text(mut url: String) -> Result<String, String> {
    url.push_str("&v=1");
    Ok(url.clone())
}

#[retry]
fn number(mut id: u32) -> Result<u32, String> {
    id += 1;
    Ok(id)
}

#[retry(clone(name))]
async fn parts((name, mut ids): (String, Vec<u32>), _: u8) -> Result<usize, String> {
    ids.push(1);
    Ok(name.len() + ids.len())
}

#[retry]
async fn reference(mut rest: &[u8]) -> Result<usize, String> {
    rest = &rest[1..];
    Ok(rest.len())
}

#[retry]
async fn exclusive(mut rest: &mut [u8]) -> Result<usize, String> {
    rest = &mut rest[1..];
    Ok(rest.len())
}

#[retry]
#[allow(clippy::toplevel_ref_arg)]
async fn by_reference(ref mut rest: Vec<u8>) -> Result<usize, String> {
    rest.push(1);
    Ok(rest.len())
}

/// Not called by itself.
#[retry]
async fn calls(mut all: Vec<Box<dyn FnMut() -> u8 + Send>>) -> Result<usize, String> {
    all.pop();
    Ok(all.len())
}

const ONCE: u32 = 1;

/// Not a literal.
#[retry(attempts = ONCE)]
async fn constant(mut id: u32) -> Result<u32, String> {
    id += 1;
    Ok(id)
}

fn main() {}

// cured 17: clone(name) => clone(name, ids)
// cured 36: ref mut rest => {0}
// cured 36: #[retry] => #[retry({1})]
