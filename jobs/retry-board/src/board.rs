//! [`Board`]: the settings of the pages.

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::request::Parts;
use parking_lot::Mutex;
use retry_runtime::{Breakers, CircuitBreaker, RetryQuota, Shared, Snapshot};

use crate::safety::host;
use crate::safety::identity::{ActorOf, Identity};
use crate::safety::public_url::{InvalidUrl, PublicUrl};
use crate::safety::secret::Secret;
use crate::safety::token::Token;
use crate::streams::Streams;

/// The settings of the pages, and the pages themselves: [`jobs`](Self::jobs) and
/// [`policies`](Self::policies). Mount both in the same place, because they link to each other.
///
/// | setting | default |
/// | --- | --- |
/// | [`allow_actions`](Self::allow_actions) | nothing can be changed |
/// | [`token`](Self::token) | none: everyone who can reach the port is served |
/// | [`actor`](Self::actor) | who has the token |
/// | [`host`](Self::host) | the names of the machine itself |
/// | [`public_url`](Self::public_url) | what the request says |
/// | [`command`](Self::command) | `retry-workflow` |
/// | [`breaker`](Self::breaker), [`breakers`](Self::breakers), [`quota`](Self::quota) | breakers appear once their state has changed, quotas once they have been empty |
///
/// ```
/// use retry_board::Board;
/// use retry_runtime::{BreakerConfig, CircuitBreaker};
/// use retry_workflow::SqliteStore;
///
/// static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());
///
/// let board = Board::new().host("jobs.example.org").breaker(&DB);
/// let app = board.jobs(SqliteStore::in_memory()).merge(board.policies());
/// ```
#[derive(Clone)]
#[must_use = "settings do nothing until pages are made with them"]
pub struct Board {
    /// The names of its settings in messages.
    pub(crate) settings: SettingNames,
    pub(crate) allows_actions: bool,
    pub(crate) tokens: Vec<Token>,
    pub(crate) actor: Option<ActorOf>,
    hosts: Hosts,
    pub(crate) public_url: Option<PublicUrl>,
    pub(crate) breakers: Vec<Shared<CircuitBreaker>>,
    pub(crate) families: Vec<(String, Family)>,
    pub(crate) quotas: Vec<Shared<RetryQuota>>,
    /// The command that pages name.
    pub(crate) command: String,
    /// The signing key if the board has no token.
    secret: Secret,
    pub(crate) mounted: Arc<Mounted>,
}

pub(crate) type Family = Arc<dyn Fn() -> Vec<Snapshot> + Send + Sync>;

/// The names of a board's settings in its messages.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SettingNames {
    /// Methods of [`Board`], and options of the command `retry-workflow board`.
    Both,
    /// Options only: the command has made the board.
    Options,
}

impl SettingNames {
    /// Returns the name of an option, or of the method unless the command has made the board.
    pub(crate) fn name(self, option: &str, method: &str) -> String {
        match self {
            Self::Both => format!("{option} or {method}"),
            Self::Options => option.to_owned(),
        }
    }
}

#[derive(Clone, Debug)]
enum Hosts {
    Any,
    These(Vec<String>),
}

/// The set of mounted pages.
#[derive(Default)]
pub(crate) struct Mounted {
    pub(crate) jobs: AtomicBool,
    pub(crate) policies: AtomicBool,
    policies_poll: Mutex<Option<PolicyPoll>>,
    /// The event streams of all pages.
    pub(crate) streams: Arc<Streams>,
}

/// A function that returns a hash of what the page of policies shows; `None` once its router is
/// gone.
pub(crate) type PolicyPoll = Box<dyn Fn() -> Option<u64> + Send + Sync>;

impl Mounted {
    /// Sets how to poll the policies, so that the streams of the jobs can report them as well.
    pub(crate) fn set_policies_poll(&self, poll: PolicyPoll) {
        // All pages of policies show the same process; the newest ones are there the longest.
        *self.policies_poll.lock() = Some(poll);
    }

    pub(crate) fn poll_policies(&self) -> Option<u64> {
        self.policies_poll.lock().as_ref().and_then(|poll| poll())
    }

