//! [`RetryConfig`]: a policy from a file, with its matchers.

use core::fmt;
use std::sync::{Arc, LazyLock};

use retry_rules::file::{self, Draft, InvalidKeys, Keys};
use retry_rules::matchers::{Covered, covered, never_retried};
use retry_rules::suggest::shortened;
use retry_rules::{Field, Fields, Policy, Rules, Style};
use serde::de::value::{SeqAccessDeserializer, SeqDeserializer};
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::call::runtime::policy_source;
use crate::classify::Class;
use crate::classify::matchers::Matcher;

/// The retry settings in a file: a policy in the command style, with the keys `retry_on`, `abort_on`
/// and `uncounted`.
///
/// ```
/// use retry_runtime::RetryConfig;
///
/// let json = r#"{
///     "attempts": 5, "backoff": "exponential", "jitter": true, "retry_budget": "5m",
///     "retry_on": ["network", { "pattern": "(?i)database is locked" }]
/// }"#;
/// let config: RetryConfig = serde_json::from_str(json).unwrap();
/// assert_eq!(config.retry_on.unwrap().len(), 2);
/// ```
///
/// `policy = self.config.http` in the attribute takes it, or a reference, an `Arc` or a guard of
/// it, and obeys the lists; a `retry_on` or `uncounted` in the attribute takes the place of the
/// file's, and the `abort_on` of both always counts. In a [`Retrier`](crate::Retrier) it is
/// [`from_config`](crate::Retrier::from_config).
///
/// ```
/// use retry_runtime::{RetryConfig, retry};
///
/// #[retry(policy = config)]
/// fn load(config: &RetryConfig, calls: &mut u32) -> Result<(), String> {
///     *calls += 1;
///     Err("no such table".to_owned())
/// }
///
/// let config: RetryConfig = serde_json::from_str(r#"{ "retry_on": ["network"] }"#).unwrap();
/// let mut calls = 0;
/// assert!(load(&config, &mut calls).is_err());
/// assert_eq!(calls, 1);
/// ```
///
/// An error that reveals nothing about itself could match no list, so it does not compile:
///
/// ```compile_fail,E0277
/// # use retry_runtime::{RetryConfig, retry};
/// struct Mute;
///
/// #[retry(policy = config)]
/// fn load(config: &RetryConfig) -> Result<(), Mute> {
///     Err(Mute)
/// }
/// ```
///
/// Unknown keys are errors, and the policy has to obey the same rules as in the attribute:
///
/// ```
/// # use retry_runtime::RetryConfig;
/// let error = serde_json::from_str::<RetryConfig>(r#"{ "attempts": 0 }"#).unwrap_err();
/// assert!(error.to_string().contains("at least 1"));
/// ```
///
/// # Profiles
/// One file can have the settings of several environments. `[profiles.prod]` has the sections and
/// keys that differ from the defaults. A key of a profile replaces the default as a whole, because
/// a `backoff` that is merged from two curves would be neither:
///
/// ```
/// use retry_runtime::RetryConfig;
/// use serde::Deserialize;
/// use std::error::Error;
/// use toml::{Table, Value};
///
/// #[derive(Deserialize)]
/// #[serde(deny_unknown_fields)]
/// struct Settings {
///     upstream: String,
///     http: RetryConfig,
/// }
///
/// fn settings(file: &str, profile: &str) -> Result<Settings, Box<dyn Error>> {
///     let mut settings: Table = file.parse()?;
///     let mut profiles: Table = settings.remove("profiles").unwrap_or(Table::new().into()).try_into()?;
///     let chosen: Table = profiles.remove(profile).ok_or(format!("no profile `{profile}`"))?.try_into()?;
///     for (key, value) in chosen {
///         match (settings.get_mut(&key), value) {
///             (Some(Value::Table(section)), Value::Table(keys)) => section.extend(keys),
///             (_, value) => drop(settings.insert(key, value)),
///         }
///     }
///     Ok(settings.try_into()?)
/// }
///
/// let file = r#"
///     upstream = "http://127.0.0.1:9090"
///
///     [http]
///     attempts = 3
///     backoff = { exponential = { base = 2.0 } }
///     retry_on = ["transient"]
///
///     [profiles.dev]
///
///     [profiles.prod]
///     upstream = "https://rates.example"
///     http = { attempts = 6, backoff = { linear = { increment = "1s" } }, deadline = "30s" }
/// "#;
/// let prod = settings(file, "prod")?;
/// assert_eq!(prod.upstream, "https://rates.example");
/// assert_eq!(prod.http.bare_policy.get_attempts().to_string(), "6");
/// assert_eq!(prod.http.retry_on.unwrap().len(), 1);
///
/// let dev = settings(file, "dev")?;
/// assert_eq!(dev.http.bare_policy.get_attempts().to_string(), "3");
/// assert!(settings(file, "porduction").is_err());
/// # Ok::<(), Box<dyn Error>>(())
/// ```
///
/// A mistake is found when its profile is read, so let a test read each of them.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RetryConfig {
    /// The attempts, the waits and the limits, without the lists: a function that receives this
    /// alone does not have them.
    pub bare_policy: Policy,
    /// The failures that are retried; `None` for every failure.
    pub retry_on: Option<Arc<[Matcher]>>,
    /// The failures that are not retried even if `retry_on` contains them.
    pub abort_on: Option<Arc<[Matcher]>>,
    /// The failures that use up no attempt; `None` for no failure.
    pub uncounted: Option<Class>,
}

