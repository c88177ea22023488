//! A model behind an endpoint that speaks the `OpenAI` embeddings protocol. The endpoint is not trusted: what is
//! read from it is bounded, checked and never repeated in an error, and the key goes to the configured host
//! alone, over no redirect.

mod answer;
mod line;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use serde::Serialize;
use ureq::http::header::{AUTHORIZATION, RETRY_AFTER};
use ureq::http::{HeaderValue, Response, Uri};
use ureq::{Agent, Body, Proxy};

use super::{ApiKey, Card, ENDPOINT_PREFIX, EmbedError, EmbedKind, EmbedSettings, Embedder, normalise};
use line::{Line, Over};

/// What is embedded to learn the dimension.
const PROBE: &str = "dimension";

/// A served model.
pub(super) struct Endpoint {
    wire: Arc<Wire>,
    line: Arc<Line>,
    /// As stored with the vectors, with the prefix.
    model: String,
    settings: EmbedSettings,
    dim: OnceLock<usize>,
}

/// What one request needs, and all that it holds while nobody waits for it any more.
struct Wire {
    agent: Agent,
    url: String,
    authorization: Option<HeaderValue>,
    dim_max: usize,
}

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    input: &'a [&'a str],
}

/// What one attempt came to, if not to vectors.
enum Failure {
    /// Another attempt may succeed; the endpoint may have named the seconds to wait.
    Passing {
        message: String,
        retry_after_s: Option<u64>,
    },
    Final(EmbedError),
}

impl Endpoint {
    /// Checks the settings; asks nothing of the endpoint.
    pub(super) fn new(served: &str, settings: &EmbedSettings) -> Result<Self, EmbedError> {
        let bounds = [settings.batch_max, settings.batch_bytes_max, settings.dim_max];
        if bounds.contains(&0) || settings.attempts_max == 0 || settings.timeout_ms == 0 {
            return Err(config("the embedding timeout, attempts, batch and dimension bounds are at least 1"));
        }
        let base = base_url(&settings.base_url)?;
        let authorization = authorization(&settings.api_key)?;
        let secure = base.scheme_str() == Some("https");
        if authorization.is_some() && !secure && !is_loopback(&base) {
            tracing::warn!("the embedding key travels unencrypted, since the base URL begins with http://");
        }
        // A proxy sees the key of a plain request, but only the host of an encrypted one.
        let proxy = if secure { Proxy::try_from_env() } else { None };
        let agent = Agent::config_builder()
            .proxy(proxy)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .build()
            .new_agent();
        let url = format!("{}/embeddings", settings.base_url.trim().trim_end_matches('/'));
        Ok(Self {
            wire: Arc::new(Wire { agent, url, authorization, dim_max: settings.dim_max }),
            line: Arc::default(),
            model: format!("{ENDPOINT_PREFIX}{served}"),
            settings: settings.clone(),
            dim: OnceLock::new(),
        })
    }

    /// The vectors of one batch, repeating the request while that may help and there is time.
    fn batch(&self, texts: &[&str], until: Instant) -> Result<Vec<Vec<f32>>, EmbedError> {
        let served = &self.model[ENDPOINT_PREFIX.len()..];
        let body = serde_json::to_vec(&Request { model: served, input: texts }).expect("text is always JSON");
        let body: Arc<[u8]> = body.into();
        let mut backoff_ms = self.settings.backoff_ms.min(self.settings.wait_max_ms);
        let mut attempt = 1;
        loop {
            let (message, retry_after_s) = match self.attempt(&body, texts.len(), until) {
                Ok(vectors) => return self.same_dim(vectors),
                Err(Failure::Final(error)) => return Err(error),
                Err(Failure::Passing { message, retry_after_s }) => (message, retry_after_s),
            };
            let wait_ms = retry_after_s.map_or(backoff_ms, |seconds| seconds.saturating_mul(1_000));
            let again = Instant::now().checked_add(Duration::from_millis(wait_ms)).filter(|again| *again < until);
            let (Some(again), false) =
                (again, attempt == self.settings.attempts_max || wait_ms > self.settings.wait_max_ms)
            else {
                let message = format!("{message} (attempt {attempt} of {})", self.settings.attempts_max);
                return Err(EmbedError::Unavailable { message, retry_after_s });
            };
            tracing::debug!(attempt, wait_ms, "{message}; trying again");
            self.line.pause(again).map_err(|_| EmbedError::Closed)?;
            backoff_ms = backoff_ms.saturating_mul(2).min(self.settings.wait_max_ms);
            attempt += 1;
        }
    }

    fn attempt(&self, body: &Arc<[u8]>, count: usize, until: Instant) -> Result<Vec<Vec<f32>>, Failure> {
        let timeout = Duration::from_millis(self.settings.timeout_ms);
        let left = timeout.min(until.saturating_duration_since(Instant::now()));
        let (wire, body) = (Arc::clone(&self.wire), Arc::clone(body));
        let answered = self.line.run(Instant::now() + left, move || wire.send(&body, count, left));
        answered.unwrap_or_else(|over| match over {
            Over::Late => Err(Failure::Passing { message: late(left), retry_after_s: None }),
            Over::Closed => Err(Failure::Final(EmbedError::Closed)),
        })
    }

    /// Normalises the vectors of a batch, all of one dimension, if that is the model's.
    fn same_dim(&self, mut vectors: Vec<Vec<f32>>) -> Result<Vec<Vec<f32>>, EmbedError> {
        if let Some(found) = vectors.first().map(Vec::len) {
            let dim = *self.dim.get_or_init(|| found);
            if found != dim {
                let message = format!("the embedding endpoint sent {found} dimensions, and {dim} before");
                return Err(EmbedError::Invalid { message });
            }
        }
        for vector in &mut vectors {
            normalise(vector);
        }
        Ok(vectors)
    }

