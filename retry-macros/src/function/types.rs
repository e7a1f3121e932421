//! Types as tokens: what can be said about a type by its name and its arguments.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Expr, GenericArgument, Pat, Path, PathArguments, Token, Type, TypeParamBound};

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

fn only_argument<'a>(ty: &'a Type, name: &str) -> Option<&'a Type> {
    let Type::Path(path) = peel_type(ty) else { return None };
    let segment = path.path.segments.last().filter(|segment| segment.ident == name)?;
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    let mut types = arguments.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    types.next().filter(|_| types.next().is_none())
}

/// `E` of a declared `Result<T, E>`.
pub(crate) fn error_of(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = peel_type(ty) else { return None };
    let segment = path.path.segments.last().filter(|segment| segment.ident == "Result")?;
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    let types = arguments.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    types.skip(1).last()
}

/// The tokens that name the error of this return type: the whole type if it is not a `Result`, and
/// nothing for an `Option`.
pub(crate) fn error_tokens(ty: &Type) -> TokenStream {
    if let Some(error) = error_of(ty) {
        return error.to_token_stream();
    }
    let segment = match peel_type(ty) {
        Type::Path(path) => path.path.segments.last(),
        _ => None,
    };
    let Some(segment) =
        segment.filter(|segment| segment.ident == "Result" || segment.ident == "Option")
    else {
        return ty.to_token_stream();
    };
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else {
        return TokenStream::new();
    };
    // An alias, such as `io::Result<T>`. A borrow in `T` does not concern the error.
    let lifetimes =
        arguments.args.iter().filter(|argument| matches!(argument, GenericArgument::Lifetime(_)));
    lifetimes.map(ToTokens::to_token_stream).collect()
}

/// Returns whether a type borrows, judging by its tokens: it contains a lifetime other than
/// `'static`, or a reference without one.
pub(crate) fn borrows(ty: TokenStream) -> bool {
    let tokens: Vec<TokenTree> = ty.into_iter().collect();
    let is_quote = |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == '\'');
    let is_static =
        |at: usize| matches!(tokens.get(at), Some(TokenTree::Ident(ident)) if ident == "static");
    (0..tokens.len()).any(|at| match &tokens[at] {
        TokenTree::Punct(punct) if punct.as_char() == '&' => !is_quote(at + 1),
        TokenTree::Punct(_) => is_quote(at) && !is_static(at + 1),
        TokenTree::Group(group) => borrows(group.stream()),
        _ => false,
    })
}

/// Returns whether a type in a method may refer to a parameter of the impl, judging by its tokens:
/// `Box<Failure>`, `Service::Error`. `Box<dyn …>` and `io::Error` do not.
pub(crate) fn may_name_parameter(ty: TokenStream) -> bool {
    let tokens: Vec<TokenTree> = ty.into_iter().collect();
    let is_punct = |at: usize, char: char| matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == char);
    let is_dyn =
        |at: usize| matches!(tokens.get(at), Some(TokenTree::Ident(ident)) if ident == "dyn");
    (0..tokens.len()).any(|at| match &tokens[at] {
        TokenTree::Punct(punct) if punct.as_char() == '<' => !is_dyn(at + 1),
        TokenTree::Ident(ident) if is_punct(at + 1, ':') && is_punct(at + 2, ':') => {
            ident.to_string().starts_with(char::is_uppercase)
        }
        _ => false,
    })
}

/// `Result<T, E>` for a declared `Result<T, RetryError<E>>`: the type as which the body is checked.
pub(crate) fn inside_retry_error(ty: &Type) -> Option<Type> {
    let error = only_argument(error_of(ty)?, "RetryError")?;
    let Type::Path(path) = peel_type(ty) else { return None };
    let mut path = path.clone();
    let PathArguments::AngleBracketed(arguments) = &mut path.path.segments.last_mut()?.arguments
    else {
        return None;
    };
    let mut types = arguments.args.iter_mut().filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    *types.nth(1)? = error.clone();
    Some(Type::Path(path))
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
        Type::Infer(value) => value.to_token_stream(),
        Type::Path(path) => {
            let segment = path.path.segments.last().filter(|segment| segment.ident == "Result")?;
            let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
            let mut types = arguments.args.iter().filter_map(|argument| match argument {
                GenericArgument::Type(ty) => Some(ty.to_token_stream()),
                _ => None,
            });
            types.next()?
        }
        _ => return None,
    };
    Some(Type::Verbatim(quote!(::core::result::Result<#value, #error>)))
}

/// Returns whether the type is a `Result`, or an alias of that name, judging by its tokens.
pub(crate) fn is_result(ty: &Type) -> bool {
    match peel_type(ty) {
        Type::Path(path) => {
            path.path.segments.last().is_some_and(|segment| segment.ident == "Result")
        }
        _ => false,
    }
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
        Type::Path(path) => erase_in_path(&mut path.path),
        _ => {}
    }
}

fn erase_in_path(path: &mut Path) {
    for segment in &mut path.segments {
        if let PathArguments::AngleBracketed(arguments) = &mut segment.arguments {
            for argument in &mut arguments.args {
                if let GenericArgument::Type(ty) = argument {
                    erase_impl_trait(ty);
                }
            }
        }
    }
}

/// Returns whether the type is a `&T`, judging by its tokens.
pub(crate) fn is_shared_reference(ty: &Type) -> bool {
    match ty {
        Type::Reference(reference) => reference.mutability.is_none(),
        Type::Group(group) => is_shared_reference(&group.elem),
        Type::Paren(paren) => is_shared_reference(&paren.elem),
        _ => false,
    }
}

/// Returns whether the type is a `&mut T`, judging by its tokens.
pub(crate) fn is_mut_reference(ty: &Type) -> bool {
    match ty {
        Type::Reference(reference) => reference.mutability.is_some(),
        Type::Group(group) => is_mut_reference(&group.elem),
        Type::Paren(paren) => is_mut_reference(&paren.elem),
        _ => false,
    }
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

/// Returns whether a type may borrow: it contains a reference or a lifetime other than `'static`.
pub(crate) fn may_borrow(ty: &Type) -> bool {
    fn any(tokens: TokenStream) -> bool {
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            let next = tokens.peek();
            let is_static = matches!(next, Some(TokenTree::Ident(name)) if name == "static");
            // For `&'a`, the lifetime decides.
            let is_lifetime =
                matches!(next, Some(TokenTree::Punct(next)) if next.as_char() == '\'');
            match token {
                TokenTree::Punct(punct) if punct.as_char() == '\'' && !is_static => return true,
                TokenTree::Punct(punct) if punct.as_char() == '&' && !is_lifetime => return true,
                TokenTree::Group(group) if any(group.stream()) => return true,
                _ => {}
            }
        }
        false
    }
    any(ty.to_token_stream())
}