impl From<Policy> for RetryConfig {
    fn from(policy: Policy) -> Self {
        Self { bare_policy: policy, ..Self::default() }
    }
}

impl From<&RetryConfig> for RetryConfig {
    fn from(config: &RetryConfig) -> Self {
        config.clone()
    }
}

impl policy_source::Config for RetryConfig {
    type Lists<'a> = policy_source::ConfigLists<'a>;

    fn policy(&self) -> &Policy {
        &self.bare_policy
    }

    fn lists(&self) -> policy_source::ConfigLists<'_> {
        policy_source::ConfigLists {
            retry_on: self.retry_on.as_deref(),
            abort_on: self.abort_on.as_deref(),
            uncounted: self.uncounted,
        }
    }
}

impl policy_source::ConfigSource for RetryConfig {
    type Config = Self;

    fn config(&self) -> &Self {
        self
    }
}

impl<'de> Deserialize<'de> for RetryConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let keys = RetryKeys { draft: Draft::sound(), ..RetryKeys::default() };
        let keys = file::read(keys, SETTINGS, deserializer)?;
        keys.finish(Style::Command).map_err(D::Error::custom)
    }
}

/// The description of a map of retry settings.
const SETTINGS: &str = "a map of retry settings, such as one with `attempts`";

/// The keys of a [`RetryConfig`] that have been read, but not yet checked.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
pub struct RetryKeys {
    draft: Draft,
    retry_on: Option<Vec<Matcher>>,
    abort_on: Option<Vec<Matcher>>,
    uncounted: Option<Vec<Matcher>>,
    /// The rules that the settings may break.
    pub spared: Rules,
}

impl Keys for RetryKeys {
    fn keys(&self) -> &'static [&'static str] {
        static KEYS: LazyLock<Vec<&str>> =
            LazyLock::new(|| [&file::KEYS[..], &["retry_on", "abort_on", "uncounted"]].concat());
        &KEYS
    }

    fn read<'de, A: MapAccess<'de>>(
        &mut self,
        key: &'static str,
        map: &mut A,
    ) -> Result<(), A::Error> {
        match key {
            "retry_on" => self.retry_on = map.next_value_seed(MatcherList)?,
            "abort_on" => self.abort_on = map.next_value_seed(MatcherList)?,
            "uncounted" => self.uncounted = map.next_value_seed(MatcherList)?,
            _ => self.draft.read(key, map)?,
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for RetryKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        file::read(Self::default(), SETTINGS, deserializer)
    }
}

