//! Arguments by value. All attempts share them, so what one attempt changes would silently be left
//! to the next one: an argument that is `mut` has to be in `clone(…)` or in `carry(…)`.

use proc_macro2::{Delimiter, TokenTree};
use quote::ToTokens as _;
use retry_rules::Field;
use syn::punctuated::Punctuated;
use syn::{
    FnArg, Generics, Ident, LitInt, Pat, Receiver, ReceiverKind, Token, Type, TypeParamBound,
    WherePredicate,
};

use crate::args::Args;
use crate::function::{self, Form, Function, moved, types};
use crate::tokens::errors::Errors;
use crate::tokens::grammar;
use crate::tokens::search::{any_token, is_word, mentions};

/// A name that an argument binds.
pub(super) struct Binding<'a> {
    pub(super) name: Ident,
    /// Set if it is declared `mut` or `ref mut`.
    pub(super) is_mut: bool,
    /// Set if it is declared `ref` or `ref mut`.
    pub(super) by_ref: bool,
    /// Set if it is the whole argument, not a part that a pattern binds.
    is_whole: bool,
    /// The type of the argument.
    pub(super) ty: &'a Type,
}

impl Binding<'_> {
    /// Returns whether it contains a `dyn` type, which cannot be cloned.
    fn is_dyn(&self) -> bool {
        mentions(self.ty.to_token_stream(), &|word| word == "dyn")
    }

    /// Returns whether it is a `&mut T` itself.
    fn is_mut_reference(&self) -> bool {
        self.is_whole && types::is_mut_reference(self.ty)
    }

    /// Returns whether an attempt may change a value that only the attempts of the call share.
    fn may_change(&self, generics: &Generics) -> bool {
        // `&mut (ref mut a, _)` refers to the caller's value.
        let refers = self.by_ref && types::is_mut_reference(self.ty);
        self.is_mut && !refers && !is_called(self.ty, generics) && !is_pin(self.ty)
    }

    /// Returns whether a field may be moved, unlike one behind an `Arc`, which is a mistake of its
    /// own.
    pub(super) fn owns_its_fields(&self) -> bool {
        self.is_whole && !["Arc", "Rc"].iter().any(|name| types::segment(self.ty, name).is_some())
    }
}

/// The names that the arguments bind, in their order.
pub(super) fn bindings(function: &Function) -> Vec<Binding<'_>> {
    let moved = moved_arguments(function);
    let mut found: Vec<Binding<'_>> = Vec::new();
    for input in &function.sig.inputs {
        let FnArg::Typed(argument) = input else { continue };
        let moved = moved.iter().find(|(name, _)| is_named(&argument.pat, name));
        let mut pattern =
            moved.map_or_else(|| (*argument.pat).clone(), |(_, pattern)| pattern.clone());
        let is_whole = matches!(pattern, Pat::Ident(_));
        function::for_each_binding(&mut pattern, &mut |bound| {
            // The cases of a pattern bind the same names.
            if found.iter().all(|before| before.name != bound.ident) {
                found.push(Binding {
                    name: bound.ident.clone(),
                    is_mut: bound.mutability.is_some(),
                    by_ref: bound.by_ref.is_some(),
                    is_whole,
                    ty: &argument.ty,
                });
            }
        });
    }
    found
}

/// The arguments that `#[async_trait]` moves into the body.
fn moved_arguments(function: &Function) -> Vec<(Ident, Pat)> {
    match function.form() {
        Ok(Form::Boxed(boxed)) => moved::arguments(&boxed.once),
        _ => Vec::new(),
    }
}

fn is_named(pattern: &Pat, name: &Ident) -> bool {
    matches!(pattern, Pat::Ident(bound) if bound.ident == *name)
}

/// Checks `clone` and `carry` against the arguments, and reports each argument that an attempt may
/// change and neither names.
pub(super) fn check(args: &Args, function: &Function, errors: &mut Errors) {
    let bindings = bindings(function);
    cloned(args, &bindings, errors);
    carried(args, &bindings, errors);
    if !are_shared(args, &bindings) {
        return;
    }
    let named = || args.clone.iter().chain(&args.carry);
    if let Some(receiver) = function.sig.receiver().filter(|receiver| changes(receiver, function)) {
        errors.at(
            receiver,
            "an attempt that changes `self` would leave it changed for the next one: take \
             `&self`, and clone in the body what an attempt changes, or `&mut self` if the next one \
             is to go on with the changes",
        );
    }
    for receiver in function.sig.inputs.iter().filter(|input| function::is_mut_self(input)) {
        if args.hedges() {
            errors.at(
                receiver,
                "attempts of `hedge` run at once, so that none of them has `&mut self`: take `&self`",
            );
        }
    }
    for binding in &bindings {
        let is_named = named().any(|name| binding.name == *name);
        let is_shared_mut = args.hedges() && binding.is_mut_reference();
        if is_shared_mut || !is_named && binding.may_change(&function.sig.generics) {
            shared(binding, args.hedges(), errors);
        }
        if !is_named
            && is_bound(binding.ty, &function.sig.generics, &["FnOnce", "AsyncFnOnce"])
            && !is_bound(binding.ty, &function.sig.generics, &["Copy"])
            && calls(function, &binding.name)
        {
            called_once(binding, errors);
        }
    }
}

