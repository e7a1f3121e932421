//! A row of the table of rules, and the macro that declares the table.

use super::field::Field;
use super::messages::{Number, Part};

/// A rule in the table.
pub(super) struct Row {
    pub(super) fields: &'static [Field],
    pub(super) parts: &'static [Part],
    pub(super) numbers: &'static [Number],
}

/// Declares the table of rules:
///
/// ```text
/// rule Name of [the fields that it reads, the one to blame first]
///     message [in parts]
///     shows [the numbers behind it]           // may be left out
///     when the expression that is true where the rule is broken;
/// ```
///
/// The parts of a message, which each style spells in its own way:
///
/// | part | in the attribute |
/// | --- | --- |
/// | `"words"` | words |
/// | `(max_delay)` | `` `max_delay` `` |
/// | `(max_delay = "1s")` | `` `max_delay = "1s"` `` |
/// | `(max_delay or "30s")` | `` `max_delay` (30s unless set) ``, or with the value that is set |
/// | `(default attempts 3)` | 3 |
/// | `(calls 1)` | `` `attempts = 1` `` |
macro_rules! rules {
    ($(
        $(#[$docs:meta])*
        $section:ident: fn $broken:ident($subject:ident: &$Subject:ty $(, $written:ident: Fields)?) {
            $(
                rule $Rule:ident of [$($field:ident)+]
                    message [$($part:tt)+]
                    $(shows [$($number:ident)+])?
                    when $test:expr;
            )+
        }
    )+) => {
        /// A rule that settings can break.
        ///
        /// Its `Display` is the message in the words of the attribute: what is wrong, and
        /// what to write instead.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Rule {
            $($(
                #[doc = concat!($( attribute!($part) ),+, ".")]
                $Rule,
            )+)+
        }

        impl Rule {
            /// All rules, in the order in which they are reported.
            pub const ALL: &'static [Self] = &[$($( Self::$Rule, )+)+];

            /// The messages as worded for the attribute, for `const` panics. Apart, so that a program
            /// that words no message in another style does not contain the rows.
            pub(super) const MESSAGES: &'static [&'static str] =
                &[$($( concat!($( attribute!($part) ),+), )+)+];

            pub(super) const ROWS: &'static [Row] = &[$($(
                Row {
                    fields: &[$( field::$section::$field, )+],
                    parts: &[$( part!($section $part), )+],
                    numbers: &[$($( number!($section $number), )+)?],
                },
            )+)+];
        }

        impl Rules {
            $(
                $(#[$docs])*
                pub const fn $broken($subject: &$Subject $(, $written: Fields)?) -> Self {
                    let mut broken = Self::NONE;
                    $(
                        if $test {
                            broken = broken.with(Rule::$Rule);
                        }
                    )+
                    broken
                }
            )+
        }
    };
}

/// A part of a message as worded for the attribute: a literal.
macro_rules! attribute {
    ((default $name:ident $default:literal)) => { stringify!($default) };
    ((calls $calls:literal)) => { concat!("`attempts = ", $calls, "`") };
    (($name:ident)) => { concat!("`", stringify!($name), "`") };
    (($name:ident or $default:literal)) => {
        concat!("`", stringify!($name), "` (", $default, " unless set)")
    };
    (($name:ident = $($value:tt)+)) => {
        concat!("`", stringify!($name), " = ", stringify!($($value)+), "`")
    };
    ($words:literal) => { $words };
}

/// The same part as data, for the other styles.
macro_rules! part {
    ($section:ident (default $name:ident $default:literal)) => {
        Part::Default(field::$section::$name, stringify!($default))
    };
    ($section:ident (calls $calls:literal)) => { Part::Calls($calls) };
    ($section:ident ($name:ident)) => { Part::Name(field::$section::$name) };
    ($section:ident ($name:ident or $default:literal)) => {
        Part::NameOrValue(field::$section::$name, concat!($default))
    };
    ($section:ident ($name:ident = $($value:tt)+)) => {
        Part::Setting(field::$section::$name, stringify!($($value)+))
    };
    ($section:ident $words:literal) => { Part::Words($words) };
}

macro_rules! number {
    ($section:ident first_wait) => {
        Number::FirstWait
    };
    ($section:ident $name:ident) => {
        Number::Of(field::$section::$name)
    };
}

pub(super) use {attribute, number, part, rules};
