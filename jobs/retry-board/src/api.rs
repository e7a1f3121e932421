//! The `OpenAPI` 3.1 description: every page and every action as JSON.

use serde_json::{Map, Value, json};

use crate::actions::ACTIONS;
use crate::actions::action::{Action, Target};
use crate::page_group::PageGroup;

/// Fields of an operation, each with its description.
type Fields = &'static [(&'static str, &'static str)];

/// An operation: its path, method and summary, and its parameters or body fields.
type Row = (&'static str, &'static str, &'static str, Fields);

const fn get(path: &'static str, summary: &'static str, fields: Fields) -> Row {
    (path, "get", summary, fields)
}

const fn post(path: &'static str, summary: &'static str, fields: Fields) -> Row {
    (path, "post", summary, fields)
}

const FILTER: Fields = &[
    ("job", "The id of the job"),
    ("item", "The id of one item of that job"),
    ("items", "The ids of several, as a JSON list"),
    ("class", "A class, alone or among others"),
    ("signature", "A signature: its text, its id or the beginning of that"),
    ("since", "Ended then or later: RFC 3339, a day, or `2h ago`"),
    ("until", "Ended before"),
    (
        "text",
        "In the message of the failure, or in a cause of it; or `item.priority >= 5`, a condition on the payload",
    ),
    ("state", "dead (the default), skipped, pending, leased, succeeded or all"),
];
/// The first fields of [`FILTER`].
const NAMED_ITEMS: Fields = FILTER.split_at(3).0;
const JOB: Fields = &[("job", "The id of the job")];
const OVERRIDE: Fields = &[
    ("name", "The function, or `*` for all"),
    ("key", "Such as attempts or initial_delay"),
    ("value", "Such as 2, 500ms or linear(increment = 2s)"),
];

const AFTER: Fields = &[("after", "The beginning of the page: `next` of the one before")];
const JOB_PAGE: Fields = &[("id", "The id of the job")];
const ITEM: Fields = &[("job", "The id of the job"), ("id", "The id of the item")];
const NAME: Fields = &[("name", "The function; all, if it is not given")];

const JOBS: &[Row] = &[
    get("/api/jobs", "All jobs, the newest first, page by page", AFTER),
    get(
        "/api/job",
        "A job: what it waits for, failures and tasks; its rate, while it is watched",
        JOB_PAGE,
    ),
    get(
        "/api/dead-letters",
        "Dead letters in groups, of the newest 20,000, and one by one; where `is_partial`, \
         `after=next` continues the search",
        FILTER,
    ),
    get("/api/item", "An item with all its attempts, as far as it is shown", ITEM),
    get("/api/export", "Items with their histories, whole, an object a line", FILTER),
    get("/api/jobs/session", "The token of forms, and its cookie", &[]),
];

const POLICIES: &[Row] = &[
    get("/api/policies", "Functions, breakers, quotas and overrides of the process", &[]),
    post(
        "/api/override",
        "Overrides a policy, on top of what the program itself has set",
        OVERRIDE,
    ),
    post("/api/override-reset", "Removes the overrides set here for a function, or for all", NAME),
    get("/api/policies/session", "The token of forms, and its cookie", &[]),
];

/// The description of the mounted groups.
pub(crate) fn openapi(groups: &[PageGroup]) -> Value {
    let mut paths = Map::new();
    let rows = groups.iter().flat_map(|group| match group {
        PageGroup::Jobs => JOBS,
        PageGroup::Policies => POLICIES,
    });
    for (path, method, summary, fields) in rows {
        let entry = paths.entry(*path).or_insert_with(|| json!({}));
        entry[*method] = operation(method, summary, fields);
    }
    let actions = ACTIONS.iter().filter(|_| groups.contains(&PageGroup::Jobs));
    for Action { name, target, summary, confirmation, .. } in actions {
        let fields = match target {
            Target::Job => JOB,
            Target::Letters => FILTER,
            Target::Items => NAMED_ITEMS,
        };
        let mut entry = json!({ "post": operation("post", summary, fields) });
        if confirmation.is_some() {
            entry["get"] = operation("get", "The number of items that it would act on", fields);
        }
        paths.insert(format!("/api/{name}"), entry);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "retry board",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Pages as JSON. Paths are relative to where the board is mounted. Nothing \
                changes unless actions are allowed.",
        },
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": { "Error": {
                "type": "object",
                "required": ["error", "status", "message"],
                "properties": {
                    "error": { "type": "string" },
                    "status": { "type": "integer" },
                    "message": { "type": "string" },
                },
            } },
        },
    })
}

fn operation(method: &str, summary: &str, fields: &[(&str, &str)]) -> Value {
    let error = json!({
        "description": "The reason, and what to do",
        "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Error" } } },
    });
    let mut operation = json!({
        "summary": summary,
        "security": [{}, { "token": [] }],
        "responses": { "200": { "description": "The result" }, "default": error },
    });
    if method == "get" {
        let parameter = |(name, about): &(&str, &str)| json!({ "name": name, "in": "query", "description": about, "schema": { "type": "string" } });
        operation["parameters"] = fields.iter().map(parameter).collect();
    } else {
        let property = |(name, about): &(&str, &str)| {
            ((*name).to_owned(), json!({ "type": "string", "description": about }))
        };
        let properties: Map<_, _> = fields.iter().map(property).collect();
        let schema = json!({ "type": "object", "properties": properties });
        operation["parameters"] = json!([
            { "name": "x-csrf-token", "in": "header", "description": "`csrf` of the session, with its \
                cookie; not needed with a bearer token", "schema": { "type": "string" } },
            { "name": "idempotency-key", "in": "header", "description": "The same request \
                with the same key is done once; with another request, the key is refused (422)", "schema": { "type": "string" } },
        ]);
        operation["requestBody"] = json!({
            "required": true, "content": { "application/json": { "schema": schema } },
        });
    }
    operation
}
