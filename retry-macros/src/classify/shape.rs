//! The type with its variants, and what decides about each of them.

use quote::ToTokens as _;
use syn::{Attribute, Fields, Generics, Ident, Item, Member, Meta, Path, Type};

use super::words::{Decider, WHAT_TO_WRITE, Words};
use crate::tokens::errors::Errors;
use crate::tokens::grammar;

/// The type.
pub(super) struct Shape {
    pub(super) name: Ident,
    pub(super) generics: Generics,
    /// The name of this library, if it was renamed.
    pub(super) krate: Option<Path>,
    /// Its variants; one without a name if it is a struct.
    pub(super) variants: Vec<Variant>,
}

pub(super) struct Variant {
    pub(super) name: Option<Ident>,
    pub(super) decides: Decides,
}

/// The source of a variant's class and wait.
#[expect(clippy::large_enum_variant, reason = "there are as many as variants, for a moment")]
pub(super) enum Decides {
    /// These kinds; none of them if no retry helps.
    Kinds { kinds: Vec<Ident>, wait: Option<Field> },
    /// The text.
    Text,
    /// The class of a field.
    Field(Field),
    /// The HTTP status in the field.
    Status { status: Field, wait: Option<Field> },
    /// A function of the whole error.
    Function { path: Path, wait: Option<Field> },
}

#[derive(Clone)]
pub(super) struct Field {
    pub(super) member: Member,
    pub(super) ty: Type,
}

impl Shape {
    /// Reads a type; `None` if it can have no implementation.
    pub(super) fn read(item: Item, errors: &mut Errors) -> Option<Self> {
        let (name, generics, attributes, bodies) = match item {
            Item::Enum(item) => {
                let bodies = item
                    .variants
                    .into_iter()
                    .map(|variant| (Some(variant.ident), variant.attrs, variant.fields))
                    .collect();
                (item.ident, item.generics, item.attrs, bodies)
            }
            Item::Struct(item) => {
                let bodies = vec![(None, item.attrs.clone(), item.fields)];
                (item.ident, item.generics, item.attrs, bodies)
            }
            other => {
                errors.at(other, "`Classify` is derived for an `enum` or a `struct`");
                return None;
            }
        };
        let is_struct = matches!(&bodies[..], [(None, ..)]);
        let mut default = Words::read(&attributes, true, errors);
        check_together(&default, errors);
        if !is_struct {
            for word in default.take_fields() {
                errors.at(&word, format!("`{word}` is about a field: write it above a variant"));
            }
        }
        let krate = default.krate.clone();
        let type_name = name.clone();
        let variants = bodies
            .into_iter()
            .map(|(name, attributes, fields): (Option<Ident>, Vec<Attribute>, Fields)| {
                let body = Body::read(&attributes, fields);
                let decides = match &name {
                    None => body.decides(&default, None, &type_name, errors),
                    Some(name) => {
                        let own = Words::read(&attributes, false, errors);
                        check_together(&own, errors);
                        body.decides(&own, Some(&default), name, errors)
                    }
                };
                Variant { name, decides }
            })
            .collect();
        Some(Self { name, generics, krate, variants })
    }
}

/// The fields of a variant, and thiserror's attributes on them.
struct Body {
    fields: Vec<Field>,
    /// The field with `#[from]` or `#[source]`, or by that name.
    source: Option<usize>,
    /// `#[error(transparent)]`.
    transparent: bool,
}

impl Body {
    fn read(attributes: &[Attribute], fields: Fields) -> Self {
        let transparent = attributes.iter().any(|attribute| {
            attribute.path().is_ident("error")
                && matches!(&attribute.meta, Meta::List(list) if list.tokens.to_string() == "transparent")
        });
        let is_source = |field: &syn::Field| {
            let is_marked =
                |word| field.attrs.iter().any(|attribute| attribute.path().is_ident(word));
            is_marked("from")
                || is_marked("source")
                || field.ident.as_ref().is_some_and(|name| name == "source")
        };
        let source = fields.iter().position(is_source);
        let fields = fields
            .into_iter()
            .enumerate()
            .map(|(index, field)| Field {
                member: match field.ident {
                    Some(name) => Member::Named(name),
                    None => Member::from(index),
                },
                ty: field.ty,
            })
            .collect();
        Self { fields, source, transparent }
    }

