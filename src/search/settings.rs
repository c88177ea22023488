//! What an operator can set about searching, and the defaults.

use loom_index::fuse::Fusion;

use crate::embed::Card;
use crate::error::{Code, Error};

/// How searches rank and how far they reach.
#[derive(Clone, Debug)]
pub struct SearchSettings {
    /// How the legs' lists become one: `LOOM_KNOWLEDGE_FUSION`, `convex` (default) or `reciprocal_rank`.
    pub fusion: FusionKind,
    /// The vector leg's share of a convex fusion, of scores that are equally far apart: `LOOM_KNOWLEDGE_VECTOR_SHARE`, 0 to
    /// 1; by default what the embedding model's card says.
    pub vector_share: Option<f64>,
    /// Whether hits in noise sections move below those close to the query: `LOOM_KNOWLEDGE_NOISE_FILTER`, `on` (default)
    /// or `off`.
    pub noise_filter: bool,
    /// The most namespaces that an `all_mine` search reads besides the addressed one:
    /// `LOOM_MEMORY_SEARCH_FANOUT_MAX_NAMESPACES`, default 20.
    pub fanout_namespaces_max: usize,
    /// The kinds of namespaces that an `all_mine` search reads: `LOOM_MEMORY_SEARCH_FANOUT_KINDS`, separated by commas,
    /// default `memory`.
    pub fanout_kinds: Vec<String>,
}

/// The ways of fusing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FusionKind {
    /// By scores.
    Convex,
    /// By ranks.
    ReciprocalRank,
}

impl Default for SearchSettings {
    fn default() -> Self {
        Self {
            fusion: FusionKind::Convex,
            vector_share: None,
            noise_filter: true,
            fanout_namespaces_max: 20,
            fanout_kinds: vec!["memory".into(), "collection".into()],
        }
    }
}

impl SearchSettings {
    /// The fusion of what legs found for a query, of which one has vectors of a model with this card.
    pub fn fusion(&self, card: &Card, query: &str) -> Fusion {
        match self.fusion {
            FusionKind::Convex => Fusion::Convex {
                vector_share: self.vector_share.unwrap_or_else(|| card.share_for(query)),
                spread_min: card.spread_min,
            },
            FusionKind::ReciprocalRank => Fusion::ReciprocalRank,
        }
    }

    /// Takes what the environment says; a setting that does not parse is an error that names it.
    pub(crate) fn set(&mut self, lookup: &dyn Fn(&str) -> Option<String>) -> Result<(), Error> {
        let given = |name: &str| lookup(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        if let Some(value) = given("LOOM_KNOWLEDGE_FUSION") {
            self.fusion = match value.as_str() {
                "convex" => FusionKind::Convex,
                "reciprocal_rank" => FusionKind::ReciprocalRank,
                _ => return Err(refused("LOOM_KNOWLEDGE_FUSION", &value, "convex or reciprocal_rank")),
            };
        }
        if let Some(value) = given("LOOM_KNOWLEDGE_VECTOR_SHARE") {
            let share = value.parse().ok().filter(|share| (0.0..=1.0).contains(share));
            self.vector_share =
                Some(share.ok_or_else(|| refused("LOOM_KNOWLEDGE_VECTOR_SHARE", &value, "a number from 0 to 1"))?);
        }
        if let Some(value) = given("LOOM_KNOWLEDGE_NOISE_FILTER") {
            self.noise_filter = match value.to_ascii_lowercase().as_str() {
                "on" | "true" | "1" => true,
                "off" | "false" | "0" => false,
                _ => return Err(refused("LOOM_KNOWLEDGE_NOISE_FILTER", &value, "on or off")),
            };
        }
        if let Some(value) = given("LOOM_MEMORY_SEARCH_FANOUT_KINDS") {
            self.fanout_kinds = value.split(',').map(|kind| kind.trim().to_owned()).collect();
        }
        Ok(())
    }
}

fn refused(name: &str, given: &str, wanted: &str) -> Error {
    let message = format!("the setting {name} is {given:?}: it must be {wanted}");
    Error { field: Some(name.into()), ..Error::new(Code::ValidationFailed, message) }
}
