//! The plan of the crates, as docs/ARCHITECTURE.md states it: a file or a folder is a room, every
//! import leads down, and a floor has few rooms.
//!
//! A folder and the file of its name beside it are one room. Between the rooms of a folder, imports
//! may not lead in a circle: then there is an order in which all of them lead down.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The folders of the published crates.
pub(crate) const CRATES: [&str; 8] = [
    "retry-rules",
    "retry-macros",
    "retry-runtime",
    "retry-fleet",
    "jobs/retry-workflow",
    "jobs/retry-workflow-postgres",
    "jobs/retry-board",
    "jobs/retry-workflow-cli",
];

/// More than these do not fit on a page.
const MOST_ROOMS: usize = 16;

/// A module as the names from the crate's root.
type Module = Vec<String>;

/// The modules of a crate, each with its source without tests.
fn modules(folder: &Path, inside: &[String], found: &mut BTreeMap<Module, String>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        if name == "tests" {
            continue;
        }
        let module: Module = inside.iter().cloned().chain([name]).collect();
        if path.is_dir() {
            modules(&path, &module, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = fs::read_to_string(&path).expect("a source");
            let code = source.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default();
            found.insert(module, code.to_owned());
        }
    }
}

/// The paths that `use` items name, with their braces resolved, and those that stand in the code.
fn imports(code: &str) -> Vec<Module> {
    let mut paths = Vec::new();
    for line in code.lines().map(|line| line.split("//").next().unwrap_or_default()) {
        let of_name = |c: char| c.is_alphanumeric() || c == '_';
        for start in ["crate::", "super::"] {
            for (at, _) in line.match_indices(start) {
                let path = line[at..].split(|c| !of_name(c) && c != ':').next().unwrap_or_default();
                if !line[..at].ends_with(|c| of_name(c) || c == ':' || c == '$') {
                    paths.push(path.split("::").map(str::to_owned).collect());
                }
            }
        }
    }
    let mut lines = code.lines().map(|line| line.split("//").next().unwrap_or_default().trim());
    while let Some(line) = lines.next() {
        let item = line.strip_prefix("pub").map_or(line, |rest| match rest.strip_prefix('(') {
            Some(rest) => rest.split_once(')').map_or("", |(_, rest)| rest),
            None => rest,
        });
        let Some(tree) = item.trim().strip_prefix("use ") else { continue };
        let mut tree = tree.to_owned();
        while !tree.contains(';') {
            let Some(line) = lines.next() else { break };
            tree.push_str(line);
        }
        expand(tree.split(';').next().unwrap_or_default(), &[], &mut paths);
    }
    paths
}

fn expand(tree: &str, before: &[String], paths: &mut Vec<Module>) {
    let tree = tree.trim();
    let Some((head, rest)) = tree.split_once('{') else {
        let name = tree.split(" as ").next().unwrap_or_default();
        let names = name.split("::").map(|name| name.trim().to_owned());
        paths.push(before.iter().cloned().chain(names).collect());
        return;
    };
    let names = head.split("::").map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned);
    let before: Module = before.iter().cloned().chain(names).collect();
    let inside = rest.rsplit_once('}').map_or(rest, |(inside, _)| inside);
    let (mut depth, mut from) = (0_usize, 0);
    for (at, byte) in inside.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                expand(&inside[from..at], &before, paths);
                from = at + 1;
            }
            _ => {}
        }
    }
    if !inside[from..].trim().is_empty() {
        expand(&inside[from..], &before, paths);
    }
}

/// The module of this crate that a path leads to, from the module where it stands.
fn target(path: &[String], at: &[String], modules: &BTreeMap<Module, String>) -> Option<Module> {
    let mut target = match path.first()?.as_str() {
        "crate" => Vec::new(),
        "self" => at.to_vec(),
        "super" => at[..at.len() - 1].to_vec(),
        // A child of this module, or another crate.
        child => {
            let module: Module = at.iter().cloned().chain([child.to_owned()]).collect();
            return modules.contains_key(&module).then_some(module);
        }
    };
    for name in &path[1..] {
        if name == "super" {
            target.pop();
            continue;
        }
        target.push(name.clone());
        if !modules.contains_key(&target) {
            target.pop();
            break;
        }
    }
    Some(target)
}

