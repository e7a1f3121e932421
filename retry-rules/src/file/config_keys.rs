//! The keys of a configuration whose builder methods have the same names.

mod number;

pub(super) use self::number::{Count, Number};

/// Returns the value if it differs from the default: only such settings are written to files.
pub(super) fn non_default<T: PartialEq + Copy>(value: T, default: T) -> Option<T> {
    (value != default).then_some(value)
}

/// Declares the keys of a configuration, each with its field, and further keys without one.
macro_rules! config_keys {
    (
        $(#[$docs:meta])*
        struct $Keys:ident of $Config:ident { $( $key:ident: $Key:ty => $Field:ident, )* }
        beside { $( $other:ident: $Other:ty, )* }
    ) => {
        $(#[$docs])*
        #[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
        #[serde(default, deny_unknown_fields)]
        struct $Keys {
            $(
                #[serde(skip_serializing_if = "Option::is_none")]
                $key: Option<$Key>,
            )*
            $(
                #[serde(skip_serializing_if = "Option::is_none")]
                $other: Option<$Other>,
            )*
        }

        impl $Keys {
            /// Returns the configuration, unchecked, and the fields that were written.
            fn config(&self) -> ($Config, Fields) {
                let (mut config, mut written) = ($Config::new(), Fields::NONE);
                $(
                    if let Some(key) = self.$key {
                        config = config.$key(key.into());
                        written = written.with(Field::$Field);
                    }
                )*
                (config, written)
            }
        }
    };
}

pub(super) use config_keys;
