//! The layout of all pages: head, navigation, notice, main, footer.

use axum::response::{Html, IntoResponse, Response};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::form;
use super::text::line;
use crate::assets::{ICON, SCRIPT, STYLE};
use crate::page_group::PageGroup;
use crate::request::RequestContext;
use crate::request::problem::Problem;

/// The section of the navigation that a page belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NavSection {
    Jobs,
    Letters,
    Policies,
    Nowhere,
}

/// A page.
pub(crate) struct Page<'a> {
    pub(crate) title: &'a str,
    pub(crate) section: NavSection,
    /// The address of its live events.
    pub(crate) live: Option<String>,
    /// The result of the action that has just been performed.
    pub(crate) notice: Option<String>,
    pub(crate) main: Markup,
}

/// Renders a page with its frame.
pub(crate) fn page(context: &RequestContext, page: &Page<'_>) -> Response {
    let root = &context.root;
    let mounted = &context.board.mounted;
    let asset = |asset: &crate::assets::Asset| format!("{root}{}", asset.path(context.page_group));
    // One for all pages of a browser, so that these share a stream.
    let shared = if mounted.has_jobs() { PageGroup::Jobs } else { context.page_group };
    let worker = format!("{root}{}", SCRIPT.path(shared));
    let link = |section: NavSection, address: &str, word: &str| {
        html! {
            a href=(format!("{root}{address}")) aria-current=[(page.section == section).then_some("page")] { (word) }
        }
    };
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (page.title) " · retry board" }
                link rel="icon" href=(asset(&ICON));
                link rel="stylesheet" href=(asset(&STYLE));
                script src=(asset(&SCRIPT)) defer {}
            }
            body {
                a.skip href="#main" { "Skip to content" }
                header.top {
                    div.bar {
                        span.brand {
                            (PreEscaped(r#"<svg viewBox="0 0 32 32" aria-hidden="true"><path d="M9 16a7 7 0 1 1 2 4.9"/><path d="M6.6 11.6 9 16.6l4.8-2.6"/></svg>"#))
                            "retry board"
                        }
                        nav aria-label="Pages" {
                            @if mounted.has_jobs() {
                                (link(NavSection::Jobs, "jobs", "Jobs"))
                                (link(NavSection::Letters, "dead-letters", "Dead letters"))
                            }
                            @if mounted.has_policies() {
                                (link(NavSection::Policies, "policies", "Policies"))
                            }
                        }
                        @if let Some(live) = &page.live {
                            span #live.live data-url=(live) data-worker=(worker) data-live="loading" role="status" hidden { "loading" }
                        }
                    }
                }
                main #main tabindex="-1" {
                    @if let Some(notice) = &page.notice {
                        p #notice.notice role="status" { (notice) }
                    }
                    (page.main)
                }
                footer {
                    @if context.shows_forms() {
                        span #acts-as { "Actions are allowed" @if let Some(name) = &context.identity.name { ", as " (line(name)) } "." }
                    } @else if context.board.allows_actions {
                        span #read-only { "You may read only" @if let Some(name) = &context.identity.name { ", as " (line(name)) } "." }
                    } @else {
                        span #read-only { "Read-only. Allow actions with " code { (context.board.settings.name("--allow-actions", "Board::allow_actions")) } "." }
                    }
                    @if context.is_signed_in() {
                        " " form.sign-out method="post" action=(context.sign_out()) {
                            (form::hidden([("csrf", context.csrf())]))
                            button { "Sign out" }
                        }
                    }
                    @if mounted.has_jobs() {
                        " " a href=(format!("{root}api/openapi.json")) { "API" }
                    }
                    noscript { " Without scripts, pages do not update themselves: reload them." }
                }
            }
        }
    };
    Html(markup.into_string()).into_response()
}

/// The error page for a problem.
pub(crate) fn problem(context: &RequestContext, problem: &Problem) -> Response {
    let main = html! {
        section.problem data-problem=(problem.status.as_u16()) {
            h1 { (problem.title) }
            @for line in problem.text.lines() {
                p { (line) }
            }
            @if problem.signs_in {
                form method="post" action=(context.sign_in()) {
                    label for="token" { "Token" }
                    input #token type="password" name="token" autocomplete="current-password" required autofocus;
                    (form::hidden([("to", problem.to.as_deref().unwrap_or(&context.here))]))
                    button.primary { "Sign in" }
                }
            } @else if context.board.mounted.has_jobs() {
                p { a href=(format!("{}jobs", context.root)) { "All jobs" } }
            }
        }
    };
    let section = NavSection::Nowhere;
    page(context, &Page { title: problem.title, section, live: None, notice: None, main })
}
