//! [`RetryConfig`]: a policy from a file, with its matchers; [`CommandConfig`]: also with an action
//! on failure.

use std::sync::Arc;

use retry_rules::file::{CommandKeys, InvalidKeys, MapFrom, OnlyForCommands, Scalar, from_map};
use retry_rules::matchers::{Covered, covered};
use retry_rules::suggest::unknown_word;
use retry_rules::{Policy, Style};
use serde::de::{Error, IgnoredAny, MapAccess};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::call::policy_source;
use crate::classify::matchers::Matcher;

/// The retry settings in a file: a policy in the command style, with the keys `retry_on` and
/// `abort_on`.
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
/// it, and obeys both lists; a `retry_on` in the attribute takes the place of the file's, and the
/// `abort_on` of both always counts. In a [`Retrier`](crate::Retrier) it is
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
}

/// The settings of a command in a file: a [`RetryConfig`], with the key `on_failure`.
///
/// ```
/// use retry_runtime::{CommandConfig, OnFailure};
///
/// let json = r#"{
///     "attempts": 5, "jitter": true,
///     "on_failure": { "fallback": { "command": "./save-locally.sh" } }
/// }"#;
/// let config: CommandConfig = serde_json::from_str(json).unwrap();
/// assert_eq!(config.retry.bare_policy.get_attempts().to_string(), "5");
/// assert_eq!(config.on_failure, OnFailure::Fallback { command: "./save-locally.sh".into() });
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CommandConfig {
    /// The retries of the command.
    pub retry: RetryConfig,
    /// The action once the retries have ended, for the program that runs the command. Default:
    /// stop.
    pub on_failure: OnFailure,
}

/// The action of a call that gives up.
///
/// A [`Retrier`](crate::Retrier) always returns its error; the program that runs the command
/// acts on it, as `retry-workflow` does.
///
/// ```
/// use retry_runtime::{CommandConfig, OnFailure};
///
/// let config: CommandConfig = serde_json::from_str(r#"{ "on_failure": "continue" }"#).unwrap();
/// assert_eq!(config.on_failure, OnFailure::Continue);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OnFailure {
    /// Return the error.
    #[default]
    Stop,
    /// Report the error and continue.
    Continue,
    /// Run another command instead.
    Fallback {
        /// The command.
        command: String,
    },
}

retry_rules::deserialize_scalar!(OnFailure);

/// By hand, because the derived error for `on_failure: fallback` is of no help.
impl Scalar for OnFailure {
    const EXPECTED: &'static str =
        "stop, continue, or `fallback: { command: \"./save-locally.sh\" }`";

    fn from_text<E: Error>(word: &str) -> Result<Self, E> {
        match word {
            "stop" => Ok(Self::Stop),
            "continue" => Ok(Self::Continue),
            other => Err(unknown_word(other, &["stop", "continue", "fallback"], &Self::EXPECTED)),
        }
    }

    fn from_map<'de, A: MapAccess<'de>>(mut map: MapFrom<A>) -> Result<Self, A::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Fallback {
            command: String,
        }

        let action = match map.next_key::<String>()? {
            Some(key) if key == "fallback" => {
                let Fallback { command } = map.next_value()?;
                Self::Fallback { command }
            }
            // `stop: null`, which some writers produce for a bare word. An unknown key is
            // reported before its value is read.
            Some(key) => {
                let action = Self::from_text(&key)?;
                map.next_value::<()>()?;
                action
            }
            None => return Err(A::Error::invalid_length(0, &Self::EXPECTED)),
        };
        if map.next_key::<IgnoredAny>()?.is_some() {
            return Err(A::Error::custom("`on_failure` is a single action: keep one"));
        }
        Ok(action)
    }
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
        let keys: RetryConfigKeys =
            from_map(deserializer, "a map of retry settings, such as one with `attempts`")?;
        let read = read(keys, Style::of_file::<D::Error>());
        read.map(|(config, _)| config).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for CommandConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let keys: CommandConfigKeys =
            from_map(deserializer, "a map of retry settings, such as one with `attempts`")?;
        Self::read(keys, Style::of_file::<D::Error>()).map_err(D::Error::custom)
    }
}

/// The keys of a [`RetryConfig`] as written in a file, parsed but not yet checked.
///
/// For readers that know where each key is.
///
/// ```
/// use retry_runtime::{RetryConfig, RetryConfigKeys};
///
/// let keys: RetryConfigKeys = serde_json::from_str(r#"{ "retry_on": [] }"#).unwrap();
/// let invalid = RetryConfig::try_from(keys).unwrap_err();
/// assert_eq!(invalid.keys().next(), Some("retry_on"));
/// ```
pub type RetryConfigKeys = CommandKeys<Vec<Matcher>, OnlyForCommands>;

/// The keys of a [`CommandConfig`] as written in a file, parsed but not yet checked.
///
/// For readers that know where each key is, like [`RetryConfigKeys`].
pub type CommandConfigKeys = CommandKeys<Vec<Matcher>, OnFailure>;

impl TryFrom<RetryConfigKeys> for RetryConfig {
    type Error = InvalidKeys;

    fn try_from(keys: RetryConfigKeys) -> Result<Self, InvalidKeys> {
        read(keys, Style::Command).map(|(config, _)| config)
    }
}

impl TryFrom<CommandConfigKeys> for CommandConfig {
    type Error = InvalidKeys;

    fn try_from(keys: CommandConfigKeys) -> Result<Self, InvalidKeys> {
        Self::read(keys, Style::Command)
    }
}

impl CommandConfig {
    /// Reads the settings of a step of a workflow file, which has no deadline: messages do not
    /// offer one.
    ///
    /// # Errors
    /// A rule is broken, or two keys contradict each other.
    #[doc(hidden)]
    pub fn of_step(keys: CommandConfigKeys) -> Result<Self, InvalidKeys> {
        Self::read(keys, Style::Step)
    }

    fn read(keys: CommandConfigKeys, style: Style) -> Result<Self, InvalidKeys> {
        let (retry, on_failure) = read(keys, style)?;
        Ok(Self { retry, on_failure: on_failure.unwrap_or_default() })
    }
}

/// Checks the keys.
fn read<F>(
    keys: CommandKeys<Vec<Matcher>, F>,
    style: Style,
) -> Result<(RetryConfig, Option<F>), InvalidKeys> {
    for (key, list, example) in [
        ("retry_on", &keys.retry_on, "[network, timeout]"),
        ("abort_on", &keys.abort_on, "[conflict]"),
    ] {
        let Some(list) = list else { continue };
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
    let bare_policy = keys.policy_in(style)?;
    let CommandKeys { retry_on, abort_on, on_failure, .. } = keys;
    let [retry_on, abort_on] = [retry_on, abort_on].map(|list| list.map(Arc::from));
    Ok((RetryConfig { bare_policy, retry_on, abort_on }, on_failure))
}

impl Serialize for RetryConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.keys::<OnlyForCommands>().serialize(serializer)
    }
}

impl Serialize for CommandConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut keys = self.retry.keys();
        keys.on_failure = Some(&self.on_failure).filter(|action| **action != OnFailure::Stop);
        keys.serialize(serializer)
    }
}

impl RetryConfig {
    /// The keys to write.
    fn keys<F>(&self) -> CommandKeys<Vec<&Matcher>, F> {
        let mut keys = CommandKeys::from(self.bare_policy);
        keys.retry_on = self.retry_on.as_deref().map(effective);
        keys.abort_on = self.abort_on.as_deref().map(effective);
        keys
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
