//! The options of a function that are not part of its policy: a row for each.

use retry_rules::Field;
use syn::{Expr, Path};

use super::values::{self, Reading};
use super::{Args, PolicyBase};
use crate::options::{Inside, Opt};
use crate::tokens::grammar::at_next;
use crate::tokens::text::token_text;
use crate::value::runtime::ValueKind;

/// An option of the function, and how to parse it.
pub(crate) struct FunctionOption {
    pub(super) read: fn(&mut Args, &mut Reading<'_>) -> syn::Result<()>,
    /// The field under which the rules know it.
    pub(super) field: Option<Field>,
    /// Set if `policy!` accepts it too.
    pub(super) in_policy: bool,
    pub(crate) inside: Inside,
}

/// The options of a function that are not part of its policy, in the order in which they are
/// listed.
pub(crate) static FUNCTION: [Opt<FunctionOption>; 22] = [
    option("retry_on", "[transient]", |args, option| {
        args.retry_on = Some(values::matchers(option)?);
        Ok(())
    })
    .about(Field::RetryOn)
    .completed(Inside::List),
    option("abort_on", "[matches(DbError::Corrupt)]", |args, option| {
        args.abort_on = Some(values::matchers(option)?);
        Ok(())
    })
    .about(Field::RetryOn)
    .completed(Inside::List),
    option("classify", "kind_of", |args, option| {
        args.classify = Some(option.expr()?);
        Ok(())
    })
    .about(Field::RetryOn),
    option("retry_after", "|error| error.retry_after()", |args, option| {
        let expr = option.expr()?;
        if matches!(&expr, Expr::Lit(_)) {
            return Err(syn::Error::new_spanned(
                expr,
                "`retry_after` takes a function of the error, `Fn(&E) -> Option<Duration>`: write \
                 `retry_after = |error| error.wait()`; the header `Retry-After` is read without it if \
                 the error is a `StatusError` (`http::check`)",
            ));
        }
        let sees_wait = matches!(&expr, Expr::Closure(closure) if closure.inputs.len() == 2);
        *(if sees_wait { &mut args.adjust_wait } else { &mut args.retry_after }) = Some(expr);
        Ok(())
    })
    .about(Field::RetryAfter),
    option("breaker", "DB", |args, option| {
        args.breaker = Some(values::breaker(option)?);
        Ok(())
    })
    .completed(Inside::Settings),
    option("breaker_on", "[server_error, timeout]", |args, option| {
        args.breaker_on = Some(values::matchers(option)?);
        Ok(())
    })
    .completed(Inside::List),
    option("when_open", "wait", |args, option| {
        option.equals()?;
        args.waits_for_breaker = values::when_open(option.input)?;
        if args.waits_for_breaker {
            args.fields = args.fields.with(Field::WhenOpen);
        }
        Ok(())
    })
    .completed(Inside::Word),
    option("quota", "OUTBOUND", |args, option| {
        args.quota = Some(values::quota(option)?);
        Ok(())
    })
    .about(Field::Quota),
    option("cancel", "shutdown.cancelled()", |args, option| {
        args.cancel = Some(option.expr()?);
        Ok(())
    })
    .about(Field::Cancel),
    option("on_failure", "fallback(f)", |args, option| {
        option.equals()?;
        args.on_failure = values::on_failure(option.name, option.input)?;
        Ok(())
    })
    .completed(Inside::Word),
    option("map_error", "|error: RetryError<DbError>| error.into()", |args, option| {
        args.map_error = Some(values::map_error(option.expr()?)?);
        Ok(())
    }),
    option("on_retry", "|event| log(event)", |args, option| {
        let expr = option.expr()?;
        if matches!(&expr, Expr::Macro(_) | Expr::Block(_)) {
            let message = format!(
                "`on_retry` takes a function, which is called before each wait: write `on_retry = \
                 |event| {}`",
                token_text(&expr)
            );
            return Err(syn::Error::new_spanned(expr, message));
        }
        args.on_retry = Some(expr);
        Ok(())
    })
    .about(Field::OnRetry),
    option("history", "5", |args, option| {
        args.history = Some(values::history(option)?);
        Ok(())
    }),
    option("log", "info", |args, option| {
        option.equals()?;
        args.log = Some(values::log(option.input)?);
        Ok(())
    })
    .completed(Inside::Word),
    option("policy", "HTTP", |args, option| {
        let expr = option.expr()?;
        if matches!(&expr, Expr::Lit(_)) {
            return Err(syn::Error::new_spanned(
                expr,
                "`policy` takes a policy, not its name: write `const HTTP: Policy = policy!(attempts = 5, \
                 jitter);` and `policy = HTTP`",
            ));
        }
        args.policy.base = Some(match option.scope.runtime(&expr).cloned() {
            Some(inside) => PolicyBase::Runtime(option.scope.evaluate(ValueKind::Policy, inside)),
            None => {
                option.scope.check_constant(&expr)?;
                PolicyBase::Constant(expr)
            }
        });
        Ok(())
    })
    .in_policy(),
    option("name", "\"billing.fetch\"", |args, option| {
        let name = option.expr()?;
        if option.scope.runtime(&name).is_some() {
            return Err(syn::Error::new_spanned(
                name,
                "`name` belongs to the function and is the same for all its calls: write a literal \
                 or a constant, such as `name = \"billing.fetch\"`",
            ));
        }
        args.name = Some(name);
        Ok(())
    }),
    option("clone", "(body, headers)", |args, option| {
        args.clone = values::argument_names(option, "the arguments that the body consumes or changes")?;
        Ok(())
    }),
    option("carry", "(rest)", |args, option| {
        let meaning = "the `mut` arguments that the next attempt goes on with";
        args.carry = values::argument_names(option, meaning)?;
        Ok(())
    }),
    option("context", "cx", |args, option| {
        option.equals()?;
        args.context = Some(option.input.parse().map_err(|_| {
            at_next(option.input, "`context` takes the name to bind: write `context = cx`")
        })?);
        Ok(())
    }),
    option("nested", "once", |args, option| {
        option.equals()?;
        args.nested_once = values::nested_once(option.input)?;
        Ok(())
    })
    .completed(Inside::Word),
    option("docs", "false", |args, option| {
        option.equals()?;
        args.docs = Some(values::docs(option.input)?);
        Ok(())
    }),
    option("crate", "path", |args, option| {
        option.equals()?;
        args.krate = Some(Path::parse_mod_style(option.input).map_err(|_| {
            at_next(
                option.input,
                "`crate` takes the path of this library: write `crate = my_name_for_it`",
            )
        })?);
        Ok(())
    })
    .in_policy()
    .completed(Inside::Library),
];

/// Creates a row of the table.
const fn option(
    name: &'static str,
    example: &'static str,
    read: fn(&mut Args, &mut Reading<'_>) -> syn::Result<()>,
) -> Opt<FunctionOption> {
    let option = FunctionOption { read, field: None, in_policy: false, inside: Inside::Nothing };
    Opt::new(name, option, example)
}

impl Opt<FunctionOption> {
    const fn about(mut self, field: Field) -> Self {
        self.kind.field = Some(field);
        self
    }

    const fn in_policy(mut self) -> Self {
        self.kind.in_policy = true;
        self
    }

    const fn completed(mut self, inside: Inside) -> Self {
        self.kind.inside = inside;
        self
    }
}
