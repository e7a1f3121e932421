//! The options of a function that are not part of its policy: a row for each.

use retry_rules::Field;

use super::Args;
use super::values::{self, Reading};

/// An option of the function, and how to parse it.
pub(crate) struct FunctionOption {
    pub(crate) name: &'static str,
    /// An example of what follows `name =`.
    pub(super) example: &'static str,
    pub(super) read: Read,
    /// The field under which the rules know it.
    pub(super) field: Option<Field>,
    /// Set if `policy!` accepts it too.
    pub(super) in_policy: bool,
}

/// Reads the value of an option into its place.
type Read = fn(&mut Args, &mut Reading<'_>) -> syn::Result<()>;

/// An option whose value is one field of [`Args`].
macro_rules! field {
    ($field:ident = $read:expr, $name:literal, $example:literal) => {
        option($name, $example, |args, option| {
            args.$field = $read(option)?.into();
            Ok(())
        })
    };
}

/// The options of a function that are not part of its policy, in the order in which they are
/// listed.
pub(crate) static FUNCTION: [FunctionOption; 25] = [
    field!(retry_on = values::matchers, "retry_on", "[transient]").about(Field::RetryOn),
    field!(abort_on = values::matchers, "abort_on", "[matches(DbError::Corrupt)]")
        .about(Field::RetryOn),
    field!(uncounted = values::kinds, "uncounted", "[rate_limit]").about(Field::Uncounted),
    field!(classify = Reading::function, "classify", "kind_of").about(Field::RetryOn),
    field!(retry_after = Reading::function, "retry_after", "|_| Some(Duration::from_secs(5))")
        .about(Field::RetryAfter),
    field!(
        wait_by = Reading::function,
        "wait_by",
        "|attempt, error, wait| std::ops::ControlFlow::Continue(2 * wait)"
    )
    .about(Field::WaitBy),
    field!(breaker = values::breaker, "breaker", "DB"),
    field!(breaker_on = values::matchers, "breaker_on", "[server_error, timeout]"),
    option("when_open", "wait", values::when_open),
    field!(quota = values::quota, "quota", "OUTBOUND").about(Field::Quota),
    field!(cancel = Reading::expr, "cancel", "shutdown.cancelled()").about(Field::Cancel),
    field!(on_failure = values::on_failure, "on_failure", "fallback(f)"),
    field!(map_error = Reading::expr, "map_error", "|error: RetryError<DbError>| error.into()"),
    field!(on_retry = Reading::function, "on_retry", "|event| eprintln!(\"{event}\")")
        .about(Field::OnRetry),
    field!(history = values::history, "history", "5"),
    field!(log = values::log, "log", "info"),
    field!(log_retries = values::log, "log_retries", "warn"),
    option("policy", "HTTP", values::policy).in_policy(),
    field!(name = values::name, "name", "\"billing.fetch\""),
    field!(clone = values::argument_names, "clone", "(body, headers)"),
    field!(carry = values::argument_names, "carry", "(rest)"),
    field!(context = values::context, "context", "cx"),
    field!(nested_once = values::nested_once, "nested", "once"),
    field!(docs = values::docs, "docs", "false"),
    field!(krate = values::krate, "crate", "path").in_policy(),
];

/// Creates a row of the table.
const fn option(name: &'static str, example: &'static str, read: Read) -> FunctionOption {
    FunctionOption { name, example, read, field: None, in_policy: false }
}

impl FunctionOption {
    const fn about(mut self, field: Field) -> Self {
        self.field = Some(field);
        self
    }

    const fn in_policy(mut self) -> Self {
        self.in_policy = true;
        self
    }
}
