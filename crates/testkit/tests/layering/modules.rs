//! Module tree of one crate, parsed with syn.

use std::collections::{BTreeMap, BTreeSet};

use syn::ext::IdentExt;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, Meta, UseTree, Visibility};

use crate::tokens;

/// Source files of a crate by their path below `src`.
pub(crate) type Files = BTreeMap<String, String>;

/// The syntax trees of [`Files`].
pub(crate) type Trees = BTreeMap<String, syn::File>;

/// Parses all files of a crate.
pub(crate) fn parse(files: &Files) -> Trees {
    let tree = |name: &str, text: &str| match syn::parse_file(text) {
        Ok(tree) => tree,
        Err(error) => panic!("{name}: {error}"),
    };
    files
        .iter()
        .map(|(name, text)| (name.clone(), tree(name, text)))
        .collect()
}

/// The segments of a path as written.
pub(crate) type Path = Vec<String>;

/// A name that a `use` declaration brings into a module.
pub(crate) struct Import {
    pub(crate) name: String,
    pub(crate) path: Path,
    /// True if the declaration has a visibility, and so re-exports the name.
    pub(crate) reexport: bool,
}

/// A glob import.
pub(crate) struct Glob {
    pub(crate) path: Path,
    pub(crate) reexport: bool,
}

/// One module: a file or an inline `mod`.
#[derive(Default)]
pub(crate) struct Module {
    /// The file that holds the module.
    pub(crate) file: String,
    pub(crate) parent: Option<usize>,
    pub(crate) children: BTreeMap<String, usize>,
    /// Names of the items that the module defines.
    pub(crate) defined: BTreeSet<String>,
    pub(crate) imports: Vec<Import>,
    pub(crate) globs: Vec<Glob>,
    /// Paths mentioned outside `use` declarations.
    pub(crate) mentions: Vec<Path>,
    /// Names of macros invoked without a path.
    pub(crate) invoked: Vec<String>,
    /// The folder that holds the files of child modules.
    folder: String,
}

/// The modules of one crate; the first is its root.
pub(crate) struct Modules {
    pub(crate) all: Vec<Module>,
    /// The module that defines each `macro_rules!` macro.
    pub(crate) macros: BTreeMap<String, usize>,
}

impl Modules {
    /// Reads the crate rooted at the file `root`, with or without test code.
    pub(crate) fn read(files: &Trees, root: &str, tests: bool) -> Self {
        let modules = Self {
            all: Vec::new(),
            macros: BTreeMap::new(),
        };
        let mut reader = Reader {
            files,
            tests,
            modules,
            current: 0,
        };
        let folder = root
            .rsplit_once('/')
            .map_or("", |(folder, _)| folder)
            .to_owned();
        reader.modules.all.push(Module {
            file: root.to_owned(),
            folder,
            ..Module::default()
        });
        reader.file(root);
        reader.modules
    }

    /// Returns true if `module` is `ancestor` or inside it.
    pub(crate) fn is_within(&self, module: usize, ancestor: usize) -> bool {
        module == ancestor
            || self.all[module]
                .parent
                .is_some_and(|parent| self.is_within(parent, ancestor))
    }
}

struct Reader<'a> {
    files: &'a Trees,
    tests: bool,
    modules: Modules,
    current: usize,
}