/// Returns whether the body calls the variable, and not one that it binds to the same name.
fn calls(function: &Function, name: &Ident) -> bool {
    !function::consumed::binds(function.body.stream(), &name.to_string())
        && any_token(function.body.stream(), &|tokens, at| {
            is_word(tokens.get(at), &name.to_string())
                && matches!(tokens.get(at + 1), Some(TokenTree::Group(arguments))
                if arguments.delimiter() == Delimiter::Parenthesis)
        })
}

/// Reports a value that only one attempt can call.
fn called_once(binding: &Binding<'_>, errors: &mut Errors) {
    let name = &binding.name;
    let clone = if binding.is_dyn() {
        String::new()
    } else {
        format!(", or `clone({name})` and `Clone` among its bounds")
    };
    errors.at(
        name,
        format_args!(
            "`{name}` can be called only once, but each attempt calls it: write `Fn` or `FnMut` in \
             place of `FnOnce`{clone}"
        ),
    );
}

/// Reports a name that an attempt may change for the next one.
fn shared(binding: &Binding<'_>, is_hedged: bool, errors: &mut Errors) {
    let name = &binding.name;
    let each = "and each attempt begins with the caller's value";
    let clone = if binding.is_dyn() {
        "take a reference, or create it in the body".to_owned()
    } else if binding.by_ref {
        format!("write `mut {name}` and `clone({name})`, {each}")
    } else if binding.is_mut_reference() && is_hedged {
        "take a shared reference".to_owned()
    } else if binding.is_mut_reference() {
        format!("begin the body with `let mut {name} = &mut *{name};`, {each}")
    } else {
        format!("write `clone({name})`, {each}")
    };
    let message = if is_hedged {
        format!(
            "attempts of `hedge` run at once and share `{name}`, so that none of them may change it: \
             {clone}"
        )
    } else {
        format!(
            "an attempt that changes `{name}` would leave it changed for the next one: {clone}, or \
             `carry({name})` if the next one is to go on with what is left"
        )
    };
    errors.at(name, message);
}

/// Reports names in `clone` that are no arguments, or cannot be consumed.
fn cloned(args: &Args, bindings: &[Binding<'_>], errors: &mut Errors) {
    let of_self = "`self` cannot be cloned here: take `&self`, and clone what the body consumes";
    for name in &args.clone {
        let Some(binding) = binding_of(name, bindings, of_self, errors) else { continue };
        if binding.by_ref {
            let mutability = if binding.is_mut { "mut " } else { "" };
            errors.at(
                name,
                format_args!(
                    "`{name}` refers to an argument, which the body cannot consume: write \
                     `{mutability}{name}` in the pattern, without `ref`"
                ),
            );
        } else if binding.is_whole && types::is_shared_reference(binding.ty) && !binding.is_mut {
            errors.at(
                name,
                format_args!(
                    "`{name}` is a reference, which the body cannot consume: remove it from \
                     `clone(…)`"
                ),
            );
        }
    }
}

/// Reports names in `carry` that are no arguments, or of which an attempt leaves nothing to the
/// next one.
fn carried(args: &Args, bindings: &[Binding<'_>], errors: &mut Errors) {
    let of_self = "`self` cannot be carried: take `&mut self`, and the next attempt goes on with \
                   what this one has changed";
    for name in &args.carry {
        let Some(binding) = binding_of(name, bindings, of_self, errors) else { continue };
        let message = if args.hedges() {
            format!(
                "attempts of `hedge` run at once, so that none of them goes on with what another \
                 one has left of `{name}`: write `clone({name})`"
            )
        } else if args.clone.contains(name) {
            format!(
                "`clone({name})` gives each attempt the caller's value, and `carry({name})` what \
                 the one before has left of it: keep one of them"
            )
        } else if binding.is_mut {
            continue;
        } else if binding.is_mut_reference() {
            format!(
                "`{name}` refers to a value of the caller, where changes stay without `carry`: \
                 remove it from `carry(…)`"
            )
        } else {
            format!(
                "`{name}` is not declared `mut`, so that no attempt changes it: write `mut \
                 {name}`, or remove it from `carry(…)`"
            )
        };
        errors.at(name, message);
    }
}

/// Returns the binding of a name in `clone` or `carry`. Reports a name that is not an argument,
/// with the message `of_self` about `self`.
fn binding_of<'a>(
    name: &Ident,
    bindings: &'a [Binding<'_>],
    of_self: &str,
    errors: &mut Errors,
) -> Option<&'a Binding<'a>> {
    let found = bindings.iter().find(|binding| binding.name == *name);
    if found.is_none() {
        let known: Vec<String> = bindings.iter().map(|binding| binding.name.to_string()).collect();
        let message = if name == "self" || name == "__self" {
            of_self.to_owned()
        } else {
            let known: Vec<_> = known.iter().map(String::as_str).collect();
            grammar::unknown("argument", &name.to_string(), &known)
        };
        errors.at(name, message);
    }
    found
}

