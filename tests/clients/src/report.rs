//! The observations, as they are kept in files, and their totals.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The decision of an experienced engineer about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum Decision {
    /// Try again.
    Transient,
    /// Run the whole transaction again.
    Conflict,
    /// Do not.
    Permanent,
    /// Two engineers would differ: shown, and not counted.
    Undecided,
}

/// The form in which the error comes back from the function that is retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum Wrapping {
    Plain,
    Anyhow,
    Context,
    Boxed,
    From,
    Transparent,
    String,
}

impl Wrapping {
    pub const ALL: [Self; 7] = [
        Self::Plain,
        Self::Anyhow,
        Self::Context,
        Self::Boxed,
        Self::From,
        Self::Transparent,
        Self::String,
    ];

    /// `true` if it is part of the totals: a `String` has lost its cause, which cannot be found again.
    pub fn counts(self) -> bool {
        !matches!(self, Self::String)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "the client's own type",
            Self::Anyhow => "`anyhow`",
            Self::Context => "`anyhow` with a context",
            Self::Boxed => "`Box<dyn Error>`",
            Self::From => "`#[from]`",
            Self::Transparent => "`#[error(transparent)]`, derived",
            Self::String => "`to_string()`",
        }
    }
}

/// The attribute's decision about an error.
pub struct Verdict {
    pub wrapping: Wrapping,
    pub matched: bool,
    /// The wait before the second attempt.
    pub wait: Duration,
    pub class: String,
    pub texts: Vec<String>,
}

/// The library's verdict on a failure in a wrapping.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Judgement {
    pub wrapping: Wrapping,
    pub retried: bool,
    /// The wait: the one the server asked for, if that is known.
    #[serde(default)]
    pub wait: Duration,
    /// `true` if `[conflict]` matches; only conflicts are checked for it.
    pub conflict: bool,
    pub class: String,
    pub texts: Vec<String>,
}

/// A failure of a client.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Case {
    pub client: String,
    pub version: String,
    pub failure: String,
    pub decision: Decision,
    /// The wait that the server asks for, if it does.
    #[serde(default)]
    pub asks: Option<Duration>,
    pub texts: Vec<String>,
    pub judgements: Vec<Judgement>,
}

/// All of a run.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Report {
    pub cases: Vec<Case>,
    pub skipped: Vec<String>,
}

/// Counts of judgements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub all: usize,
    pub right: usize,
    pub permanent: usize,
    pub transient: usize,
    pub false_retries: usize,
    pub missed: usize,
    pub missed_conflicts: usize,
}

impl Count {
    /// Adds a judgement of a failure.
    pub fn add(&mut self, decision: Decision, judgement: &Judgement) {
        let retried = judgement.retried;
        match decision {
            Decision::Permanent => {
                self.permanent += 1;
                self.false_retries += usize::from(retried);
                self.right += usize::from(!retried);
            }
            Decision::Transient => {
                self.transient += 1;
                self.missed += usize::from(!retried);
                self.right += usize::from(retried);
            }
            Decision::Conflict => {
                let right = retried && judgement.conflict;
                self.missed_conflicts += usize::from(!right);
                self.right += usize::from(right);
            }
            Decision::Undecided => return,
        }
        self.all += 1;
    }
}

impl Report {
    /// Counts the judgements that a condition holds for.
    pub fn count(&self, counts: impl Fn(&Case, &Judgement) -> bool) -> Count {
        let mut count = Count::default();
        for (case, judgement) in self.judgements() {
            if counts(case, judgement) {
                count.add(case.decision, judgement);
            }
        }
        count
    }

    /// The totals.
    pub fn total(&self) -> Count {
        self.count(|_, judgement| judgement.wrapping.counts())
    }

    /// The clients whose server asked for a wait, in how many judgements, and in how many it was
    /// obeyed.
    pub fn waits(&self) -> Vec<(&str, usize, usize)> {
        let waits = self.clients().into_iter().map(|client| {
            let mut asked = 0;
            let mut obeyed = 0;
            for (case, judgement) in self.judgements() {
                if case.client == client && case.asks.is_some() && judgement.wrapping.counts() {
                    asked += 1;
                    obeyed += usize::from(case.asks == Some(judgement.wait));
                }
            }
            (client, asked, obeyed)
        });
        waits.filter(|&(_, asked, _)| asked > 0).collect()
    }

    /// The names of the clients, each once, in the order of their first failure.
    pub fn clients(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for case in &self.cases {
            if !names.contains(&case.client.as_str()) {
                names.push(&case.client);
            }
        }
        names
    }

    /// Each failure in each wrapping.
    pub fn judgements(&self) -> impl Iterator<Item = (&Case, &Judgement)> {
        self.cases.iter().flat_map(|case| case.judgements.iter().map(move |one| (case, one)))
    }

    /// The wrong verdicts among those that count.
    pub fn wrong(&self) -> impl Iterator<Item = (&Case, &Judgement)> {
        self.judgements().filter(|(case, judgement)| {
            let mut count = Count::default();
            count.add(case.decision, judgement);
            judgement.wrapping.counts() && count.all > count.right
        })
    }
}
