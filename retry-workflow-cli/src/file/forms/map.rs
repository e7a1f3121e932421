//! `map`, and what belongs to it: the input, what is done with each item, and `reduce`.

use std::time::Duration;

use super::super::{ItemId, MapPlan, Plan};
use super::{Forms, MAP};
use crate::file::item_path::ItemPath;
use crate::template::placeholder::Offers;
use crate::yaml::node::Node;

impl Forms<'_> {
    pub(super) fn map_reduce(&mut self, root: &Node) -> Option<Plan> {
        let node = self.needed(root, "map", "mode: mapreduce")?;
        let reduce = root
            .get("reduce")
            .map(|node| self.steps(node, Offers { map: true, ..Offers::default() }));
        self.entries(node, "a map with `input` and `agent_template`", MAP)?;
        let item = Offers { item: true, ..Offers::default() };
        let input = self.needed(node, "input", "map").and_then(|input| self.text(input));
        let steps = self.needed(node, "agent_template", "map").map(|steps| self.steps(steps, item));
        let input_span = node.get("input").map_or(node.span, |input| input.span);
        let item_path = match node.get("json_path") {
            Some(path) => self.item_path(path),
            None => ItemPath::each(input_span),
        };
        let item_id = node.get("item_id").and_then(|id| {
            let offers = Offers { label: "the id of an item", ..item };
            let template = self.template(id, offers)?;
            Some(ItemId { template, span: id.span })
        });
        let max_parallel = match node.get("max_parallel") {
            Some(most) => self.parsed(most.parse::<u32>()).inspect(|number| {
                if *number == 0 {
                    self.wrong(
                        most.span,
                        "with `max_parallel: 0` nothing is done: write 1 or more",
                    );
                }
            }),
            None => Some(10),
        };
        Some(Plan::MapReduce(Box::new(MapPlan {
            input: input?.into(),
            input_span,
            item_path: item_path?,
            item_id,
            steps: steps?,
            agent_timeout: self.agent_timeout(node),
            max_parallel: usize::try_from(max_parallel?).unwrap_or(usize::MAX),
            reduce,
        })))
    }

    /// How long all steps of an item may run; in one of two places.
    fn agent_timeout(&mut self, node: &Node) -> Option<Duration> {
        const KEY: &str = "agent_timeout_secs";

        let inside = node.get("timeout_config").and_then(|config| {
            self.entries(config, "`agent_timeout_secs`", &[KEY])?;
            config.get(KEY)
        });
        let limit = node.get(KEY).or(inside)?;
        if let Some(inside) = inside.filter(|inside| !inside.says_same(limit)) {
            self.wrong(inside.span, format!("`{KEY}` stands here twice, and differs: keep one"));
        }
        self.timeout(limit)
    }

    fn item_path(&mut self, node: &Node) -> Option<ItemPath> {
        let text = self.text(node)?;
        let path = ItemPath::read(node, text, &self.source.text);
        self.parsed(path)
    }
}
