//! `rate` and `concurrency`: how many items of a map start per unit of time, and limits for items
//! that share a key.

use std::num::NonZeroU32;

use super::super::{KeyLimit, KeyLimitValue, Limits};
use super::Forms;
use super::keys::LIMIT;
use crate::template::available::AvailableValues;
use crate::template::text::Template;
use crate::yaml::node::{Node, Value};
use retry_workflow::Rate;

impl Forms<'_> {
    /// Reads both keys of `map`.
    pub(super) fn limits(&mut self, node: &Node, item: AvailableValues<'_>) -> Limits {
        let mut limits = Limits::default();
        for (key, example) in
            [("rate", "10/s"), ("concurrency", "{ per: \"${item.host}\", limit: 2 }")]
        {
            if let Some(list) = node.get(key).filter(|node| node.each().is_empty()) {
                self.wrong(
                    list.span,
                    format!(
                        "this list is empty, and limits nothing: write `{key}: {example}`, or remove it"
                    ),
                );
            }
        }
        for limit in node.get("rate").map(Node::each).unwrap_or_default() {
            match &limit.value {
                Value::Map(_) => {
                    let read =
                        |forms: &mut Self, node: &Node| forms.rate(node).map(KeyLimitValue::Rate);
                    limits.by_key.extend(self.key_limit(limit, item, "5/s", read));
                }
                _ if limits.rate.is_some() => {
                    self.wrong(
                        limit.span,
                        "there is already a rate for all items: keep one of the two",
                    );
                }
                _ => limits.rate = self.rate(limit),
            }
        }
        for limit in node.get("concurrency").map(Node::each).unwrap_or_default() {
            let Value::Map(_) = &limit.value else {
                // Neither of them can be 0.
                let most = limit.scalar().filter(|most| most != "0");
                let most = most.unwrap_or_else(|| "10".to_owned());
                self.wrong(
                    limit.span,
                    format!(
                        "for all items together, write `max_parallel: {most}`; for items that \
                         share a key, write `{{ per: \"${{item.host}}\", limit: {most} }}`"
                    ),
                );
                continue;
            };
            let read = |forms: &mut Self, node: &Node| {
                NonZeroU32::new(forms.positive(node, "limit")?).map(KeyLimitValue::Concurrency)
            };
            limits.by_key.extend(self.key_limit(limit, item, "2", read));
        }
        limits
    }

    fn rate(&mut self, node: &Node) -> Option<Rate> {
        let Some(text) = node.scalar() else {
            return self.unexpected(node, "a rate, such as `10/s`");
        };
        let rate = text.parse::<Rate>();
        rate.map_err(|error| self.wrong(node.span, error.to_string())).ok()
    }

    /// `{ per: …, limit: … }`.
    fn key_limit(
        &mut self,
        node: &Node,
        item: AvailableValues<'_>,
        example: &str,
        read: impl FnOnce(&mut Self, &Node) -> Option<KeyLimitValue>,
    ) -> Option<KeyLimit> {
        self.entries(node, "`per` and `limit`", LIMIT)?;
        let missing = |forms: &mut Self, key: &str| {
            if node.get(key).is_none() && !super::has_misspelt(node, &[key]) {
                let form = format!("{{ per: \"${{item.host}}\", limit: {example} }}");
                forms.wrong(node.span, format!("`{key}` is missing: write `{form}`"));
            }
        };
        missing(self, "per");
        missing(self, "limit");
        let bound = node.get("limit").and_then(|limit| read(self, limit));
        let available = AvailableValues { label: "the key of a limit", captured: &[], ..item };
        let per = node.get("per").and_then(|per| {
            let template: Template = self.template(per, available)?;
            if template.placeholders().next().is_none() {
                self.wrong(
                    per.span,
                    "this key is the same for all items: write a placeholder, such as \
                     `\"${item.host}\"`",
                );
            }
            Some(template)
        });
        Some(KeyLimit { per: per?, bound: bound? })
    }
}
