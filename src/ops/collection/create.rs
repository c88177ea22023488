//! `collection.create`: a collection by its title, made once.

use loom_storage::{Batch, Hash, Scope, Snapshot};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Place;
use crate::access::{self, Addresses};
use crate::context::Planning;
use crate::error::{Code, Error};
use crate::limits;
use crate::namespaces::{self, NamespaceFacts, NamespaceKind, Visibility, folded_title};
use crate::op::{Command, Facts, Kind, Plan, Role};

/// How many deleted or renamed collections of one title are passed over before a further one is refused.
const SAME_NAME_MAX: u32 = 1_000;
/// The letters of a title that its name shows.
const SLUG_MAX: usize = 40;

/// See the module.
pub struct Create;

/// The input of `collection.create`.
#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// The tenant.
    #[serde(default)]
    org: String,
    /// The title: 1 to 200 characters that can be seen.
    title: String,
    /// The collection to make it in; empty: at the top.
    #[serde(default)]
    parent: String,
    /// Take its name from the title, and answer the collection of that title where the place has one: titles that differ in case
    /// or spacing are one. At the top only the caller's own counts.
    #[serde(default)]
    derive_name: bool,
    /// Its name, without `derive_name`.
    #[serde(default)]
    name: String,
    /// Who finds what it holds.
    #[serde(default)]
    visibility: Visibility,
}

/// The output of `collection.create`.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Its name, which documents are written under.
    namespace: String,
    /// Whether this call made it.
    created: bool,
    /// Its title.
    title: String,
    /// The collection that it stands in; null at the top.
    parent: Option<String>,
}

impl Command for Create {
    type Input = Input;
    type Output = Output;
    const FACTS: Facts = Facts {
        name: "collection.create",
        role: Role::Writer,
        kind: Kind::Idempotent,
        audited: true,
        mcp_all_listed: false,
        summary: "Make a collection in another one or at the top; by its title it is made once.",
    };
    const ADDRESSES: Addresses = Addresses::Organisation;

    fn plan(planning: &Planning<'_>, input: &Input) -> Result<Plan<Output>, Error> {
        limits::name("org", &input.org)?;
        namespaces::check_title("title", &input.title)?;
        if folded_title(&input.title).is_empty() {
            return Err(Error::invalid("title", "title must hold more than spaces: a collection is shown by it"));
        }
        if input.derive_name != input.name.is_empty() {
            return Err(Error::invalid("name", "name must be given without `derive_name`, and left out with it"));
        }
        let place = Place::of(planning, &input.org, &input.parent, 0, "collection.create")?;
        let parent = (!input.parent.is_empty()).then(|| input.parent.clone());
        let existing = if input.derive_name { of_that_title(planning, input, parent.as_deref())? } else { None };
        if let Some((scope, title)) = existing {
            let audit = json!({ "created": false });
            let answer = move |_: &_| Output { namespace: scope.namespace, created: false, title, parent };
            return Ok(Plan { batch: Batch::default(), answer: Box::new(answer), audit });
        }
        let scope = fresh(planning, input)?;
        let facts = NamespaceFacts {
            kind: NamespaceKind::Collection,
            visibility: input.visibility,
            title: input.title.clone(),
            owner: planning.actor().to_owned(),
            parent: parent.clone(),
            created_at: Some(planning.now()),
            deleted_at: None,
        };
        let mut batch = Batch::default();
        batch.preconditions.extend(place.guards());
        batch.preconditions.push(namespaces::unchanged(&scope, None));
        batch.writes.push(namespaces::write(&scope, &facts)?);
        let audit = json!({ "created": true, "namespace": scope.namespace, "parent": parent });
        let title = facts.title;
        let answer = move |_: &_| Output { namespace: scope.namespace, created: true, title, parent };
        Ok(Plan { batch, answer: Box::new(answer), audit })
    }
}

/// The collection of that title in the place, if there is one that the caller may write to.
fn of_that_title(
    planning: &Planning<'_>,
    input: &Input,
    parent: Option<&str>,
) -> Result<Option<(Scope, String)>, Error> {
    let wanted = folded_title(&input.title);
    for (scope, known) in namespaces::children(planning.snapshot(), &input.org, parent)? {
        let is_theirs = parent.is_some() || known.facts.owner == planning.actor();
        let role = access::role_in(planning.caller(), planning.snapshot(), &scope)?;
        if is_theirs && role >= Some(Role::Writer) && folded_title(&known.facts.title) == wanted {
            return Ok(Some((scope, known.facts.title)));
        }
    }
    Ok(None)
}

/// A name that nothing has: the one that was given, or one made of the title.
fn fresh(planning: &Planning<'_>, input: &Input) -> Result<Scope, Error> {
    let snapshot = planning.snapshot();
    if !input.derive_name {
        limits::name("name", &input.name)?;
        let scope = Scope::new(&input.org, &input.name);
        access::require(planning.caller(), snapshot, &scope, Role::Writer, "collection.create").or_else(|error| {
            // Inside a collection the place's role is enough.
            if input.parent.is_empty() { Err(error) } else { Ok(()) }
        })?;
        if is_taken(snapshot, &scope)? {
            let message = format!("the namespace {} exists: choose another name", scope.namespace);
            return Err(Error { field: Some("name".into()), ..Error::new(Code::PreconditionFailed, message) });
        }
        return Ok(scope);
    }
    let owner = if input.parent.is_empty() { planning.actor() } else { "" };
    for nth in 0..SAME_NAME_MAX {
        let scope = Scope::new(&input.org, derived(&input.title, &input.parent, owner, nth));
        if !is_taken(snapshot, &scope)? {
            return Ok(scope);
        }
    }
    let message = "too many collections of this title were made and deleted here: choose another title";
    Err(Error { field: Some("title".into()), ..Error::new(Code::PreconditionFailed, message) })
}

fn is_taken(snapshot: &dyn Snapshot, scope: &Scope) -> Result<bool, Error> {
    Ok(namespaces::known(snapshot, scope)?.changed.is_some() || snapshot.namespace(scope)?.is_some())
}

/// The name of the `nth` collection of a title in a place: the title as far as a name can show it, and what tells it apart.
fn derived(title: &str, parent: &str, owner: &str, nth: u32) -> String {
    let folded = folded_title(title);
    let words = folded.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut slug = words.collect::<Vec<_>>().join("-");
    slug.truncate(SLUG_MAX);
    let nth = nth.to_string();
    let parts = [parent, "\0", owner, "\0", &folded, "\0", &nth].map(str::as_bytes);
    let hash = &Hash::of_all(&parts).hex()[..12];
    if slug.is_empty() { format!("c-{hash}") } else { format!("{}-{hash}", slug.trim_end_matches('-')) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_shows_the_title_and_tells_places_apart() {
        let name = derived("Q3  Übersicht / Plans", "", "user:a", 0);
        assert!(name.starts_with("q3-bersicht-plans-"), "{name}");
        assert_eq!(name, derived("q3 übersicht / PLANS", "", "user:a", 0));
        for other in [derived("Q3 Übersicht / Plans", "", "user:b", 0), derived("Q3 Übersicht / Plans", "p", "", 0)] {
            assert_ne!(name, other);
        }
        for title in ["日本語", "-", "x".repeat(200).as_str()] {
            let name = derived(title, "", "", 1);
            assert!(limits::name("name", &name).is_ok(), "{name}");
        }
    }
}