    /// Cuts the texts into requests.
    fn batches(&self, texts: &[&str]) -> Vec<Range<usize>> {
        let mut batches = Vec::new();
        let (mut start, mut bytes) = (0, 0_usize);
        for (at, text) in texts.iter().enumerate() {
            let full = at - start == self.settings.batch_max
                || bytes.saturating_add(text.len()) > self.settings.batch_bytes_max;
            if full && at > start {
                batches.push(start..at);
                (start, bytes) = (at, 0);
            }
            bytes += text.len();
        }
        if start < texts.len() {
            batches.push(start..texts.len());
        }
        batches
    }
}

impl Embedder for Endpoint {
    fn model(&self) -> &str {
        &self.model
    }

    fn dim(&self, until: Instant) -> Result<usize, EmbedError> {
        match self.dim.get() {
            Some(&dim) => Ok(dim),
            None => Ok(self.batch(&[PROBE], until)?[0].len()),
        }
    }

    /// A blank text is not sent, as some endpoints refuse it with the whole batch: its vector is zero.
    fn embed(&self, inputs: &[&str], _kind: EmbedKind, until: Instant) -> Result<Vec<Vec<f32>>, EmbedError> {
        let sent: Vec<&str> = inputs.iter().copied().filter(|text| !is_blank(text)).collect();
        let mut vectors = Vec::with_capacity(sent.len());
        for batch in self.batches(&sent) {
            vectors.extend(self.batch(&sent[batch], until)?);
        }
        if sent.len() == inputs.len() {
            return Ok(vectors);
        }
        let dim = self.dim(until)?;
        let mut vectors = vectors.into_iter();
        let next = |text: &&str| {
            if is_blank(text) { vec![0.0; dim] } else { vectors.next().expect("one vector for each text sent") }
        };
        Ok(inputs.iter().map(next).collect())
    }

    fn close(&self) {
        self.line.close();
    }

    fn card(&self) -> Card {
        Card::UNKNOWN
    }
}

impl Wire {
    /// Sends one request and reads its answer, within `timeout` from resolving the name to the last byte.
    fn send(&self, body: &[u8], count: usize, timeout: Duration) -> Result<Vec<Vec<f32>>, Failure> {
        let request = self.agent.post(&self.url).content_type("application/json");
        let mut request = request.config().timeout_global(Some(timeout)).build();
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let mut response = request.send(body).map_err(|error| transport(&error, timeout))?;
        match response.status().as_u16() {
            200..=299 => {}
            status @ (408 | 429 | 500..=599) => {
                return Err(Failure::Passing {
                    message: format!("the embedding endpoint answered with status {status}"),
                    retry_after_s: retry_after_s(&response),
                });
            }
            status => return Err(Failure::Final(EmbedError::Refused { status })),
        }
        let limit = answer::bytes_max(count, self.dim_max);
        let read = response.body_mut().with_config().limit(limit).read_to_vec();
        let bytes = read.map_err(|error| transport(&error, timeout))?;
        answer::vectors(&bytes, count, self.dim_max).map_err(|message| Failure::Final(EmbedError::Invalid { message }))
    }
}

/// Says what went wrong on the way in words of our own.
#[expect(clippy::wildcard_enum_match_arm, reason = "the enum is non-exhaustive, and the rest is acted on alike")]
fn transport(error: &ureq::Error, timeout: Duration) -> Failure {
    let message = match error {
        ureq::Error::Timeout(_) => late(timeout),
        ureq::Error::BodyExceedsLimit(limit) => {
            return Failure::Final(EmbedError::Invalid {
                message: format!("the embedding endpoint's answer is longer than {limit} bytes"),
            });
        }
        ureq::Error::HostNotFound => "the embedding endpoint's host name does not resolve".to_owned(),
        ureq::Error::Io(error) => format!("the connection to the embedding endpoint failed: {}", error.kind()),
        ureq::Error::Tls(_) | ureq::Error::Rustls(_) => {
            "no trusted TLS connection to the embedding endpoint could be made".to_owned()
        }
        _ => "the embedding endpoint broke off or does not speak HTTP".to_owned(),
    };
    Failure::Passing { message, retry_after_s: None }
}

fn late(timeout: Duration) -> String {
    format!("the embedding endpoint did not answer within {} ms", timeout.as_millis())
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

fn config(message: &str) -> EmbedError {
    EmbedError::Config { message: message.to_owned() }
}

fn base_url(text: &str) -> Result<Uri, EmbedError> {
    let text = text.trim();
    let wrong = |what| Err(config(&format!("the embedding base URL {what}; an example is http://localhost:11434/v1")));
    let Ok(uri) = text.parse::<Uri>() else { return wrong("is not a URL") };
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return wrong("must begin with http:// or https://");
    }
    match uri.authority() {
        Some(authority) if authority.as_str().contains('@') => wrong("must hold no user name; set the key instead"),
        Some(authority) if !authority.host().is_empty() => {
            if text.contains(['?', '#']) {
                wrong("must have no query and no fragment")
            } else {
                Ok(uri)
            }
        }
        _ => wrong("names no host"),
    }
}

fn authorization(key: &ApiKey) -> Result<Option<HeaderValue>, EmbedError> {
    if key.is_empty() {
        return Ok(None);
    }
    let value = key.bearer();
    value.map(Some).ok_or_else(|| config("the embedding key holds a character that no HTTP header can carry"))
}

fn is_loopback(uri: &Uri) -> bool {
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The header in its form of seconds; a date counts as absent.
fn retry_after_s(response: &Response<Body>) -> Option<u64> {
    response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()
}
