//! Types as tokens: what can be said about a type by its name and its arguments.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Expr, GenericArgument, Pat, PathArguments, PathSegment, Token, Type, TypeParamBound};

use crate::tokens::search::{any_token, is_punct, is_word};

type Bounds = syn::punctuated::Punctuated<TypeParamBound, Token![+]>;

/// `X` of `Future<Output = X>` among bounds.
pub(super) fn future_output(bounds: &Bounds) -> Option<Type> {
    bounds.iter().find_map(|bound| {
        let TypeParamBound::Trait(bound) = bound else { return None };
        let segment = bound.path.segments.last().filter(|segment| segment.ident == "Future")?;
        let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
        arguments.args.iter().find_map(|argument| match argument {
            GenericArgument::AssocType(output) if output.ident == "Output" => {
                Some(output.ty.clone())
            }
            _ => None,
        })
    })
}

/// `X` of `Pin<Box<dyn Future<Output = X>>>`, or of its aliases in the crate `futures`.
pub(super) fn boxed_output(ty: &Type) -> Option<Type> {
    if let Some(output) =
        only_argument(ty, "BoxFuture").or_else(|| only_argument(ty, "LocalBoxFuture"))
    {
        return Some(output.clone());
    }
    match peel_type(only_argument(only_argument(ty, "Pin")?, "Box")?) {
        Type::TraitObject(object) => future_output(&object.bounds),
        _ => None,
    }
}

/// The last segment of a type's path, if it has this name.
pub(crate) fn segment<'a>(ty: &'a Type, name: &str) -> Option<&'a PathSegment> {
    let Type::Path(path) = peel_type(ty) else { return None };
    path.path.segments.last().filter(|segment| segment.ident == name)
}

fn arguments(segment: &PathSegment) -> impl Iterator<Item = &GenericArgument> {
    let arguments = match &segment.arguments {
        PathArguments::AngleBracketed(arguments) => Some(&arguments.args),
        _ => None,
    };
    arguments.into_iter().flatten()
}

/// The types among the arguments of a segment.
pub(crate) fn type_arguments(segment: &PathSegment) -> impl Iterator<Item = &Type> {
    arguments(segment).filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}

fn only_argument<'a>(ty: &'a Type, name: &str) -> Option<&'a Type> {
    let mut types = type_arguments(segment(ty, name)?);
    types.next().filter(|_| types.next().is_none())
}

/// `E` of a declared `Result<T, E>`.
pub(crate) fn error_of(ty: &Type) -> Option<&Type> {
    type_arguments(segment(ty, "Result")?).skip(1).last()
}

/// The tokens that name the error of this return type: the whole type if it is not a `Result`, and
/// nothing for an `Option`.
pub(crate) fn error_tokens(ty: &Type) -> TokenStream {
    if let Some(error) = error_of(ty) {
        return error.to_token_stream();
    }
    match segment(ty, "Result").or_else(|| segment(ty, "Option")) {
        // An alias, such as `io::Result<T>`. A borrow in `T` does not concern the error.
        Some(segment) => arguments(segment)
            .filter(|argument| matches!(argument, GenericArgument::Lifetime(_)))
            .map(ToTokens::to_token_stream)
            .collect(),
        None => ty.to_token_stream(),
    }
}

/// Returns whether a type borrows, judging by its tokens: it contains a lifetime other than
/// `'static`, or a reference without one.
pub(crate) fn borrows(ty: TokenStream) -> bool {
    any_token(ty, &|tokens, at| {
        let (this, next) = (tokens.get(at), tokens.get(at + 1));
        is_punct(this, '&') && !is_punct(next, '\'')
            || is_punct(this, '\'') && !is_word(next, "static")
    })
}

