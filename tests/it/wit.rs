//! The contract in `wit/`: it resolves, it is documented, and each world asks for what its name says and no more.

use ringfence::authority::{Capability, CapabilitySet};
use ringfence::sandbox::{Extern, ImportClass};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use wit_parser::{
    Docs, Interface, PackageId, Resolve, SourceMap, Type, TypeDef, TypeDefKind, UnresolvedPackageGroup,
    World, WorldItem,
};

/// What `wit/deps` has of WASI that comes with the crate in use.
const OF_WASI: [&str; 6] = ["cli.wit", "clocks.wit", "filesystem.wit", "io.wit", "random.wit", "sockets.wit"];

/// What belongs to main alone.
const MAINS_ALONE: [&str; 4] =
    ["ringfence:host/message", "ringfence:host/spawn", "ringfence:host/tasks", "ringfence:host/cron"];

/// The worlds, from nothing upward, with all that each can ask the host for.
const WORLDS: [(&str, &[Capability]); 5] = [
    ("pure-tool", &[Capability::Log]),
    ("file-tool", &[Capability::Log, Capability::Files]),
    ("web-tool", &[Capability::Log, Capability::Network]),
    ("exec-tool", &[Capability::Log, Capability::Exec]),
    (
        "agent-tool",
        &[Capability::Log, Capability::Message, Capability::Spawn, Capability::Tasks, Capability::Cron],
    ),
];

fn wit() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("wit")
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// Everything below `wit/`, resolved together: each directory is a package, and so is each file in `deps`.
fn resolved() -> Resolve {
    let mut sources: Vec<Vec<PathBuf>> = Vec::new();
    for dir in entries(&wit()) {
        let files = entries(&dir);
        if dir.ends_with("deps") {
            sources.extend(files.into_iter().map(|file| vec![file]));
        } else {
            sources.push(files);
        }
    }
    let mut packages: Vec<UnresolvedPackageGroup> = sources.iter().map(|files| parsed(files)).collect();
    let mut resolve = Resolve::default();
    let one = packages.pop().unwrap();
    resolve.push_groups(one, packages).unwrap_or_else(|error| panic!("{error}"));
    resolve
}

fn parsed(files: &[PathBuf]) -> UnresolvedPackageGroup {
    let mut sources = SourceMap::default();
    for file in files {
        sources.push_str(&file.display().to_string(), fs::read_to_string(file).unwrap());
    }
    sources.parse().unwrap_or_else(|(sources, error)| panic!("{}", error.render(&sources)))
}

fn package(resolve: &Resolve, name: &str) -> PackageId {
    let known = resolve.packages.iter().find(|(_, package)| package.name.to_string() == name);
    known.unwrap_or_else(|| panic!("there is no package {name}")).0
}

fn worlds(resolve: &Resolve) -> Vec<&World> {
    let worlds = &resolve.packages[package(resolve, "ringfence:worlds@0.1.0")].worlds;
    worlds.values().map(|id| &resolve.worlds[*id]).collect()
}

/// The interfaces that a world imports, with what its interfaces need for their types.
fn imports(resolve: &Resolve, world: &World) -> BTreeSet<String> {
    world.imports.keys().map(|key| resolve.name_world_key(key)).collect()
}

#[test]
fn every_package_and_world_resolves() {
    let resolve = resolved();
    let packages: BTreeSet<String> = resolve.packages.iter().map(|(_, p)| p.name.to_string()).collect();
    let own = ["host", "tool", "worlds"].map(|name| format!("ringfence:{name}@0.1.0"));
    let wasi = ["cli", "clocks", "filesystem", "http", "io", "random", "sockets"];
    let expected: BTreeSet<String> =
        own.into_iter().chain(wasi.map(|name| format!("wasi:{name}@0.2.12"))).collect();
    assert_eq!(packages, expected);
    resolve.assert_valid();
    for (id, package) in resolve.packages.iter() {
        for name in package.worlds.keys() {
            let world = resolve.select_world(&[id], Some(name)).unwrap();
            assert!(resolve.worlds[world].includes.is_empty(), "{}/{name}", package.name);
        }
    }
}

