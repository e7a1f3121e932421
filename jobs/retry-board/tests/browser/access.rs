//! Accessibility of the pages, as far as axe-core can check it.

use serde_json::json;

use crate::page::Page;

/// axe-core 4.14.1 from npm; not part of this crate's package.
const AXE: &str = include_str!("../data/axe.min.js");

impl Page {
    /// The violations that axe-core finds, by WCAG 2.2 AA and its own best practices.
    pub(crate) fn violations(&mut self) -> Vec<String> {
        // Injected by the debugger, because the page's content security policy forbids such
        // scripts.
        if self.eval("typeof axe") == "undefined" {
            self.eval(&format!("{AXE}; true"));
        }
        let tags = json!(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]);
        let found = self.eval(&format!(
            "axe.run(document, {{ runOnly: {tags}, resultTypes: ['violations'] }}).then(found =>
                found.violations.flatMap(({{ id, help, nodes }}) => nodes.map(node =>
                    `${{id}}: ${{help}}\\n    ${{node.html}}\\n    ${{node.failureSummary}}`)))"
        ));
        let texts = found.as_array().expect("a list").iter();
        texts.map(|text| text.as_str().expect("a text").to_owned()).collect()
    }

    #[track_caller]
    pub(crate) fn assert_accessible(&mut self, name: &str) {
        let violations = self.violations();
        assert!(violations.is_empty(), "{name}\n{}", violations.join("\n"));
    }
}
