//! Which embedding model serves a namespace, and which one is to serve next.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use loom_index::Model;
use loom_index::vector::DIMENSIONS;
use loom_storage::{Batch, RecordWrite, Scope, Seq, Snapshot, Store, Write};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::embed::{self, Card, ENDPOINT_PREFIX, EmbedError, EmbedKind, EmbedSettings, Embedder, LOCAL_PREFIX};
use crate::error::{Code, Error};

/// The record of the folders in which local models were found.
const FOLDERS_KEY: &str = "models/folders";
/// Of so many local models the folder is known; more than a data folder ever has vectors of.
const FOLDERS_MAX: usize = 64;

/// The embedders in use: the configured one, and those that other namespaces are still served by.
pub struct Embedders {
    settings: EmbedSettings,
    configured: Arc<dyn Embedder>,
    others: Mutex<HashMap<String, Arc<dyn Embedder>>>,
    /// Where local models were found, by their names.
    folders: BTreeMap<String, String>,
    closed: AtomicBool,
}

impl Embedders {
    /// The embedders of a configuration. A model that does not exist is an error that says which do.
    pub fn new(settings: &EmbedSettings) -> Result<Self, Error> {
        let configured = embed::from_settings(settings)?;
        Ok(Self {
            settings: settings.clone(),
            configured,
            others: Mutex::default(),
            folders: BTreeMap::new(),
            closed: AtomicBool::new(false),
        })
    }

    /// Reads from the store where earlier local models are, which may serve namespaces until they have moved, and notes
    /// where the configured one is.
    pub fn recall(&mut self, store: &dyn Store) -> Result<(), Error> {
        if let Some(record) = store.snapshot()?.record(FOLDERS_KEY)? {
            self.folders = serde_json::from_slice(&record.value).map_err(Error::internal)?;
        }
        let Some(folder) = embed::local_folder(&self.settings) else { return Ok(()) };
        let folder = std::path::absolute(&folder).unwrap_or(folder).to_string_lossy().into_owned();
        let model = self.configured.model();
        if self.folders.get(model) == Some(&folder) {
            return Ok(());
        }
        while self.folders.len() >= FOLDERS_MAX {
            self.folders.pop_first();
        }
        self.folders.insert(model.to_owned(), folder);
        let value = serde_json::to_vec(&self.folders).map_err(Error::internal)?;
        let write = Write::Record(RecordWrite { key: FOLDERS_KEY.to_owned(), value: Some(value) });
        if let Err(error) = store.commit(Batch { preconditions: Vec::new(), writes: vec![write] }) {
            // It is missed only when another model is configured before a later start has noted it.
            tracing::warn!(%error, "the folder of the embedding model could not be noted");
        }
        Ok(())
    }

    /// The configured model. The first use of a remote one asks it for its dimension; one whose vectors no index
    /// takes is refused before anything is stored under it.
    pub fn configured(&self, until: Instant) -> Result<Model, Error> {
        let model = Model { name: self.configured.model().to_owned(), dim: self.configured.dim(until)? };
        if !DIMENSIONS.contains(&model.dim) {
            let (name, dim) = (&model.name, model.dim);
            let message = format!(
                "the vectors of {name} have {dim} dimensions; Loom takes {} to {}: choose another model",
                DIMENSIONS.start(),
                DIMENSIONS.end()
            );
            return Err(Error::new(Code::ProviderRefused, message));
        }
        Ok(model)
    }

    /// The name of the configured model.
    pub fn configured_name(&self) -> &str {
        self.configured.model()
    }

    /// What is known of a model; of one that cannot be used now, nothing.
    pub fn card(&self, model: &str) -> Card {
        self.get(model).map_or(Card::UNKNOWN, |embedder| embedder.card())
    }

