//! `#[classifies]`: a function that returns the class of an error type of another crate.

use proc_macro2::TokenStream;
use quote::ToTokens as _;
use syn::{FnArg, ItemFn, Path, Type};

use super::expand::library;
use crate::tokens::errors::Errors;
use crate::tokens::hygiene::{SpanRange, quote};

const FORM: &str = "write `fn name(error: &TheirError) -> Option<Class>`";

/// The function as it was, and its entry in the list of rules.
pub(crate) fn classifies(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::new();
    let krate = match krate(args) {
        Ok(krate) => krate,
        Err(error) => {
            errors.push(error);
            None
        }
    };
    let function: ItemFn = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(_) => {
            errors.at(&item, format!("`#[classifies]` belongs on a function: {FORM}"));
            let mut tokens = item;
            tokens.extend(errors.into_tokens());
            return tokens;
        }
    };
    let argument = argument(&function, &mut errors);
    let mut tokens = function.to_token_stream();
    if let (Some(error), true) = (argument, errors.is_empty()) {
        tokens.extend(registered(&function, &error, krate.as_ref()));
    }
    tokens.extend(errors.into_tokens());
    tokens
}

fn krate(args: TokenStream) -> syn::Result<Option<Path>> {
    if args.is_empty() {
        return Ok(None);
    }
    let wrong = syn::Error::new_spanned(
        &args,
        "`#[classifies]` takes nothing but `crate = path`, where this library was renamed",
    );
    let parse = |input: syn::parse::ParseStream| {
        input.parse::<syn::Token![crate]>()?;
        input.parse::<syn::Token![=]>()?;
        input.call(Path::parse_mod_style)
    };
    syn::parse::Parser::parse2(parse, args).map(Some).map_err(|_| wrong)
}

/// The type of the error that the function is about.
fn argument(function: &ItemFn, errors: &mut Errors) -> Option<Type> {
    let signature = &function.sig;
    let is_plain = signature.asyncness.is_none() && signature.generics.params.is_empty();
    let mut arguments = signature.inputs.iter();
    if let (true, Some(FnArg::Typed(argument)), None) =
        (is_plain, arguments.next(), arguments.next())
    {
        match &*argument.ty {
            Type::Reference(reference) if reference.mutability.is_none() => {
                return Some((*reference.elem).clone());
            }
            _ => {}
        }
    }
    errors.at(
        signature,
        format!("a rule is a plain function that borrows an error of one type: {FORM}"),
    );
    None
}

fn registered(function: &ItemFn, error: &Type, krate: Option<&Path>) -> TokenStream {
    let library = library(krate);
    let private = quote!(#library::__private);
    let name = &function.sig.ident;
    let refused = SpanRange::of(name).locate(quote!(::core::compile_error! {
        "no linker gathers the rules of a program for a browser: remove `#[classifies]` and call \
         `retry_runtime::classify::register` with this function when the program starts"
    }));
    let attributes = function.attrs.iter().filter(|attribute| attribute.path().is_ident("cfg"));
    quote! {
        #(#attributes)*
        const _: () = {
            #private::in_browsers! { #refused }
            #private::linked! {
                RETRY_CLASSIFIERS_0_1,
                static __RETRY_CLASSIFIER: #private::registered::Rule =
                    #private::registered::Rule::new(
                        |link| #private::registered::apply::<#error>(link, #name),
                    );
            }
        };
    }
}
