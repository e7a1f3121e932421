//! Tests of the test tools themselves: they see what a person would, on a page made for this.

use axum::Router;
use axum::response::Html;
use axum::routing::get;

use crate::page::{Look, Page};
use crate::server::Server;

const PAGE: &str = r#"<!doctype html><html lang="en"><head><title>A page</title>
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,"><style>
button { font: inherit } @media (prefers-color-scheme: dark) { body { background: #000; color: #fff } }
</style></head><body><main><h1>A page</h1>
<p id="count">0</p><label>Name <input id="name"></label>
<button id="more">More</button><a href="?next" id="next">Next</a>
<script>
const more = document.getElementById('more');
more.onclick = () => { document.getElementById('count').textContent++ };
</script></main></body></html>"#;

fn server() -> Server {
    Server::start(Router::new().route("/", get(|| async { Html(PAGE) })))
}

#[test]
fn clicks_keys_and_texts_reach_the_page() {
    let Some(mut page) = Page::open() else { return };
    let server = server();
    page.go(&server.url("/"));
    page.click("#more");
    page.wait_for_text("#count", "1");
    page.tab_to("#next");
    page.press("Shift+Tab");
    page.press("Enter");
    page.press("Space");
    page.wait_for_text("#count", "3");
    page.click("#name");
    page.type_text("Ada");
    assert_eq!(page.eval("document.getElementById('name').value"), "Ada");
    page.click("#next");
    page.wait_until("location.search === '?next' && document.readyState === 'complete'");
    page.assert_no_trouble();
    page.assert_accessible("the harness");
}

#[test]
fn the_harness_detects_mistakes_of_a_page() {
    let Some(mut page) = Page::open() else { return };
    let server = server();
    page.go(&server.url("/"));
    page.assert_fits("the harness");
    page.eval(
        "document.body.insertAdjacentHTML('beforeend',
        '<img src=\"/gone\" width=2000 height=9>'); 0",
    );
    page.eval("setTimeout(() => { undefined_function() }); 0");
    page.eval("new Promise(done => setTimeout(done, 200))");
    assert!(page.too_wide().join("\n").contains("<img"));
    let violations = page.violations().join("\n");
    assert!(violations.contains("image-alt"), "{violations}");
    let troubles = page.troubles().join("\n");
    assert!(troubles.contains("undefined_function is not defined"), "{troubles}");
    assert!(troubles.contains("404"), "{troubles}");
}

#[test]
fn a_page_is_drawn_in_dark_mode_and_on_a_phone() {
    let Some(mut page) = Page::open() else { return };
    let server = server();
    page.go(&server.url("/"));
    for look in Look::ALL {
        page.look(look);
        let colour = if look.is_dark { "rgb(255, 255, 255)" } else { "rgb(0, 0, 0)" };
        assert_eq!(page.eval("getComputedStyle(document.body).color"), colour);
        assert_eq!(page.eval("innerWidth"), look.width);
    }
    let picture = std::fs::read(page.picture("harness")).unwrap();
    assert!(picture.starts_with(b"\x89PNG"));
}
