//! The heads of tables.

use maud::{Markup, html};

/// The head of a table: a column of numbers begins with `>`, a wide one with `+`.
pub(crate) fn head(columns: &[&str]) -> Markup {
    html! {
        thead {
            tr {
                @for column in columns {
                    @let class = match column.as_bytes() {
                        [b'>', ..] => Some("number"),
                        [b'+', ..] => Some("wide"),
                        _ => None,
                    };
                    th class=[class] scope="col" { (column.trim_start_matches(['>', '+'])) }
                }
            }
        }
    }
}