/// Everything of ours that a tool's author can name says what it is.
#[test]
fn each_item_is_documented() {
    let resolve = resolved();
    let mut seen = 0;
    let mut bare = Vec::new();
    let mut look = |name: String, docs: &Docs| {
        seen += 1;
        if docs.contents.as_deref().is_none_or(|text| text.trim().is_empty()) {
            bare.push(name);
        }
    };
    for (_, package) in resolve.packages.iter().filter(|(_, p)| p.name.namespace == "ringfence") {
        for (name, id) in &package.worlds {
            look(format!("{}/{name}", package.name), &resolve.worlds[*id].docs);
        }
        for (name, id) in &package.interfaces {
            let interface = &resolve.interfaces[*id];
            let name = format!("{}/{name}", package.name);
            look(name.clone(), &interface.docs);
            for (function, item) in &interface.functions {
                look(format!("{name}.{function}"), &item.docs);
            }
            for (of, item) in types(&resolve, interface) {
                look(format!("{name}.{of}"), &item.docs);
                for (part, docs) in parts(item) {
                    look(format!("{name}.{of}.{part}"), docs);
                }
            }
        }
    }
    assert!(bare.is_empty(), "without a word: {bare:#?}");
    assert!(seen > 100, "only {seen} items were looked at");
}

/// The types that an interface declares itself; what it uses of another one is documented there.
fn types<'r>(resolve: &'r Resolve, interface: &'r Interface) -> impl Iterator<Item = (&'r str, &'r TypeDef)> {
    let types = interface.types.iter().map(|(name, id)| (name.as_str(), &resolve.types[*id]));
    types.filter(|(_, item)| !matches!(item.kind, TypeDefKind::Type(Type::Id(_))))
}

/// The parts of a type that have names of their own.
fn parts(item: &TypeDef) -> Vec<(&str, &Docs)> {
    match &item.kind {
        TypeDefKind::Record(record) => record.fields.iter().map(|f| (f.name.as_str(), &f.docs)).collect(),
        TypeDefKind::Variant(variant) => variant.cases.iter().map(|c| (c.name.as_str(), &c.docs)).collect(),
        TypeDefKind::Enum(of) => of.cases.iter().map(|c| (c.name.as_str(), &c.docs)).collect(),
        TypeDefKind::Flags(flags) => flags.flags.iter().map(|f| (f.name.as_str(), &f.docs)).collect(),
        _ => Vec::new(),
    }
}

