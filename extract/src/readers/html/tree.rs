//! The tree of an HTML document, built by the rules of the HTML standard.

use std::borrow::Cow;
use std::cell::{Cell, Ref, RefCell};

use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::{Attribute, ParseOpts, QualName, parse_document};

use super::super::Bounds;
use super::tags;
use crate::contract::{Refusal, RefusalCode};

/// The deepest nesting of elements. Browsers stop at 512 too.
const DEPTH_MAX: u32 = 512;
/// The most nodes of a document of `n` bytes: `n` times this, and a thousand.
const NODES_PER_BYTE: usize = 2;
/// How much is parsed between two looks at the bounds.
const STEP_BYTES: usize = 4096;

/// A node's place in its tree.
pub type NodeId = u32;

/// What a node is.
#[derive(Debug)]
pub enum Data {
    /// The document, or another node without a text of its own.
    Other,
    Text(StrTendril),
    Element(QualName, Vec<Attribute>),
}

#[derive(Debug)]
struct Node {
    data: Data,
    parent: Option<NodeId>,
    previous: Option<NodeId>,
    next: Option<NodeId>,
    first: Option<NodeId>,
    last: Option<NodeId>,
    depth: u32,
}

/// The tree of a document. Node 0 is the document.
#[derive(Debug)]
pub struct Tree {
    nodes: Vec<Node>,
}

impl Tree {
    /// Parses a document.
    ///
    /// # Errors
    /// [`RefusalCode::ResourceLimit`] where it nests deeper than any browser follows, makes many more nodes than its size
    /// explains, or has a tag with thousands of attributes; [`RefusalCode::Timeout`].
    pub fn parse(html: &str, bounds: &Bounds) -> Result<Self, Refusal> {
        if tags::are_overloaded(html) {
            let message = "a tag of the page has more attributes than are read";
            return Err(Refusal::new(RefusalCode::ResourceLimit, message));
        }
        let mut options = ParseOpts::default();
        options.tree_builder.scripting_enabled = false;
        let mut parser = parse_document(Sink::default(), options);
        let nodes_max = html.len().saturating_mul(NODES_PER_BYTE) + 1000;
        let mut at = 0;
        while at < html.len() {
            let end = html.floor_char_boundary(at + STEP_BYTES).max(html.ceil_char_boundary(at + 1));
            parser.process(StrTendril::from_slice(&html[at..end]));
            at = end;
            bounds.check_time()?;
            let sink = &parser.tokenizer.sink.sink;
            if sink.deepest.get() > DEPTH_MAX || sink.nodes.borrow().len() > nodes_max {
                let message = "the HTML nests deeper than browsers follow, or its markup multiplies";
                return Err(Refusal::new(RefusalCode::ResourceLimit, message));
            }
        }
        Ok(parser.finish())
    }

    /// What a node is.
    pub fn data(&self, id: NodeId) -> &Data {
        &self.nodes[id as usize].data
    }

    /// An element's name; empty for any other node and for names outside HTML, except the roots of drawings and formulas.
    pub fn name(&self, id: NodeId) -> &str {
        match self.data(id) {
            Data::Element(name, _) => &name.local,
            Data::Other | Data::Text(_) => "",
        }
    }

    /// The value of an element's attribute.
    pub fn attribute(&self, id: NodeId, name: &str) -> Option<&str> {
        match self.data(id) {
            Data::Element(_, attributes) => {
                attributes.iter().find(|attribute| &*attribute.name.local == name).map(|attribute| &*attribute.value)
            }
            Data::Other | Data::Text(_) => None,
        }
    }

    /// The node's parent.
    pub fn parent(&self, id: NodeId) -> Option<NodeId> {
        self.nodes[id as usize].parent
    }

    /// The nodes directly inside, in order.
    pub fn children(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        std::iter::successors(self.nodes[id as usize].first, |id| self.nodes[*id as usize].next)
    }

    /// The node that comes after `id` in the order of the document, inside `root`: its first child where `inside`, else what
    /// follows it. Each node whose end is passed goes to `left`.
    pub fn after(&self, id: NodeId, root: NodeId, inside: bool, mut left: impl FnMut(NodeId)) -> Option<NodeId> {
        let node = |id: NodeId| &self.nodes[id as usize];
        if inside && let Some(first) = node(id).first {
            return Some(first);
        }
        let mut at = id;
        loop {
            left(at);
            if at == root {
                return None;
            }
            if let Some(next) = node(at).next {
                return Some(next);
            }
            at = node(at).parent?;
        }
    }

    /// All nodes inside `root` and itself, in the order of the document.
    pub fn inside(&self, root: NodeId) -> impl Iterator<Item = NodeId> {
        std::iter::successors(Some(root), move |id| self.after(*id, root, true, |_| {}))
    }
}

/// Where the parser builds.
struct Sink {
    nodes: RefCell<Vec<Node>>,
    deepest: Cell<u32>,
}

impl Default for Sink {
    fn default() -> Self {
        let sink = Self { nodes: RefCell::default(), deepest: Cell::new(0) };
        sink.add(Data::Other);
        sink
    }
}

