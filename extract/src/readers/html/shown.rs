//! What of a page is its content: what is shown, and what is no menu.

use super::tree::{NodeId, Tree};

/// Elements whose content is not text of the page.
const UNSHOWN: &[&str] = &[
    "script",
    "style",
    "template",
    "noscript",
    "head",
    "title",
    "svg",
    "canvas",
    "object",
    "embed",
    "audio",
    "video",
    "select",
    "datalist",
    "textarea",
    "annotation",
    "annotation-xml",
];

/// The fewest words of a `main` or of the articles that are taken for the page's content.
const CONTENT_WORDS_MIN: usize = 5;

/// Tells which elements are left out.
pub struct Shown {
    /// Whether menus, headers and footers of the page are left out.
    pub menus_dropped: bool,
}

impl Shown {
    /// Whether an element and all inside it is left out.
    pub fn is_left_out(&self, tree: &Tree, id: NodeId) -> bool {
        let name = tree.name(id);
        if UNSHOWN.contains(&name) || is_hidden(tree, id) || (name == "dialog" && tree.attribute(id, "open").is_none())
        {
            return true;
        }
        let role = tree.attribute(id, "role").unwrap_or_default();
        self.menus_dropped && (name == "nav" || matches!(role, "navigation" | "search" | "menu" | "menubar"))
    }
}

fn is_hidden(tree: &Tree, id: NodeId) -> bool {
    let says = |name: &str, value: &str| tree.attribute(id, name).is_some_and(|is| is.eq_ignore_ascii_case(value));
    if tree.attribute(id, "hidden").is_some() && !says("hidden", "until-found") {
        return true;
    }
    if says("aria-hidden", "true") || (tree.name(id) == "input" && says("type", "hidden")) {
        return true;
    }
    tree.attribute(id, "style").is_some_and(|style| {
        let style: String =
            style.chars().filter(|c| !c.is_whitespace()).take(2000).collect::<String>().to_ascii_lowercase();
        style.split(';').any(|rule| matches!(rule, "display:none" | "visibility:hidden"))
    })
}

/// Where the content of a page lies: in its `main` element; else in its outermost articles; else in all of its body, with what
/// frames it.
pub fn content(tree: &Tree, body: NodeId) -> Vec<NodeId> {
    let is_main = |id: &NodeId| tree.name(*id) == "main" || tree.attribute(*id, "role") == Some("main");
    if let Some(main) = tree.inside(body).find(|id| is_main(id) && !is_hidden(tree, *id))
        && has_words(tree, &[main])
    {
        return vec![main];
    }
    let mut articles: Vec<NodeId> = Vec::new();
    let mut at = Some(body);
    while let Some(id) = at {
        let is_article = tree.name(id) == "article";
        if is_article && !is_hidden(tree, id) {
            articles.push(id);
        }
        at = tree.after(id, body, !is_article, |_| {});
    }
    if !articles.is_empty() && has_words(tree, &articles) { articles } else { vec![body] }
}

fn has_words(tree: &Tree, roots: &[NodeId]) -> bool {
    let mut words = 0;
    for root in roots {
        for id in tree.inside(*root) {
            if let super::tree::Data::Text(text) = tree.data(id) {
                words += text.split_ascii_whitespace().take(CONTENT_WORDS_MIN).count();
            }
            if words >= CONTENT_WORDS_MIN {
                return true;
            }
        }
    }
    false
}