/// The copies of WASI are those that the host is built with, byte for byte.
#[test]
fn wasi_is_that_of_the_crate_in_use() {
    let out = Command::new(env!("CARGO"))
        // For this platform alone, since the sources of other platforms' crates need not be here.
        .args(["metadata", "--offline", "--locked", "--filter-platform", "host-tuple"])
        .args(["--format-version", "1", "--manifest-path"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"))
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let in_use: Vec<&serde_json::Value> = packages.iter().filter(|p| p["name"] == "wasmtime-wasi").collect();
    assert_eq!(in_use.len(), 1, "one version of WASI");
    let manifest = Path::new(in_use[0]["manifest_path"].as_str().unwrap());
    let theirs = manifest.parent().unwrap().join("src/p2/wit/deps");
    for name in OF_WASI {
        let (ours, theirs) = (wit().join("deps").join(name), theirs.join(name));
        let same = fs::read(&ours).unwrap() == fs::read(&theirs).unwrap();
        assert!(same, "{} is not {}", ours.display(), theirs.display());
    }
    let copies: BTreeSet<String> = entries(&wit().join("deps"))
        .iter()
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    let expected: BTreeSet<String> = OF_WASI.into_iter().chain(["http.wit"]).map(String::from).collect();
    assert_eq!(copies, expected);
}

/// From nothing upward: the smallest imports nothing, every other one has all of the smaller one that it includes.
#[test]
fn worlds_stand_smallest_first_and_hold_the_smaller_ones() {
    let resolve = resolved();
    let worlds = worlds(&resolve);
    let names: Vec<&str> = worlds.iter().map(|world| world.name.as_str()).collect();
    assert_eq!(names, WORLDS.map(|(name, _)| name));

    let tool = &resolve.packages[package(&resolve, "ringfence:tool@0.1.0")];
    let least = &resolve.worlds[tool.worlds["pure-tool"]];
    assert_eq!(imports(&resolve, least), BTreeSet::new());

    let pure = imports(&resolve, worlds[0]);
    assert_eq!(pure, BTreeSet::from(["ringfence:host/log@0.1.0".to_owned()]));
    for world in &worlds[1..] {
        let more = imports(&resolve, world);
        assert!(pure.is_subset(&more) && pure != more, "pure-tool ⊂ {}: {more:?}", world.name);
    }
    // Beyond that they are ways apart: none is had by way of another one.
    for world in &worlds[1..] {
        for other in worlds[1..].iter().filter(|other| other.name != world.name) {
            let (world, other) = (imports(&resolve, world), imports(&resolve, other));
            assert!(!world.is_subset(&other), "{world:?} in {other:?}");
        }
    }
}

/// Every world exports the tool interface, and nothing else.
#[test]
fn every_world_is_a_tool() {
    let resolve = resolved();
    let tool = &resolve.packages[package(&resolve, "ringfence:tool@0.1.0")];
    for world in worlds(&resolve).into_iter().chain([&resolve.worlds[tool.worlds["pure-tool"]]]) {
        let exports: Vec<String> = world.exports.keys().map(|key| resolve.name_world_key(key)).collect();
        assert_eq!(exports, ["ringfence:tool/tool@0.1.0"], "{}", world.name);
        let interfaces = |item: &WorldItem| matches!(item, WorldItem::Interface { .. });
        assert!(world.imports.values().chain(world.exports.values()).all(interfaces), "{}", world.name);
    }
}

/// A world asks for what it says: the host knows each of its imports, and together they are these capabilities.
#[test]
fn a_world_asks_for_its_capabilities_and_no_others() {
    let resolve = resolved();
    for (world, (name, capabilities)) in worlds(&resolve).into_iter().zip(WORLDS) {
        let mut asked = CapabilitySet::NONE;
        for import in imports(&resolve, world) {
            let (interface, version) = import.split_once('@').unwrap();
            let import = Extern { name: interface.to_owned(), version: Some(version.to_owned()) };
            match ImportClass::of(&import) {
                ImportClass::Request(capability) => asked = asked.with(capability),
                ImportClass::Leftover | ImportClass::Types => {}
                class => panic!("{name} imports {interface}, which is {class:?} here"),
            }
        }
        assert_eq!(asked, CapabilitySet::of(capabilities), "{name}");
    }
}

#[test]
fn what_belongs_to_main_is_imported_by_agent_tools_alone() {
    let resolve = resolved();
    for world in worlds(&resolve) {
        let imports = imports(&resolve, world);
        for interface in MAINS_ALONE {
            let imported = imports.contains(&format!("{interface}@0.1.0"));
            assert_eq!(imported, world.name == "agent-tool", "{interface} by {}", world.name);
        }
    }
}

/// The package's own list of everything that it gives is everything that it gives.
#[test]
fn all_capabilities_are_all_interfaces_of_the_host_package() {
    let resolve = resolved();
    let host = &resolve.packages[package(&resolve, "ringfence:host@0.1.0")];
    let all = imports(&resolve, &resolve.worlds[host.worlds["all-capabilities"]]);
    let expected: BTreeSet<String> =
        host.interfaces.keys().map(|name| format!("ringfence:host/{name}@0.1.0")).collect();
    assert_eq!(all, expected);
}