/// Returns whether several attempts share the arguments that `clone` and `carry` do not name. A
/// misspelt name in these was meant for one of the arguments.
pub(super) fn are_shared(args: &Args, bindings: &[Binding<'_>]) -> bool {
    let is_known = |name: &Ident| bindings.iter().any(|binding| binding.name == *name);
    !makes_one_attempt(args) && args.clone.iter().chain(&args.carry).all(is_known)
}

/// Returns whether `attempts = 1` is written and no hedge may join that attempt.
fn makes_one_attempt(args: &Args) -> bool {
    let attempts = args.policy.settings.entry(Field::Attempts);
    let literal = attempts.and_then(|entry| syn::parse2(entry.value.tokens.clone()).ok());
    let is_one = |literal: LitInt| matches!(literal.base10_parse(), Ok(1_u32));
    !args.hedges() && literal.is_some_and(is_one)
}

/// Returns whether this is `mut self`, by value.
fn changes(receiver: &Receiver, function: &Function) -> bool {
    match &receiver.kind {
        ReceiverKind::Value => {}
        ReceiverKind::Typed(_, ty) if !is_pin(ty) => {}
        _ => return false,
    }
    let is_moved = |(name, pattern): &(Ident, Pat)| {
        name == "self" && matches!(pattern, Pat::Ident(bound) if bound.mutability.is_some())
    };
    receiver.mutability.is_some() || moved_arguments(function).iter().any(is_moved)
}

/// Returns whether the type is a `Pin`: it is `mut` because `pinned.as_mut()` needs that.
fn is_pin(ty: &Type) -> bool {
    types::segment(ty, "Pin").is_some()
}

/// Returns whether the type is one that is called, judging by its tokens: `impl FnMut()`, `Box<dyn
/// FnMut()>`, or `F` where `F: FnMut()`. It is `mut` because a call needs that.
fn is_called(ty: &Type, generics: &Generics) -> bool {
    is_bound(ty, generics, &["FnMut", "AsyncFnMut", "Fn", "AsyncFn"])
}

/// Returns whether the type is declared to implement one of these traits.
fn is_bound(ty: &Type, generics: &Generics, traits: &[&str]) -> bool {
    match types::peel_type(ty) {
        Type::ImplTrait(imp) => any_of(&imp.bounds, traits),
        Type::TraitObject(object) => any_of(&object.bounds, traits),
        Type::Path(path) => match types::segment(ty, "Box") {
            Some(boxed) => types::type_arguments(boxed).any(|ty| is_bound(ty, generics, traits)),
            None => path.path.get_ident().is_some_and(|name| has_bound(name, generics, traits)),
        },
        _ => false,
    }
}

/// Returns whether the bounds of a type parameter contain one of these traits.
fn has_bound(name: &Ident, generics: &Generics, traits: &[&str]) -> bool {
    let mut declared = generics.type_params().filter(|parameter| parameter.ident == *name);
    let mut required = generics.where_clause.iter().flat_map(|clause| &clause.predicates);
    declared.any(|parameter| any_of(&parameter.bounds, traits))
        || required.any(|predicate| match predicate {
            WherePredicate::Type(bound) => {
                let bounded = types::peel_type(&bound.bounded_ty);
                matches!(bounded, Type::Path(path) if path.path.is_ident(name))
                    && any_of(&bound.bounds, traits)
            }
            _ => false,
        })
}

/// Returns whether one of the bounds is one of these traits.
fn any_of(bounds: &Punctuated<TypeParamBound, Token![+]>, traits: &[&str]) -> bool {
    bounds.iter().any(|bound| {
        let TypeParamBound::Trait(bound) = bound else { return false };
        let last = bound.path.segments.last();
        last.is_some_and(|last| traits.iter().any(|name| last.ident == name))
    })
}