/// The rooms of a folder, and which of them imports from which, with a file that does.
#[derive(Default)]
struct Floor {
    rooms: BTreeSet<String>,
    arrows: BTreeMap<(String, String), String>,
}

impl Floor {
    /// A way from a room back to itself.
    fn circle(&self) -> Option<Vec<&str>> {
        self.rooms.iter().find_map(|room| {
            let mut ways = vec![vec![room.as_str()]];
            let mut seen = BTreeSet::new();
            while let Some(way) = ways.pop() {
                for (from, to) in self.arrows.keys() {
                    if from != way.last().expect("a room") {
                        continue;
                    }
                    let longer: Vec<_> = way.iter().copied().chain([to.as_str()]).collect();
                    if to == room {
                        return Some(longer);
                    }
                    if seen.insert(to) {
                        ways.push(longer);
                    }
                }
            }
            None
        })
    }
}

/// The folders of a crate, by their modules.
fn floors(modules: &BTreeMap<Module, String>) -> BTreeMap<Module, Floor> {
    let mut floors: BTreeMap<Module, Floor> = BTreeMap::new();
    for (module, code) in modules {
        for depth in 0..module.len() {
            let floor = floors.entry(module[..depth].to_vec()).or_default();
            floor.rooms.insert(module[depth].clone());
        }
        // The root names modules as their children; it is above all of them.
        let at = if module == &["lib"] || module == &["main"] { &[][..] } else { module };
        for path in imports(code) {
            let Some(target) = target(&path, at, modules) else { continue };
            let shared = module.iter().zip(&target).take_while(|(one, other)| one == other).count();
            // From a folder to its own face, or the other way round, an import stays in the room.
            if shared == module.len() || shared == target.len() {
                continue;
            }
            let floor = floors.entry(module[..shared].to_vec()).or_default();
            let arrow = (module[shared].clone(), target[shared].clone());
            floor.arrows.entry(arrow).or_insert_with(|| module.join("/"));
        }
    }
    floors
}

#[test]
fn every_import_leads_down_and_no_floor_is_crowded() {
    let mut wrong = Vec::new();
    let mut arrows = 0;
    for name in CRATES {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src");
        let mut found = BTreeMap::new();
        modules(&source, &[], &mut found);
        for (folder, floor) in floors(&found) {
            let place = [&[name.to_owned(), "src".to_owned()], &folder[..]].concat().join("/");
            arrows += floor.arrows.len();
            // The root is a table of contents, not a room.
            let rooms = floor.rooms.iter().filter(|room| *room != "lib" && *room != "main").count();
            if rooms > MOST_ROOMS {
                wrong.push(format!("{place}: {rooms} rooms, {MOST_ROOMS} fit"));
            }
            if let Some(circle) = floor.circle() {
                let files = circle.windows(2).map(|two| {
                    let arrow = (two[0].to_owned(), two[1].to_owned());
                    format!("{} imports from {}", floor.arrows[&arrow], two[1])
                });
                let files = files.collect::<Vec<_>>().join(", ");
                wrong.push(format!("{place}: {}: {files}", circle.join(" → ")));
            }
        }
    }
    assert!(arrows > 300, "the reader of `use` items finds hardly any: {arrows}");
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn imports_are_read_with_their_braces() {
    let code =
        "pub(crate) use crate::a::{self, b::{C, D as E}, f};\n// use crate::no;\nuse super::g;";
    let read: BTreeSet<String> = imports(code).iter().map(|path| path.join("::")).collect();
    for path in ["crate::a::self", "crate::a::b::C", "crate::a::b::D", "crate::a::f", "super::g"] {
        assert!(read.contains(path), "{path} of {read:?}");
    }
    assert!(!read.contains("crate::no"), "{read:?}");
}

#[test]
fn a_circle_is_found() {
    let modules = [("a", "use crate::b::X;"), ("b", "use super::c::Y;"), ("c", "use crate::a::Z;")];
    let modules = modules.map(|(name, code)| (vec![name.to_owned()], code.to_owned())).into();
    let floors = floors(&modules);
    assert_eq!(floors[&Vec::new()].circle(), Some(vec!["a", "b", "c", "a"]));
}