impl Reader<'_> {
    fn here(&mut self) -> &mut Module {
        &mut self.modules.all[self.current]
    }

    fn skips(&self, attributes: &[Attribute]) -> bool {
        !self.tests && papir_house::is_test(attributes)
    }

    fn file(&mut self, name: &str) {
        let files = self.files;
        let file = &files[name];
        if !self.skips(&file.attrs) {
            self.visit_file(file);
        }
    }

    /// Reads a child module, from its own file unless `item` has a body.
    fn child(&mut self, item: &syn::ItemMod) {
        assert!(
            !item
                .attrs
                .iter()
                .any(|attribute| attribute.path().is_ident("path")),
            "#[path] is not read"
        );
        let name = item.ident.unraw().to_string();
        let file = match &item.content {
            Some(_) => None,
            None => Some(self.child_file(&name)),
        };
        let parent = self.current;
        self.current = match self.here().children.get(&name).copied() {
            // The same module under another `cfg`.
            Some(known) => known,
            None => self.add_child(name, file.clone()),
        };
        match (&item.content, file) {
            (Some((_, items)), _) => items.iter().for_each(|item| self.visit_item(item)),
            (None, Some(file)) => self.file(&file),
            (None, None) => {}
        }
        self.current = parent;
    }

    fn child_file(&mut self, name: &str) -> String {
        let below = join(&self.here().folder, name);
        let candidates = [format!("{below}.rs"), format!("{below}/mod.rs")];
        let found = candidates
            .into_iter()
            .find(|file| self.files.contains_key(file));
        found.unwrap_or_else(|| {
            panic!(
                "{}: `mod {name}` without a file",
                self.modules.all[self.current].file
            )
        })
    }

    fn add_child(&mut self, name: String, file: Option<String>) -> usize {
        let here = self.current;
        let id = self.modules.all.len();
        let folder = join(&self.here().folder, &name);
        let file = file.unwrap_or_else(|| self.here().file.clone());
        self.here().children.insert(name, id);
        self.modules.all.push(Module {
            file,
            parent: Some(here),
            folder,
            ..Module::default()
        });
        id
    }

    /// Adds the names of a `use` tree below `prefix`.
    fn import(&mut self, tree: &UseTree, prefix: &[String], reexport: bool) {
        let with = |ident: &syn::Ident| [prefix, &[ident.unraw().to_string()]].concat();
        match tree {
            UseTree::Path(tree) => self.import(&tree.tree, &with(&tree.ident), reexport),
            UseTree::Group(group) => group
                .items
                .iter()
                .for_each(|tree| self.import(tree, prefix, reexport)),
            UseTree::Glob(_) => self.here().globs.push(Glob {
                path: prefix.to_vec(),
                reexport,
            }),
            UseTree::Name(tree) => self.bind(with(&tree.ident), None, reexport),
            UseTree::Rename(tree) => {
                self.bind(
                    with(&tree.ident),
                    Some(tree.rename.unraw().to_string()),
                    reexport,
                );
            }
        }
    }

    fn bind(&mut self, mut path: Path, alias: Option<String>, reexport: bool) {
        // `use a::{self}` binds `a`.
        if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        let name = alias.or_else(|| path.last().cloned()).unwrap_or_default();
        self.here().imports.push(Import {
            name,
            path,
            reexport,
        });
    }

    fn define(&mut self, ident: &syn::Ident) {
        self.here().defined.insert(ident.unraw().to_string());
    }

    /// Records a `macro_rules!` definition. Only its `crate::` paths mean the same everywhere.
    fn define_macro(&mut self, name: &syn::Ident, item: &syn::ItemMacro) {
        let here = self.current;
        self.define(name);
        self.modules.macros.insert(name.unraw().to_string(), here);
        if item
            .attrs
            .iter()
            .any(|attribute| attribute.path().is_ident("macro_export"))
            && here != 0
        {
            let exported = Import {
                name: name.to_string(),
                path: self.absolute(name),
                reexport: true,
            };
            self.modules.all[0].imports.push(exported);
        }
        let paths = tokens::paths(item.mac.tokens.clone());
        self.here()
            .mentions
            .extend(paths.into_iter().filter(|path| path[0] == "crate"));
    }

    /// The path of `name` in the current module from the root.
    fn absolute(&self, name: &syn::Ident) -> Path {
        let mut path = vec![name.unraw().to_string()];
        let mut module = self.current;
        while let Some(parent) = self.modules.all[module].parent {
            let children = &self.modules.all[parent].children;
            path.extend(
                children
                    .iter()
                    .find(|(_, id)| **id == module)
                    .map(|(name, _)| name.clone()),
            );
            module = parent;
        }
        path.push("crate".to_owned());
        path.reverse();
        path
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let (attributes, name) = parts(item);
        if self.skips(attributes) {
            return;
        }
        name.into_iter().for_each(|name| self.define(name));
        match item {
            Item::Mod(item) => self.child(item),
            Item::Use(item) if item.leading_colon.is_some() => {}
            Item::Use(item) => {
                self.import(&item.tree, &[], !matches!(item.vis, Visibility::Inherited))
            }
            Item::Macro(item) if item.ident.is_some() => {
                item.ident
                    .iter()
                    .for_each(|name| self.define_macro(name, item));
            }
            _ => visit::visit_item(self, item),
        }
    }

    fn visit_impl_item(&mut self, item: &'ast syn::ImplItem) {
        let attributes: &[Attribute] = match item {
            syn::ImplItem::Const(item) => &item.attrs,
            syn::ImplItem::Fn(item) => &item.attrs,
            syn::ImplItem::Type(item) => &item.attrs,
            syn::ImplItem::Macro(item) => &item.attrs,
            _ => &[],
        };
        if !self.skips(attributes) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            let segments = path
                .segments
                .iter()
                .map(|segment| segment.ident.unraw().to_string());
            let segments = segments.collect();
            self.here().mentions.push(segments);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, invocation: &'ast syn::Macro) {
        match invocation.path.get_ident() {
            Some(name) => {
                let name = name.unraw().to_string();
                self.here().invoked.push(name);
            }
            None => self.visit_path(&invocation.path),
        }
        self.here()
            .mentions
            .extend(tokens::paths(invocation.tokens.clone()));
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let Meta::List(list) = &attribute.meta {
            self.here()
                .mentions
                .extend(tokens::paths(list.tokens.clone()));
            if attribute.path().is_ident("serde") {
                self.here()
                    .mentions
                    .extend(tokens::named_functions(list.tokens.clone()));
            }
        }
    }

    /// `pub(in path)` mentions a module without using it.
    fn visit_vis_restricted(&mut self, _: &'ast syn::VisRestricted) {}
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() {
        name.to_owned()
    } else {
        format!("{folder}/{name}")
    }
}

/// The attributes of an item, and the name that it defines.
fn parts(item: &Item) -> (&[Attribute], Option<&syn::Ident>) {
    match item {
        Item::Const(item) => (&item.attrs, Some(&item.ident)),
        Item::Enum(item) => (&item.attrs, Some(&item.ident)),
        Item::Fn(item) => (&item.attrs, Some(&item.sig.ident)),
        Item::Static(item) => (&item.attrs, Some(&item.ident)),
        Item::Struct(item) => (&item.attrs, Some(&item.ident)),
        Item::Trait(item) => (&item.attrs, Some(&item.ident)),
        Item::TraitAlias(item) => (&item.attrs, Some(&item.ident)),
        Item::Type(item) => (&item.attrs, Some(&item.ident)),
        Item::Union(item) => (&item.attrs, Some(&item.ident)),
        Item::ExternCrate(item) => (&item.attrs, None),
        Item::ForeignMod(item) => (&item.attrs, None),
        Item::Impl(item) => (&item.attrs, None),
        Item::Macro(item) => (&item.attrs, None),
        Item::Mod(item) => (&item.attrs, None),
        Item::Use(item) => (&item.attrs, None),
        _ => (&[], None),
    }
}
