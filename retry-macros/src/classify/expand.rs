//! The implementation of `Classify`, and the entry in the list of types that are found inside other
//! errors.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::spanned::Spanned as _;
use syn::{Ident, parse_quote};

use super::shape::{Decides, Field, Shape, Variant, is_parameter};
use crate::expand::class_of;
use crate::tokens::hygiene::{SpanRange, quote};

pub(super) fn expand(shape: &Shape) -> TokenStream {
    let library = match &shape.krate {
        Some(path) => path.to_token_stream(),
        None => quote!(::retry_runtime),
    };
    let private = quote!(#library::__private);
    let name = &shape.name;

    let mut generics = shape.generics.clone();
    for variant in &shape.variants {
        let Decides::Field(Field { ty, .. }) = &variant.decides else { continue };
        if is_parameter(ty, &shape.generics) {
            let bound = parse_quote!(#ty: #library::Classify);
            generics.make_where_clause().predicates.push(bound);
        }
    }
    let (parameters, arguments, bounds) = generics.split_for_impl();

    let arms = |of: &dyn Fn(&Variant, &TokenStream) -> (TokenStream, TokenStream)| {
        let arms = shape.variants.iter().map(|variant| {
            let path = match &variant.name {
                Some(variant) => quote!(Self::#variant),
                None => quote!(Self),
            };
            let (fields, value) = of(variant, &private);
            quote!(#path { #fields .. } => #value,)
        });
        quote!(#(#arms)*)
    };
    let is_static = shape.generics.params.is_empty();
    let reads_rules = shape.variants.iter().any(|one| matches!(one.decides, Decides::Field(_)));
    let import = (is_static && reads_rules).then(|| quote!(use #private::registered::NoRule as _;));
    let (class, wait) = if shape.variants.is_empty() {
        (quote!(match *self {}), quote!(match *self {}))
    } else {
        let classes = arms(&|variant, private| class(variant, private, is_static));
        let waits = arms(&wait);
        (quote!(match self { #classes }), quote!(match self { #waits }))
    };
    // Only a field's own type knows more than a wait, and a text may state one.
    let reads_text = shape.variants.iter().any(|one| matches!(one.decides, Decides::Text));
    let hint = (reads_rules || reads_text).then(|| {
        let hints = arms(&hint);
        quote! {
            fn __hint(&self, class: #private::Class) -> ::core::option::Option<#private::Hint> {
                match self { #hints }
            }
        }
    });
    let source = is_static.then(|| {
        quote! {
            fn __source(&self) -> ::core::option::Option<&(dyn ::core::error::Error + 'static)> {
                use #private::registered::NoSource as _;
                #private::registered::SourceOf(self).__source()
            }
        }
    });
    // Several variants may say the same.
    let allowed = quote!(#[allow(clippy::all, clippy::pedantic, clippy::nursery, deprecated, unused_qualifications)]);
    let registered = is_static.then(|| {
        quote! {
            const _: () = {
                use #private::registered::NotAnError as _;
                #private::linked! {
                    RETRY_CLASSIFIERS_0_1,
                    static __RETRY_CLASSIFIER: #private::registered::Rule =
                        #private::registered::Probe::<#name>::RULE;
                }
            };
        }
    });
    quote! {
        #[automatically_derived]
        #allowed
        impl #parameters #library::Classify for #name #arguments #bounds {
            fn class(&self) -> #library::Class {
                #import
                #class
            }

            fn retry_after(&self) -> ::core::option::Option<::core::time::Duration> {
                #wait
            }

            #hint
            #source
        }
        #registered
    }
}

/// The fields that an arm of `class` needs, and its value. If the type borrows nothing, rules
/// about a field's type apply too.
fn class(variant: &Variant, private: &TokenStream, is_static: bool) -> (TokenStream, TokenStream) {
    let none = TokenStream::new();
    match &variant.decides {
        Decides::Kinds { kinds, .. } => {
            let kinds = class_of(kinds, private);
            (none, quote!(#private::registered::class_of(#kinds)))
        }
        Decides::Text => (none, quote!(#private::registered::text(self))),
        Decides::Field(field) => {
            let (bound, name) = bind(field);
            let probed = probe(field, &name, private);
            if is_static {
                let rule = quote!(#private::registered::FieldOf(#name).__rule());
                return (bound, quote!(#rule.unwrap_or_else(|| #probed.classifier.class())));
            }
            (bound, quote!(#probed.classifier.class()))
        }
        Decides::Status { status, .. } => {
            let (bound, name) = bind(status);
            (bound, quote!(#private::registered::status(#name)))
        }
        Decides::Function { path, .. } => {
            let judged = SpanRange::of(path).call(path.to_token_stream(), quote!(self));
            (none, quote!(#private::registered::class_of(#judged)))
        }
    }
}

/// The fields that an arm of `retry_after` needs, and its value.
fn wait(variant: &Variant, private: &TokenStream) -> (TokenStream, TokenStream) {
    match &variant.decides {
        Decides::Field(field) => {
            let (bound, name) = bind(field);
            let probed = probe(field, &name, private);
            let hint = quote!(#probed.classifier.hint(#private::Class::empty()));
            (bound, quote!(#hint.and_then(#private::Hint::wait)))
        }
        Decides::Kinds { wait: Some(wait), .. }
        | Decides::Status { wait: Some(wait), .. }
        | Decides::Function { wait: Some(wait), .. } => {
            let (bound, name) = bind(wait);
            (bound, quote!(#private::registered::wait_of(#name)))
        }
        _ => (TokenStream::new(), quote!(::core::option::Option::None)),
    }
}

/// The fields that an arm of `__hint` needs, and its value.
fn hint(variant: &Variant, private: &TokenStream) -> (TokenStream, TokenStream) {
    match &variant.decides {
        Decides::Field(field) => {
            let (bound, name) = bind(field);
            let probed = probe(field, &name, private);
            (bound, quote!(#probed.classifier.hint(class)))
        }
        Decides::Text => {
            (TokenStream::new(), quote!(#private::registered::hint_in_text(self, class)))
        }
        _ => {
            let (bound, wait) = wait(variant, private);
            (bound, quote!(#wait.map(#private::Hint::Wait)))
        }
    }
}

/// The pattern that binds a field, and the variable.
fn bind(field: &Field) -> (TokenStream, Ident) {
    let member = &field.member;
    // The span of the type, because a wrong type is reported at the argument of a call.
    let name = Ident::new("field", field.ty.span().resolved_at(Span::mixed_site()));
    (quote!(#member: #name,), name)
}

/// Writes the probe of a field's type; an error about the type is reported at the type.
fn probe(field: &Field, name: &Ident, private: &TokenStream) -> TokenStream {
    let method = Ident::new("__probe", field.ty.span().resolved_at(Span::mixed_site()));
    quote!({
        use #private::probe::Rung as _;
        #private::probe::strict(#name).#method()
    })
}