impl Sink {
    fn add(&self, data: Data) -> NodeId {
        let mut nodes = self.nodes.borrow_mut();
        nodes.push(Node { data, parent: None, previous: None, next: None, first: None, last: None, depth: 0 });
        NodeId::try_from(nodes.len() - 1)
            .expect("a document has fewer nodes than bytes, and files are smaller than 4 GiB")
    }

    /// Puts `child` under `parent`, before `next` or at the end.
    fn link(&self, child: NodeId, parent: NodeId, next: Option<NodeId>) {
        self.unlink(child);
        let mut nodes = self.nodes.borrow_mut();
        let previous = match next {
            Some(next) => nodes[next as usize].previous,
            None => nodes[parent as usize].last,
        };
        match previous {
            Some(previous) => nodes[previous as usize].next = Some(child),
            None => nodes[parent as usize].first = Some(child),
        }
        match next {
            Some(next) => nodes[next as usize].previous = Some(child),
            None => nodes[parent as usize].last = Some(child),
        }
        let depth = nodes[parent as usize].depth + 1;
        self.deepest.set(self.deepest.get().max(depth));
        let node = &mut nodes[child as usize];
        (node.parent, node.previous, node.next, node.depth) = (Some(parent), previous, next, depth);
    }

    fn unlink(&self, child: NodeId) {
        let mut nodes = self.nodes.borrow_mut();
        let node = &mut nodes[child as usize];
        let (parent, previous, next) = (node.parent.take(), node.previous.take(), node.next.take());
        let Some(parent) = parent else { return };
        match previous {
            Some(previous) => nodes[previous as usize].next = next,
            None => nodes[parent as usize].first = next,
        }
        match next {
            Some(next) => nodes[next as usize].previous = previous,
            None => nodes[parent as usize].last = previous,
        }
    }

    fn insert(&self, parent: NodeId, next: Option<NodeId>, child: NodeOrText<NodeId>) {
        let child = match child {
            NodeOrText::AppendNode(child) => child,
            NodeOrText::AppendText(text) => {
                let mut nodes = self.nodes.borrow_mut();
                let before = match next {
                    Some(next) => nodes[next as usize].previous,
                    None => nodes[parent as usize].last,
                };
                if let Some(before) = before
                    && let Data::Text(earlier) = &mut nodes[before as usize].data
                {
                    earlier.push_tendril(&text);
                    return;
                }
                drop(nodes);
                self.add(Data::Text(text))
            }
        };
        self.link(child, parent, next);
    }
}

impl TreeSink for Sink {
    type Handle = NodeId;
    type Output = Tree;
    type ElemName<'a> = Ref<'a, QualName>;

    fn finish(self) -> Tree {
        Tree { nodes: self.nodes.into_inner() }
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> NodeId {
        0
    }

    fn elem_name<'a>(&'a self, target: &'a NodeId) -> Ref<'a, QualName> {
        Ref::map(self.nodes.borrow(), |nodes| match &nodes[*target as usize].data {
            Data::Element(name, _) => name,
            Data::Other | Data::Text(_) => unreachable!("the tree builder asks only elements for their names"),
        })
    }

    fn create_element(&self, name: QualName, attributes: Vec<Attribute>, _: ElementFlags) -> NodeId {
        self.add(Data::Element(name, attributes))
    }

    fn create_comment(&self, _: StrTendril) -> NodeId {
        self.add(Data::Other)
    }

    fn create_pi(&self, _: StrTendril, _: StrTendril) -> NodeId {
        self.add(Data::Other)
    }

    fn append(&self, parent: &NodeId, child: NodeOrText<NodeId>) {
        self.insert(*parent, None, child);
    }

    fn append_based_on_parent_node(&self, element: &NodeId, previous: &NodeId, child: NodeOrText<NodeId>) {
        let has_parent = self.nodes.borrow()[*element as usize].parent.is_some();
        if has_parent {
            self.append_before_sibling(element, child);
        } else {
            self.append(previous, child);
        }
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    /// A template's contents hang under it; the walk leaves templates out.
    fn get_template_contents(&self, target: &NodeId) -> NodeId {
        *target
    }

    fn same_node(&self, one: &NodeId, other: &NodeId) -> bool {
        one == other
    }

    fn set_quirks_mode(&self, _: QuirksMode) {}

    fn append_before_sibling(&self, sibling: &NodeId, node: NodeOrText<NodeId>) {
        let parent = self.nodes.borrow()[*sibling as usize].parent;
        if let Some(parent) = parent {
            self.insert(parent, Some(*sibling), node);
        }
    }

    fn add_attrs_if_missing(&self, target: &NodeId, more: Vec<Attribute>) {
        if let Data::Element(_, attributes) = &mut self.nodes.borrow_mut()[*target as usize].data {
            for attribute in more {
                if attributes.iter().all(|there| there.name != attribute.name) {
                    attributes.push(attribute);
                }
            }
        }
    }

    fn remove_from_parent(&self, target: &NodeId) {
        self.unlink(*target);
    }

    fn reparent_children(&self, node: &NodeId, parent: &NodeId) {
        loop {
            let first = self.nodes.borrow()[*node as usize].first;
            let Some(child) = first else { break };
            self.link(child, *parent, None);
        }
    }
}
