//! The places in a workflow file that have keys, with those that the reader knows there.

use retry_rules::file::CURVES;
use retry_workflow_cli::{FileError, WorkflowFile};

/// A place that has keys.
pub(crate) struct Place {
    pub(crate) name: &'static str,
    /// A file with an unknown key in this place.
    pub(crate) file: &'static str,
    /// The places of keys in the JSON schema; each key is in at least one of these.
    pub(crate) schema: &'static [&'static str],
}

const fn place(name: &'static str, file: &'static str, schema: &'static [&'static str]) -> Place {
    Place { name, file, schema }
}

pub(crate) const PLACES: [Place; 18] = [
    place("the file", "{ commands: { shell: x }, qqqq: 1 }", &["/file"]),
    place("a step", "commands: { shell: x, qqqq: 1 }", &["/step"]),
    place("a task", "tasks: { a: { shell: x, qqqq: 1 } }", &["/task"]),
    place("a repair", "commands: { shell: x, on_failure: { shell: x, qqqq: 1 } }", &["/repair"]),
    place(
        "an input",
        "map: { input: { qqqq: 1 }, agent_template: { shell: x } }",
        &["/map/properties/input/anyOf/1"],
    ),
    place(
        "a variable",
        "{ commands: { shell: x }, env: { A: { qqqq: 1 } } }",
        &["/file/properties/env/additionalProperties/anyOf/1"],
    ),
    place(
        "a secret",
        "{ commands: { shell: x }, secrets: { A: { qqqq: 1 } } }",
        &["/file/properties/secrets/additionalProperties"],
    ),
    place("map", "map: { input: x.json, agent_template: { shell: x }, qqqq: 1 }", &["/map"]),
    place(
        "timeout_config",
        "map: { input: x.json, agent_template: { shell: x }, timeout_config: { qqqq: 1 } }",
        &["/map/properties/timeout_config"],
    ),
    place(
        "a rate",
        "map: { input: x.json, agent_template: { shell: x }, rate: { qqqq: 1 } }",
        &["/map/properties/rate/anyOf/0/anyOf/1"],
    ),
    place(
        "a limit by key",
        "map: { input: x.json, agent_template: { shell: x }, concurrency: { qqqq: 1 } }",
        &["/map/properties/concurrency/anyOf/0/anyOf/0"],
    ),
    place("agent", "{ commands: { shell: x }, agent: { qqqq: 1 } }", &["/file/properties/agent"]),
    place(
        "error_policy",
        "{ map: { input: x.json, agent_template: { shell: x } }, error_policy: { qqqq: 1 } }",
        &["/error_policy"],
    ),
    place(
        "circuit_breaker",
        "{ map: { input: x.json, agent_template: { shell: x } }, error_policy: { circuit_breaker: { qqqq: 1 } } }",
        &["/error_policy/properties/circuit_breaker"],
    ),
    place(
        "retry_config of error_policy",
        "{ map: { input: x.json, agent_template: { shell: x } }, error_policy: { retry_config: { qqqq: 1 } } }",
        &["/item_retry_config"],
    ),
    place(
        "retry_config of a step",
        "commands: { shell: x, retry_config: { qqqq: 1 } }",
        &["/retry_config"],
    ),
    place(
        "a typed backoff",
        "commands: { shell: x, retry_config: { backoff: { type: fixed, qqqq: 1 } } }",
        &[
            "/backoff/anyOf/2",
            "/backoff/anyOf/4",
            "/backoff/anyOf/6",
            "/backoff/anyOf/8",
            "/backoff/anyOf/10",
        ],
    ),
    place(
        "a backoff",
        "commands: { shell: x, retry_config: { backoff: { exponential: { qqqq: 1 } } } }",
        &[
            "/backoff/anyOf/1/properties/fixed/anyOf/0",
            "/backoff/anyOf/3/properties/linear/anyOf/0",
            "/backoff/anyOf/5/properties/exponential/anyOf/0",
            "/backoff/anyOf/7/properties/fibonacci/anyOf/0",
            "/backoff/anyOf/9/properties/custom/anyOf/0",
        ],
    ),
];

/// The keys that the reader knows in a place.
pub(crate) fn known(place: &Place) -> Vec<String> {
    let Place { name, file, .. } = place;
    let error = WorkflowFile::parse("job.yml", file).expect_err(name);
    if let Some(keys) = error.known_keys().next() {
        return keys.to_vec();
    }
    // The library reads the settings of a backoff. A null is no mistake, so only an unknown key is.
    let column = file.find("qqqq").expect(name) + 1;
    let is_known = |key: &str| {
        let null = file.replace("qqqq: 1", &format!("{key}: null"));
        let mistakes = WorkflowFile::parse("job.yml", &null).err();
        let mut places = mistakes.iter().flat_map(FileError::mistakes).map(|(place, _)| place);
        file.contains(&format!("{key}: ")) || !places.any(|place| place == Some((1, column)))
    };
    assert!(!is_known("zzzz"), "{name}: {error}");
    let settings = CURVES.iter().flat_map(|(_, settings, _)| *settings).copied();
    settings.chain(["type"]).filter(|key| is_known(key)).map(str::to_owned).collect()
}