/// Returns whether a type in a method may refer to a parameter of the impl, judging by its tokens:
/// `Box<Failure>`, `Service::Error`. `Box<dyn …>` and `io::Error` do not.
pub(crate) fn may_name_parameter(ty: TokenStream) -> bool {
    any_token(ty, &|tokens, at| match &tokens[at] {
        TokenTree::Punct(punct) if punct.as_char() == '<' => !is_word(tokens.get(at + 1), "dyn"),
        TokenTree::Ident(ident) => {
            let in_path = is_punct(tokens.get(at + 1), ':') && is_punct(tokens.get(at + 2), ':');
            in_path && ident.to_string().starts_with(char::is_uppercase)
        }
        _ => false,
    })
}

/// `Result<T, E>` for a declared `Result<T, RetryError<E>>`: the type as which the body is checked.
pub(crate) fn inside_retry_error(ty: &Type) -> Option<Type> {
    with_error(ty, only_argument(error_of(ty)?, "RetryError")?)
}

/// The error `E` of an attempt, if a closure says it: `|error: RetryError<E>| …`.
pub(crate) fn mapped_error(map: &Expr) -> Option<&Type> {
    let Expr::Closure(closure) = map else { return None };
    match closure.inputs.first() {
        Some(Pat::Type(error)) => only_argument(&error.ty, "RetryError"),
        _ => None,
    }
}

/// `Result<T, error>` for a declared `Result<T, F>`, or for one that is left to the compiler.
pub(crate) fn with_error(ty: &Type, error: &Type) -> Option<Type> {
    let value = match peel_type(ty) {
        value @ Type::Infer(_) => value,
        ty => type_arguments(segment(ty, "Result")?).next()?,
    };
    Some(syn::parse_quote!(::core::result::Result<#value, #error>))
}

/// The type without surrounding parentheses and invisible groups.
pub(crate) fn peel_type(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => peel_type(&group.elem),
        Type::Paren(paren) => peel_type(&paren.elem),
        other => other,
    }
}

/// Replaces each `impl Trait` in the type with `_`, so that it can be written in a `let`.
pub(crate) fn erase_impl_trait(ty: &mut Type) {
    match ty {
        Type::ImplTrait(_) => *ty = Type::Verbatim(quote!(_)),
        Type::Group(group) => erase_impl_trait(&mut group.elem),
        Type::Paren(paren) => erase_impl_trait(&mut paren.elem),
        Type::Reference(reference) => erase_impl_trait(&mut reference.elem),
        Type::Array(array) => erase_impl_trait(&mut array.elem),
        Type::Slice(slice) => erase_impl_trait(&mut slice.elem),
        Type::Tuple(tuple) => tuple.elems.iter_mut().for_each(erase_impl_trait),
        Type::Path(path) => {
            for segment in &mut path.path.segments {
                let PathArguments::AngleBracketed(arguments) = &mut segment.arguments else {
                    continue;
                };
                for argument in &mut arguments.args {
                    if let GenericArgument::Type(ty) = argument {
                        erase_impl_trait(ty);
                    }
                }
            }
        }
        _ => {}
    }
}

/// Returns whether the type is a `&T`, judging by its tokens.
pub(crate) fn is_shared_reference(ty: &Type) -> bool {
    matches!(peel_type(ty), Type::Reference(reference) if reference.mutability.is_none())
}

/// Returns whether the type is a `&mut T`, judging by its tokens.
pub(crate) fn is_mut_reference(ty: &Type) -> bool {
    matches!(peel_type(ty), Type::Reference(reference) if reference.mutability.is_some())
}

/// Returns whether using a value of this type does not move it, judging by its tokens: a reference,
/// or a primitive type.
pub(crate) fn is_copied(ty: &Type) -> bool {
    const PRIMITIVE: [&str; 16] = [
        "bool", "char", "f32", "f64", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16",
        "u32", "u64", "u128", "usize",
    ];
    match peel_type(ty) {
        Type::Reference(_) => true,
        Type::Path(path) => {
            path.path.get_ident().is_some_and(|name| PRIMITIVE.iter().any(|word| name == word))
        }
        _ => false,
    }
}