    pub(crate) fn has_jobs(&self) -> bool {
        self.jobs.load(Ordering::Acquire)
    }

    pub(crate) fn has_policies(&self) -> bool {
        self.policies.load(Ordering::Acquire)
    }
}

retry_rules::partial_debug!(Mounted);

impl Default for Board {
    fn default() -> Self {
        Self::new()
    }
}

impl Board {
    /// Creates the default settings: read-only, without a token, for the names of this machine.
    ///
    /// ```
    /// # use retry_board::Board;
    /// # use retry_workflow::SqliteStore;
    /// let board = Board::new();
    /// let app: axum::Router = board.jobs(SqliteStore::in_memory()).merge(board.policies());
    /// ```
    ///
    /// # Panics
    /// Panics if the operating system provides no random bytes.
    pub fn new() -> Self {
        Self {
            settings: SettingNames::Both,
            allows_actions: false,
            tokens: Vec::new(),
            actor: None,
            hosts: Hosts::These(Vec::new()),
            public_url: None,
            breakers: Vec::new(),
            families: Vec::new(),
            quotas: Vec::new(),
            command: "retry-workflow".to_owned(),
            secret: Secret::random(),
            mounted: Arc::default(),
        }
    }

    /// Names settings in messages as options of the command `retry-workflow board`, which makes
    /// this board.
    #[doc(hidden)]
    pub fn set_by_options(mut self) -> Self {
        self.settings = SettingNames::Options;
        self
    }

    /// Lets visitors change things: re-drive or purge dead letters, end the waits of items, cancel
    /// items, pause and cancel jobs, override policies. By default, the pages are read-only.
    ///
    /// ```
    /// # use retry_board::{Board, Token};
    /// let token = Token::new("correct horse battery staple")?;
    /// let board = Board::new().token(token).allow_actions();
    /// # Ok::<(), retry_board::InvalidToken>(())
    /// ```
    pub fn allow_actions(mut self) -> Self {
        self.allows_actions = true;
        self
    }

    /// Requires visitors to know this token. Call it again for a further one: each can have a
    /// [name](Token::named), and some may only [read](Token::reader). By default, everyone who can
    /// reach the port is served.
    ///
    /// ```
    /// # use retry_board::{Board, Token};
    /// let board = Board::new().token(Token::new("correct horse battery staple")?);
    /// # Ok::<(), retry_board::InvalidToken>(())
    /// ```
    pub fn token(mut self, token: Token) -> Self {
        self.tokens.push(token);
        self
    }

    /// Takes the identity of a visitor from the surrounding authentication: a header, or an
    /// extension that a layer above has added. Where it returns `None`, the visitor reads only;
    /// otherwise the name is that of the user in events of
    /// [`audit`](retry_workflow::audit).
    /// By default, it is the name of the [token](Token::named).
    ///
    /// ```
    /// # use retry_board::Board;
    /// # #[derive(Clone)]
    /// # struct User { name: String, is_operator: bool }
    /// let board = Board::new().allow_actions().actor(|request| {
    ///     let user = request.extensions.get::<User>()?;
    ///     user.is_operator.then(|| user.name.clone())
    /// });
    /// ```
    pub fn actor(
        mut self,
        actor: impl Fn(&Parts) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.actor = Some(ActorOf(Arc::new(actor)));
        self
    }

    /// Adds a host name that the board answers to, such as `jobs.example.org`. Names of the machine
    /// itself always work.
    ///
    /// ```
    /// # use retry_board::Board;
    /// let board = Board::new().host("jobs.example.org");
    /// ```
    pub fn host(mut self, name: impl Into<String>) -> Self {
        if let Hosts::These(names) = &mut self.hosts {
            names.push(name.into());
        }
        self
    }

    /// Sets the address under which browsers find the board behind a proxy that changes the header
    /// `Host`. Forms of its pages are then accepted, the board answers to its host, and with
    /// `https` the cookie of a session is only sent encrypted. By default, `Host` is what browsers
    /// ask for.
    ///
    /// ```
    /// # use retry_board::Board;
    /// let board = Board::new().public_url("https://ops.example.com/board")?;
    /// # Ok::<(), retry_board::InvalidUrl>(())
    /// ```
    ///
    /// # Errors
    /// The text is not the address of a page: `http` or `https`, and a host.
    pub fn public_url(mut self, url: &str) -> Result<Self, InvalidUrl> {
        self.public_url = Some(PublicUrl::new(url)?);
        Ok(self)
    }

