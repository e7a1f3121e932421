//! Values that `map_error` cannot have.
use retry_runtime::{Policy, RetryError, policy, retry, retrying};

#[derive(Debug)]
struct AppError;

#[retry(map_error = "failed")]
async fn a_text() -> Result<u32, String> {
    Ok(1)
}

#[retry(map_error = |error: String| error)]
async fn of_the_wrong_type() -> Result<u32, String> {
    Ok(1)
}

#[retry(map_error = |error, attempts| error)]
async fn of_two_arguments() -> Result<u32, String> {
    Ok(1)
}

#[retry(map_error = |error: RetryError<String>| error.to_string(), on_failure = fallback(|_| 7))]
async fn beside_a_fallback() -> Result<u32, String> {
    Ok(1)
}

#[retry(map_error = |_| ())]
async fn of_an_option() -> Option<u32> {
    None
}

#[retry(map_error = |_| (), retry_on = [ok(|page: &u32| *page == 0)])]
async fn of_a_value() -> u32 {
    0
}

#[retry(map_error = |_| (), retry_on = [ok(|_: &()| true)])]
async fn of_nothing() {}

#[retry(map_err = |error| error)]
async fn by_the_name_of_std() -> Result<u32, String> {
    Ok(1)
}

#[retry(state = Vec::new(), delay_for = |error| None)]
async fn what_there_is_no_option_for() -> Result<u32, String> {
    Ok(1)
}

const SHARED: Policy = policy!(attempts = 3, map_error = |error| error);

type Answer = Result<u32, AppError>;

#[retry(map_error = |_: RetryError<String>| AppError)]
async fn of_an_alias() -> Answer {
    Ok(1)
}

#[retry(map_error = |_: RetryError<String>| 7)]
async fn to_something_else() -> Result<u32, AppError> {
    Ok(1)
}

#[retry(map_error = |_| AppError)]
async fn without_a_type() -> Result<u32, AppError> {
    let number = "7".parse::<u32>()?;
    Ok(number)
}

async fn without_a_type_in_a_block() -> Result<u32, AppError> {
    retrying!(name = "block", map_error = |_| AppError, async || -> Result<u32, AppError> {
        let number = "7".parse::<u32>()?;
        Ok(number)
    })
    .await
}

#[derive(Debug)]
enum Failure {
    Unavailable(std::io::Error),
}

#[retry(map_error = Failure::Unavailable)]
async fn by_a_variant_of_the_last_error() -> Result<String, Failure> {
    Ok(std::fs::read_to_string("page")?)
}

fn unavailable(error: RetryError<std::io::Error>) -> Failure {
    Failure::Unavailable(error.into_error())
}

#[retry(map_error = unavailable)]
fn by_a_function_of_another_error() -> Result<String, Failure> {
    Ok(std::fs::read_to_string("page").map_err(Failure::Unavailable)?)
}

fn main() {}