impl RetryKeys {
    /// Returns the settings if they obey the rules, with messages in this style.
    ///
    /// # Errors
    /// A rule is broken, or two keys contradict each other.
    pub fn finish(mut self, style: Style) -> Result<RetryConfig, InvalidKeys> {
        for (key, field, list, example) in [
            ("retry_on", Field::RetryOn, &self.retry_on, "`[network, timeout]`"),
            ("abort_on", Field::RetryOn, &self.abort_on, "`[conflict]`"),
            ("uncounted", Field::Uncounted, &self.uncounted, "`[rate_limit]`"),
        ] {
            let Some(list) = list else { continue };
            self.draft.write(field);
            if list.is_empty() {
                let message = format!(
                    "`{key}` is empty: list at least one matcher, as in {example}, or leave it out"
                );
                return Err(InvalidKeys::new(key, message));
            }
            if let Some(pair) = covered_in(list).next() {
                return Err(InvalidKeys::new(key, format!("in `{key}`, {pair}")));
            }
        }
        let bare_policy = self.draft.judge(self.draft.written(), self.spared, style)?;
        let uncounted = self.uncounted.map(|kinds| class_of(&kinds, self.retry_on.as_deref()));
        let uncounted =
            uncounted.transpose().map_err(|message| InvalidKeys::new("uncounted", message))?;
        let [retry_on, abort_on] = [self.retry_on, self.abort_on].map(|list| list.map(Arc::from));
        Ok(RetryConfig { bare_policy, retry_on, abort_on, uncounted })
    }
}

/// Returns the classes of the list `uncounted`, or the message about an entry that is not a kind of
/// failure, or is never retried.
fn class_of(uncounted: &[Matcher], retry_on: Option<&[Matcher]>) -> Result<Class, String> {
    let only_kinds = retry_on.filter(|list| list.iter().all(|matcher| matcher.kind().is_some()));
    let mut classes = Class::empty();
    for matcher in uncounted {
        let Some((word, class)) = matcher.kind() else {
            return Err(
                "`uncounted` lists kinds of failure, such as `rate_limit`: remove the pattern"
                    .to_owned(),
            );
        };
        let lists = |list: &[Matcher], word: &str| list.iter().any(|matcher| matcher.is(word));
        if let Some(message) = only_kinds.and_then(|list| never_retried(word, |it| lists(list, it)))
        {
            return Err(message);
        }
        classes = classes.union(class);
    }
    Ok(classes)
}

/// A list of matchers, or nothing. A text that has the elements of a list is answered with it.
#[derive(Clone, Copy)]
struct MatcherList;

impl<'de> DeserializeSeed<'de> for MatcherList {
    type Value = Option<Vec<Matcher>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for MatcherList {
    type Value = Option<Vec<Matcher>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list, such as `[\"transient\"]`")
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(Some)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        let words: Vec<_> = text.trim_matches(['[', ']']).split(',').map(str::trim).collect();
        // Reports an invalid word first, because a list would not cure it.
        Vec::<Matcher>::deserialize(SeqDeserializer::<_, E>::new(words.iter().copied()))?;
        let words = format!("{words:?}");
        Err(E::custom(format_args!("this is a text: write a list, `{}`", shortened(&words))))
    }
}

impl Serialize for RetryConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let classes = self.uncounted.filter(|classes| !classes.is_empty());
        let uncounted = classes.map(|_| Field::Uncounted);
        file::write(&self.bare_policy, Fields::from_slice(uncounted.as_slice()), &mut map)?;
        for (key, list) in [("retry_on", &self.retry_on), ("abort_on", &self.abort_on)] {
            if let Some(list) = list {
                map.serialize_entry(key, &effective(list))?;
            }
        }
        if let Some(classes) = classes {
            map.serialize_entry("uncounted", &effective(&Matcher::all_in(classes)))?;
        }
        map.end()
    }
}

/// Returns the matchers of a list without those that have no effect, which a file must not contain.
fn effective(list: &[Matcher]) -> Vec<&Matcher> {
    let has_effect = |matcher: &&Matcher| !covered_in(list).any(|pair| matcher.is(pair.inner));
    list.iter().filter(has_effect).collect()
}

/// Returns the words without effect in a list.
fn covered_in(list: &[Matcher]) -> impl Iterator<Item = Covered> {
    covered(|word| list.iter().any(|matcher| matcher.is(word)))
}
