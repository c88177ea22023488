//! Every operation, one module each, and the one list of them.

pub mod audit;
pub mod collection;
pub mod erasure;
pub mod knowledge;
pub mod namespace;
pub mod token;

use crate::error::{Code, Error};
use crate::op::Spec;

/// The registry: HTTP routes, `OpenAPI`, `GET /v1/ops` and the command line derive from it.
pub const ALL: &[Spec] = &[
    Spec::command::<knowledge::add::Add>(),
    Spec::command::<knowledge::bulk_add::BulkAdd>(),
    Spec::command::<knowledge::bulk_delete::BulkDelete>(),
    #[cfg(feature = "datasets")]
    Spec::command::<knowledge::dataset_approve::DatasetApprove>(),
    #[cfg(feature = "datasets")]
    Spec::query::<knowledge::dataset_get::DatasetGet>(),
    Spec::query::<knowledge::dedup_list::DedupList>(),
    Spec::command::<knowledge::dedup_resolve::DedupResolve>(),
    Spec::command::<knowledge::delete::Delete>(),
    Spec::query::<knowledge::formats::Formats>(),
    Spec::query::<knowledge::get::Get>(),
    Spec::query::<knowledge::history::History>(),
    Spec::command::<knowledge::ingest::Ingest>(),
    Spec::command::<knowledge::ingest_cancel::IngestCancel>(),
    Spec::query::<knowledge::ingest_status::IngestStatus>(),
    Spec::query::<knowledge::inspect::Inspect>(),
    Spec::query::<knowledge::list::List>(),
    Spec::query::<knowledge::outline::Outline>(),
    #[cfg(feature = "datasets")]
    Spec::query::<knowledge::query::Query>(),
    Spec::query::<knowledge::reads::Reads>(),
    Spec::command::<knowledge::restore::Restore>(),
    Spec::query::<knowledge::search::Search>(),
    Spec::command::<knowledge::update_metadata::UpdateMetadata>(),
    Spec::command::<knowledge::upsert::Upsert>(),
    Spec::command::<namespace::create::Create>(),
    Spec::command::<namespace::delete::Delete>(),
    Spec::query::<namespace::get::Get>(),
    Spec::query::<namespace::list::List>(),
    Spec::command::<namespace::restore::Restore>(),
    Spec::command::<namespace::update::Update>(),
    Spec::command::<collection::create::Create>(),
    Spec::command::<collection::delete::Delete>(),
    Spec::query::<collection::list::List>(),
    Spec::command::<collection::moving::Move>(),
    Spec::query::<audit::list::List>(),
    Spec::command::<erasure::request::Request>(),
    Spec::query::<erasure::status::Status>(),
    Spec::command::<token::create::Create>(),
    Spec::query::<token::list::List>(),
    Spec::command::<token::revoke::Revoke>(),
];

/// The operation of that name.
pub fn find(name: &str) -> Option<&'static Spec> {
    ALL.iter().find(|spec| spec.facts.name == name)
}

/// The error for a name that no operation has; it names the closest one.
pub fn unknown(name: &str) -> Error {
    Error::new(Code::UnknownOp, format!("{}; GET /v1/ops lists them", no_such(name)))
}

/// That no operation has a name, and which comes closest.
pub fn no_such(name: &str) -> String {
    let shown: String = name.chars().filter(|c| !c.is_control()).take(80).collect();
    let closest = ALL
        .iter()
        .map(|spec| (strsim::jaro_winkler(&shown, spec.facts.name), spec.facts.name))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let hint = closest.map_or(String::new(), |(_, closest)| format!(" (the closest is {closest})"));
    format!("there is no operation {shown:?}{hint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_an_unknown_one_is_told_the_closest() {
        for (at, spec) in ALL.iter().enumerate() {
            assert!(ALL[..at].iter().all(|other| other.facts.name != spec.facts.name), "{}", spec.facts.name);
        }
        assert!(unknown("knowledge.serch").message.contains("knowledge.search"));
        assert!(unknown("").message.contains("no operation"));
    }

    #[test]
    fn every_field_is_described() {
        for spec in ALL {
            for schema in [spec.input_schema(), spec.output_schema()] {
                let schema = schema.to_value();
                let mut objects = vec![&schema];
                objects.extend(schema["$defs"].as_object().into_iter().flat_map(|defs| defs.values()));
                for object in objects {
                    for (field, of) in object["properties"].as_object().into_iter().flatten() {
                        assert!(of["description"].is_string(), "{} {field} has no description", spec.facts.name);
                    }
                }
            }
        }
    }
}