    /// The vectors of texts under a model, each of the model's dimension.
    pub fn embed(
        &self,
        model: &Model,
        texts: &[&str],
        kind: EmbedKind,
        until: Instant,
    ) -> Result<Vec<Vec<f32>>, Error> {
        let vectors = self.get(&model.name)?.embed(texts, kind, until)?;
        match vectors.iter().find(|vector| vector.len() != model.dim) {
            None => Ok(vectors),
            Some(other) => {
                let (name, dim, found) = (&model.name, model.dim, other.len());
                let message = format!(
                    "{name} now gives vectors of {found} dimensions, and those stored have {dim}: serve the earlier \
                     model, or serve this one under another name, to which the namespaces then move"
                );
                Err(Error::new(Code::ProviderRefused, message))
            }
        }
    }

    /// Ends the calls that wait for a provider, and every later one that would.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.configured.close();
        for other in self.others.lock().values() {
            other.close();
        }
    }

    /// The embedder of a model by name.
    fn get(&self, model: &str) -> Result<Arc<dyn Embedder>, Error> {
        if self.configured.model() == model {
            return Ok(Arc::clone(&self.configured));
        }
        if model.starts_with(ENDPOINT_PREFIX) && !self.configured.model().starts_with(ENDPOINT_PREFIX) {
            // Its base URL would be the default one: a text must not travel to a host that nobody configured.
            let message = format!(
                "{model} still serves the namespace and its endpoint is no longer configured: repeat the call once \
                 `loom serve` has moved it to {}, or set LOOM_EMBEDDING_MODEL back",
                self.configured.model()
            );
            return Err(Error::new(Code::ProviderUnavailable, message));
        }
        let mut others = self.others.lock();
        if let Some(embedder) = others.get(model) {
            return Ok(Arc::clone(embedder));
        }
        let embedder = if model.starts_with(LOCAL_PREFIX) {
            self.earlier_local(model)?
        } else {
            embed::from_settings(&EmbedSettings { model: model.to_owned(), ..self.settings.clone() })?
        };
        if self.closed.load(Ordering::Acquire) {
            embedder.close();
        }
        others.insert(model.to_owned(), Arc::clone(&embedder));
        Ok(embedder)
    }

    /// A local model that was configured earlier, if its folder still holds it.
    fn earlier_local(&self, model: &str) -> Result<Arc<dyn Embedder>, Error> {
        let unavailable = |why: String| {
            let message = format!(
                "{model} still serves the namespace and {why}: repeat the call once `loom serve` has moved it to {}, or \
                 put the model back",
                self.configured.model()
            );
            Error::new(Code::ProviderUnavailable, message)
        };
        let Some(folder) = self.folders.get(model) else {
            return Err(unavailable("nobody noted its folder".to_owned()));
        };
        match embed::local_model(Path::new(folder), &self.settings.local) {
            Ok(found) if found.model() == model => Ok(found),
            Ok(found) => Err(unavailable(format!("its folder {folder} now holds {}", found.model()))),
            Err(error) => Err(unavailable(error.to_string())),
        }
    }
}

impl From<EmbedError> for Error {
    fn from(error: EmbedError) -> Self {
        let message = error.to_string();
        let (code, retry_after_s) = match &error {
            EmbedError::Unavailable { retry_after_s, .. } => (Code::ProviderUnavailable, *retry_after_s),
            EmbedError::Refused { .. } | EmbedError::Invalid { .. } => (Code::ProviderRefused, None),
            EmbedError::Late => (Code::Overloaded, Some(1)),
            EmbedError::Closed => (Code::Overloaded, None),
            EmbedError::Config { .. } => (Code::ValidationFailed, None),
        };
        Self { retry_after_s, cause: Some(error.into()), ..Self::new(code, message) }
    }
}

