//! `rate` and `concurrency`: how many items of a map start per unit of time, and how many run that
//! share a key.

use std::num::NonZeroU32;

use super::super::{ItemText, Limits, RateLimit};
use super::Forms;
use super::keys::{LIMIT, RATE};
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
        for node in node.get("rate").map(Node::each).unwrap_or_default() {
            let Some(rate) = self.rate_limit(node, item) else { continue };
            let is_like = |one: &RateLimit| {
                (&one.key, one.limit.unit()) == (&rate.key, rate.limit.unit())
                    && one.cost.is_none()
                    && rate.cost.is_none()
            };
            if limits.rates.iter().any(is_like) {
                self.wrong(
                    node.span,
                    "there is already a rate of this unit for the same items: keep one of the two",
                );
            }
            limits.rates.push(rate);
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
            let per = self.key_of(limit, item, (LIMIT, "`per` and `limit`"), "2");
            let most = limit.get("limit").and_then(|most| self.positive(most, "limit"));
            let most = most.and_then(NonZeroU32::new);
            let Some((per, most)) = per.zip(most) else { continue };
            if limits.concurrency.iter().any(|(one, _)| one.text == per.text) {
                self.wrong(limit.span, "these items already have a limit: keep one of the two");
            }
            limits.concurrency.push((per, most));
        }
        limits
    }

    /// A rate, or `{ per: …, cost: …, limit: … }`.
    fn rate_limit(&mut self, node: &Node, item: AvailableValues<'_>) -> Option<RateLimit> {
        let Value::Map(_) = &node.value else {
            let limit = self.rate(node)?;
            return Some(RateLimit { per: None, key: String::new(), limit, cost: None });
        };
        let per = self.key_of(node, item, (RATE, "`per`, `cost` and `limit`"), "5/s");
        let available = AvailableValues { label: "the cost of an item", captured: &[], ..item };
        let limit = node.get("limit").and_then(|limit| self.rate(limit));
        let cost = match node.get("cost") {
            Some(cost) => Some(self.varying(cost, available, "cost", "tokens")?),
            None => None,
        };
        let key = node.get("per").and_then(Node::scalar).unwrap_or_default();
        Some(RateLimit { per, key, limit: limit?, cost })
    }

    fn rate(&mut self, node: &Node) -> Option<Rate> {
        let Some(text) = node.scalar() else {
            return self.unexpected(node, "a rate, such as `10/s`");
        };
        let rate = text.parse::<Rate>();
        rate.map_err(|error| self.wrong(node.span, error.to_string())).ok()
    }

    /// Checks the keys of a limit, and returns the key of its items.
    fn key_of(
        &mut self,
        node: &Node,
        item: AvailableValues<'_>,
        (known, expected): (&[&str], &str),
        example: &str,
    ) -> Option<ItemText> {
        self.entries(node, expected, known)?;
        // A cost is enough.
        let of: &[&str] = if known.contains(&"cost") { &["per", "cost"] } else { &["per"] };
        for keys in [of, &["limit"]] {
            let is_missing = keys.iter().all(|key| node.get(key).is_none());
            if is_missing && !super::has_misspelt(node, keys) {
                let form = format!("{{ per: \"${{item.host}}\", limit: {example} }}");
                let keys = keys.join("` or `");
                self.wrong(node.span, format!("`{keys}` is missing: write `{form}`"));
            }
        }
        let available = AvailableValues { label: "the key of a limit", captured: &[], ..item };
        self.varying(node.get("per")?, available, "key", "host")
    }

    /// A text that differs between items: it has a placeholder.
    pub(super) fn varying(
        &mut self,
        node: &Node,
        available: AvailableValues<'_>,
        noun: &str,
        field: &str,
    ) -> Option<ItemText> {
        let is_number = matches!(node.scalar(), Some(text) if text.parse::<f64>().is_ok());
        let template = if is_number { None } else { Some(self.template(node, available)?) };
        if template.as_ref().is_none_or(|it: &Template| it.placeholders().next().is_none()) {
            self.wrong(
                node.span,
                format!(
                    "this {noun} is the same for all items: write a placeholder, such as \
                     `\"${{item.{field}}}\"`"
                ),
            );
        }
        Some(ItemText { template: template?, text: node.scalar()?, span: node.span })
    }
}
