//! The `OpenAPI` 3.1 description: every page and every action as JSON.

use serde_json::{Map, Value, json};

use crate::page_group::PageGroup;

/// An operation: its group of pages, path, method and summary, and its parameters or body fields.
type Row =
    (PageGroup, &'static str, &'static str, &'static str, &'static [(&'static str, &'static str)]);

const FILTER: &[(&str, &str)] = &[
    ("job", "The id of the job"),
    ("item", "The id of one item of that job"),
    ("items", "The ids of several, as a JSON list"),
    ("class", "A class, alone or among others"),
    ("signature", "A signature: its text, its id or the beginning of that"),
    ("since", "Ended then or later: RFC 3339, a day, or `2h ago`"),
    ("until", "Ended before"),
    (
        "text",
        "In the message of the failure, or in a cause of it; or `item.customer = 42`, a field of the payload",
    ),
    ("state", "dead (the default), skipped, pending, leased, succeeded or all"),
];
const JOB: &[(&str, &str)] = &[("job", "The id of the job")];
const OVERRIDE: &[(&str, &str)] = &[
    ("name", "The function, or `*` for all"),
    ("key", "Such as attempts or initial_delay"),
    ("value", "Such as 2, 500ms or linear(increment = 2s)"),
];

const ROWS: &[Row] = &[
    (
        PageGroup::Jobs,
        "/api/jobs",
        "get",
        "All jobs, the newest first, page by page",
        &[("after", "Where the page begins: `next` of the one before")],
    ),
    (
        PageGroup::Jobs,
        "/api/job",
        "get",
        "A job: what it waits for, its minutes, how long its steps took in the last ten minutes \
         (`took`, in seconds), failures and tasks",
        &[("id", "The id of the job"), ("span", "How far back minutes go: 1h, 6h, 24h or 7d")],
    ),
    (
        PageGroup::Jobs,
        "/api/dead-letters",
        "get",
        "Dead letters in groups, which count whole hours, and one by one; where `is_partial`, \
         `after=next` continues the search",
        FILTER,
    ),
    (
        PageGroup::Jobs,
        "/api/item",
        "get",
        "An item with all its attempts, as far as it is shown",
        &[("job", "The id of the job"), ("id", "The id of the item")],
    ),
    (
        PageGroup::Jobs,
        "/api/audit",
        "get",
        "Who has changed what, the newest first; `items` is null if it is not known to have ended",
        &[],
    ),
    (
        PageGroup::Jobs,
        "/api/export",
        "get",
        "Items with their histories, whole, an object a line",
        FILTER,
    ),
    (PageGroup::Jobs, "/api/re-drive", "get", "How many dead letters would be re-driven", FILTER),
    (
        PageGroup::Jobs,
        "/api/re-drive",
        "post",
        "Re-drives dead letters; also rate, max, dry_run, all",
        FILTER,
    ),
    (PageGroup::Jobs, "/api/purge", "get", "How many dead letters would be purged", FILTER),
    (
        PageGroup::Jobs,
        "/api/purge",
        "post",
        "Purges dead letters for good; confirm is `purge N`; also dry_run, all",
        FILTER,
    ),
    (
        PageGroup::Jobs,
        "/api/pause",
        "post",
        "Asks the workers of a job to stop, so that it can be resumed",
        JOB,
    ),
    (
        PageGroup::Jobs,
        "/api/due",
        "post",
        "Makes the items of a job due now that wait for their next attempt",
        JOB,
    ),
    (PageGroup::Jobs, "/api/cancel", "get", "How many items have not ended", JOB),
    (PageGroup::Jobs, "/api/cancel", "post", "Ends a job: what is left of it is skipped", JOB),
    (PageGroup::Jobs, "/api/jobs/session", "get", "The token of forms, and its cookie", &[]),
    (
        PageGroup::Policies,
        "/api/policies",
        "get",
        "Functions, breakers, quotas and overrides of the process",
        &[],
    ),
    (
        PageGroup::Policies,
        "/api/override",
        "post",
        "Overrides a policy, on top of what the program itself has set",
        OVERRIDE,
    ),
    (
        PageGroup::Policies,
        "/api/override-reset",
        "post",
        "Removes the overrides set here for a function, or for all",
        &[("name", "The function; all, if it is not given")],
    ),
    (
        PageGroup::Policies,
        "/api/policies/session",
        "get",
        "The token of forms, and its cookie",
        &[],
    ),
];

/// The description of the mounted groups.
pub(crate) fn openapi(groups: &[PageGroup]) -> Value {
    let mut paths = Map::new();
    for (page_group, path, method, summary, fields) in ROWS {
        if !groups.contains(page_group) {
            continue;
        }
        let entry = paths.entry(*path).or_insert_with(|| json!({}));
        entry[*method] = operation(method, summary, fields);
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
        "description": "Why not, and what to do",
        "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Error" } } },
    });
    let mut operation = json!({
        "summary": summary,
        "security": [{}, { "token": [] }],
        "responses": { "200": { "description": "What was asked for" }, "default": error },
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