/// The embedding state of a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespaceModels {
    /// The model whose vectors are searched.
    pub serving: Model,
    /// The model that is to serve once every live chunk has its vector.
    pub building: Option<Model>,
    /// The other models of which vectors are stored, the one that served last first.
    pub kept: Vec<String>,
    /// The commit that last wrote this state; `None` before the namespace's first write.
    pub changed: Option<Seq>,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    serving: String,
    serving_dim: usize,
    building: Option<(String, usize)>,
    #[serde(default)]
    kept: Vec<String>,
}

impl Stored {
    fn decode(record: &[u8]) -> Result<Self, Error> {
        serde_json::from_slice(record).map_err(Error::internal)
    }
}

impl NamespaceModels {
    /// The state as its record holds it.
    pub fn encode(&self) -> Result<Vec<u8>, Error> {
        let stored = Stored {
            serving: self.serving.name.clone(),
            serving_dim: self.serving.dim,
            building: self.building.as_ref().map(|model| (model.name.clone(), model.dim)),
            kept: self.kept.clone(),
        };
        serde_json::to_vec(&stored).map_err(Error::internal)
    }
}

/// The key of a namespace's embedding record.
pub fn record_key(scope: &Scope) -> String {
    format!("embedding/{scope}")
}

/// Writes the namespace's embedding record anew as it is, so that writes planned before are refused when they come later;
/// nothing where there is none yet, which such writes expect to find.
pub fn touch(scope: &Scope, snapshot: &dyn Snapshot) -> Result<Option<Write>, Error> {
    let key = record_key(scope);
    let record = snapshot.record(&key)?;
    Ok(record.map(|record| Write::Record(RecordWrite { key, value: Some(record.value) })))
}

/// The name of the model that serves a namespace, found without asking any provider.
pub fn serving_name(scope: &Scope, snapshot: &dyn Snapshot, embedders: &Embedders) -> Result<String, Error> {
    match snapshot.record(&record_key(scope))? {
        None => Ok(embedders.configured_name().to_owned()),
        Some(record) => Ok(Stored::decode(&record.value)?.serving),
    }
}

/// The embedding state of a namespace; one that was never written to is served by the configured model.
pub fn of_namespace(
    scope: &Scope,
    snapshot: &dyn Snapshot,
    embedders: &Embedders,
    until: Instant,
) -> Result<NamespaceModels, Error> {
    let Some(record) = snapshot.record(&record_key(scope))? else {
        let serving = embedders.configured(until)?;
        return Ok(NamespaceModels { serving, building: None, kept: Vec::new(), changed: None });
    };
    let stored = Stored::decode(&record.value)?;
    let mut kept = stored.kept;
    if let Some((abandoned, _)) = &stored.building
        && abandoned != embedders.configured_name()
        && !kept.contains(abandoned)
    {
        // It was given up half way, and has vectors.
        kept.push(abandoned.clone());
    }
    Ok(NamespaceModels {
        serving: Model { name: stored.serving, dim: stored.serving_dim },
        // A move that was given up by configuring another model asks its provider for nothing any more.
        building: stored
            .building
            .filter(|(name, _)| name == embedders.configured_name())
            .map(|(name, dim)| Model { name, dim }),
        kept,
        changed: Some(record.changed),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_is_sent_to_an_endpoint_that_is_no_longer_configured() {
        let endpoint = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        endpoint.set_nonblocking(true).expect("a mode of sockets");
        let address = endpoint.local_addr().expect("a bound address");
        let settings = EmbedSettings {
            base_url: format!("http://{address}"),
            attempts_max: 1,
            timeout_ms: 1,
            ..Default::default()
        };
        let embedders = Embedders::new(&settings).expect("the built-in model");
        let model = Model { name: "openai:small".into(), dim: 64 };
        let error =
            embedders.embed(&model, &["private"], EmbedKind::Passage, Instant::now()).expect_err("nobody is asked");
        assert_eq!(error.code, Code::ProviderUnavailable);
        assert!(error.message.contains("no longer configured"), "{}", error.message);
        assert!(endpoint.accept().is_err(), "nobody connected");
    }
}
