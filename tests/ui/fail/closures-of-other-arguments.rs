//! Closures of the wrong arity or type: the caret is at the closure.

use retry_runtime::{Class, retry};

#[derive(Debug)]
pub enum Failure {
    Busy,
    Io(std::io::Error),
}

impl Failure {
    fn is_transient(&self) -> bool {
        matches!(self, Self::Busy | Self::Io(_))
    }
}

#[retry(on_retry = |event, error| ())]
async fn fetch_0() -> Result<u32, Failure> {
    Ok(1)
}

#[retry(on_retry = |event: u32| ())]
async fn fetch_1() -> Result<u32, Failure> {
    Ok(1)
}

#[retry(retry_on = [when(|| true)])]
async fn fetch_2() -> Result<u32, Failure> {
    Ok(1)
}

#[retry(retry_on = [when(|error: &u32| true)])]
async fn fetch_3() -> Result<u32, Failure> {
    Ok(1)
}

#[retry(retry_after = |error, wait, now| None)]
async fn fetch_4() -> Result<u32, Failure> {
    Ok(1)
}

fn class(_: &Failure) -> Class {
    Class::CONFLICT
}

#[retry(classify = class, retry_on = [conflict])]
async fn fetch_5() -> Result<u32, Failure> {
    Ok(1)
}

fn main() {}