    fn decides(
        &self,
        words: &Words,
        default: Option<&Words>,
        place: &Ident,
        errors: &mut Errors,
    ) -> Decides {
        let wait = words.retry_after.as_ref().and_then(|(_, member)| self.field(member, errors));
        let nothing = Decides::Kinds { kinds: Vec::new(), wait: None };
        match words.deciders.first() {
            Some((_, Decider::With(path))) => {
                return Decides::Function { path: path.clone(), wait };
            }
            Some((_, Decider::Status(member))) => {
                let status = self.field(member, errors);
                return status.map_or(nothing, |status| Decides::Status { status, wait });
            }
            Some((word, Decider::Transparent(member))) => {
                let field = match member {
                    Some(member) => self.field(member, errors),
                    None => self.inner(word, errors),
                };
                return field.map_or(nothing, Decides::Field);
            }
            Some((_, Decider::Text)) => return Decides::Text,
            None if words.classes.is_empty() => {}
            Some((_, Decider::Never)) | None => {
                return Decides::Kinds { kinds: words.classes.clone(), wait };
            }
        }
        if let Some((word, _)) = &words.retry_after {
            errors.at(
                word,
                "a wait says when to retry, and not what failed: write the kind as well, as in \
                 `#[classify(rate_limit, retry_after = …)]`",
            );
            return nothing;
        }
        if let Some(field) =
            self.source.or((self.transparent && !self.fields.is_empty()).then_some(0))
        {
            return Decides::Field(self.fields[field].clone());
        }
        match default {
            Some(default) if !(default.classes.is_empty() && default.deciders.is_empty()) => {
                self.decides(default, None, place, errors)
            }
            _ => {
                let misread = words.misread || default.is_some_and(|default| default.misread);
                if !misread {
                    let what = if default.is_some() { "variant" } else { "struct" };
                    errors.at(
                        place,
                        format!(
                            "nothing says what kind of failure this {what} is: {WHAT_TO_WRITE}"
                        ),
                    );
                }
                nothing
            }
        }
    }

    /// The field that `transparent` means.
    fn inner(&self, word: &Ident, errors: &mut Errors) -> Option<Field> {
        match (self.source, &self.fields[..]) {
            (Some(source), _) => Some(self.fields[source].clone()),
            (None, [field]) => Some(field.clone()),
            (None, fields) => {
                let first = fields.first().map(|field| field.member.to_token_stream());
                errors.at(
                    word,
                    match first {
                        None => {
                            "there is no field that could decide: write the kind of failure, as in \
                             `#[classify(server_error)]`, or `never`"
                                .to_owned()
                        }
                        Some(first) => format!(
                            "several fields could decide: name one, as in `transparent = {first}`"
                        ),
                    },
                );
                None
            }
        }
    }

    /// The field with this name or position.
    fn field(&self, member: &Member, errors: &mut Errors) -> Option<Field> {
        let found = self.fields.iter().find(|field| field.member == *member);
        if found.is_none() {
            let known: Vec<_> = self.fields.iter().map(|field| text_of(&field.member)).collect();
            let known: Vec<_> = known.iter().map(String::as_str).collect();
            errors.at(member, grammar::unknown("field", &text_of(member), &known));
        }
        found.cloned()
    }
}

fn text_of(member: &Member) -> String {
    member.to_token_stream().to_string()
}

/// Reports words that contradict each other.
fn check_together(words: &Words, errors: &mut Errors) {
    if let [(first, _), (second, _), ..] = &words.deciders[..] {
        errors.at(second, format!("`{first}` decides already: keep one of the two"));
    } else if let ([(decider, _)], Some(class)) = (&words.deciders[..], words.classes.first()) {
        errors.at(decider, format!("`{class}` decides already: keep one of the two"));
    }
    let conflict = words.classes.iter().find(|class| *class == "conflict");
    let other = words.classes.iter().find(|class| *class != "conflict");
    if let (Some(conflict), Some(other)) = (conflict, other) {
        errors.at(
            conflict,
            format!("a conflict is not also a `{other}`: it means that a working server let one transaction lose; keep one of the two"),
        );
    }
    if let Some((word, _)) = &words.retry_after {
        let goes = |of: &Decider| matches!(of, Decider::Status(_) | Decider::With(_));
        if let Some((decider, _)) = words.deciders.iter().find(|(_, of)| !goes(of)) {
            errors.at(
                word,
                format!("`retry_after` does not go with `{decider}`: it stands beside a kind, a `status` or `with`"),
            );
        }
    }
}

/// Returns whether the type is one of the type's own parameters, and nothing more.
pub(super) fn is_parameter(ty: &Type, generics: &Generics) -> bool {
    let path = match ty {
        Type::Path(path) => path,
        // The group in which a macro by example passes a type.
        Type::Group(group) => return is_parameter(&group.elem, generics),
        _ => return false,
    };
    path.qself.is_none()
        && generics.type_params().any(|parameter| path.path.is_ident(&parameter.ident))
}