    /// Sets the command that works on this store, which pages name where something is to be done in
    /// a terminal; `retry-workflow` by default.
    ///
    /// ```
    /// # use retry_board::Board;
    /// let board = Board::new().command("retry-workflow --store /var/lib/jobs.db");
    /// ```
    pub fn command(mut self, command: impl Into<String>) -> Self {
        self.command = command.into();
        self
    }

    /// Answers to any host name. Use it only behind a proxy that checks host names, or with a
    /// [token](Self::token): otherwise a foreign web page could read the board.
    ///
    /// ```
    /// # use retry_board::Board;
    /// let board = Board::new().any_host();
    /// ```
    pub fn any_host(mut self) -> Self {
        self.hosts = Hosts::Any;
        self
    }

    /// Shows this breaker from the start: a `&'static`, or an `Arc`. Other breakers appear once
    /// their state has changed.
    ///
    /// ```
    /// # use retry_board::Board;
    /// # use retry_runtime::{BreakerConfig, CircuitBreaker};
    /// static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());
    ///
    /// let board = Board::new().breaker(&DB);
    /// ```
    pub fn breaker(mut self, breaker: impl Into<Shared<CircuitBreaker>>) -> Self {
        self.breakers.push(breaker.into());
        self
    }

    /// Shows the breakers of this family: a `&'static`, or an `Arc`.
    ///
    /// ```
    /// # use retry_board::Board;
    /// # use retry_runtime::{BreakerConfig, Breakers};
    /// static HOSTS: Breakers<String> = Breakers::new("hosts", BreakerConfig::new(), 100);
    ///
    /// let board = Board::new().breakers(&HOSTS);
    /// ```
    pub fn breakers<K>(mut self, family: impl Into<Shared<Breakers<K>>>) -> Self
    where
        K: Hash + Eq + fmt::Display + Clone + Send + Sync + 'static,
    {
        let family = family.into();
        let name = family.as_ref().name().to_owned();
        self.families.push((name, Arc::new(move || family.as_ref().snapshots())));
        self
    }

    /// Shows this quota from the start: a `&'static`, or an `Arc`. Other quotas appear once they
    /// have been empty.
    ///
    /// ```
    /// # use retry_board::Board;
    /// # use retry_runtime::{QuotaConfig, RetryQuota};
    /// static OUTBOUND: RetryQuota = RetryQuota::new("outbound", QuotaConfig::new());
    ///
    /// let board = Board::new().quota(&OUTBOUND);
    /// ```
    pub fn quota(mut self, quota: impl Into<Shared<RetryQuota>>) -> Self {
        self.quotas.push(quota.into());
        self
    }

    /// Returns whether the board answers to this host name.
    pub(crate) fn answers_as(&self, name: &str) -> bool {
        let is_own = |own: &String| host::without_port(own).eq_ignore_ascii_case(name);
        match &self.hosts {
            Hosts::Any => true,
            Hosts::These(names) => {
                let public = self.public_url.as_ref().map(PublicUrl::authority);
                host::is_loopback(name)
                    || names.iter().any(is_own)
                    || public.is_some_and(|own| host::without_port(own).eq_ignore_ascii_case(name))
            }
        }
    }

    /// Returns the token with the `given` text. All of them are compared, however early one fits.
    pub(crate) fn token_of(&self, given: &str) -> Option<&Token> {
        self.tokens
            .iter()
            .fold(None, |found, token| if token.is(given) { Some(token) } else { found })
    }

    /// Returns the identity of an unknown visitor.
    pub(crate) fn anonymous(&self) -> Identity {
        Identity { name: None, acts: true, secret: self.secret.clone() }
    }
}

retry_rules::partial_debug!(Board, |self| {
    allows_actions: &self.allows_actions,
    tokens: &self.tokens,
    hosts: &self.hosts,
});
