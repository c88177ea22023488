//! What an operator can set about extraction, and the defaults.

use std::collections::BTreeMap;
use std::path::PathBuf;

use loom_extract::formats;
use serde::Deserialize;

use crate::config::number;
use crate::embed::ApiKey;
use crate::error::{Code, Error};

/// How files are read.
#[derive(Clone, Debug)]
pub struct ExtractionSettings {
    /// The service that reads every format that `services` does not name: `LOOM_DOCUMENT_EXTRACTOR_URL` and
    /// `LOOM_DOCUMENT_EXTRACTOR_TOKEN`. Without one the extractor that comes with Loom reads them.
    pub service: Option<ServiceSettings>,
    /// The services of single formats: `LOOM_DOCUMENT_EXTRACTORS_JSON`, an object of `{"url", "token"}` by format.
    pub services: BTreeMap<String, ServiceSettings>,
    /// The most bytes that an artifact may have as JSON: `LOOM_DOCUMENT_EXTRACTOR_MAX_ARTIFACT_BYTES`, default 128 MiB.
    pub artifact_bytes_max: u64,
    /// The `loom` program, which is run as the extractor that comes with it. The command line sets it to itself; a library
    /// user names it, or has no extractor of this kind.
    pub program: Option<PathBuf>,
    /// What one extraction may use in that program.
    pub limits: LocalExtractionLimits,
}

/// A service that reads files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceSettings {
    /// What comes before `/v1/extract` in its addresses.
    pub url: String,
    /// The bearer token; empty for none.
    #[serde(default)]
    pub token: ApiKey,
}

/// What one extraction by the extractor that comes with Loom may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalExtractionLimits {
    /// Address space of its process in bytes, the program itself included: `LOOM_EXTRACTOR_MEMORY_BYTES`, default 1 GiB.
    pub memory_bytes: u64,
    /// Seconds of computing: `LOOM_EXTRACTOR_CPU_SECONDS`, default 60.
    pub cpu_seconds: u64,
    /// Seconds from start to end, OCR included: `LOOM_EXTRACTOR_TIME_SECONDS`, default 120.
    pub time_seconds: u64,
    /// The largest file in bytes: `LOOM_EXTRACTOR_MAX_BYTES`, default 64 MiB.
    pub file_bytes: u64,
    /// What is done where the system cannot confine the process: `LOOM_EXTRACTOR_SANDBOX`, `strict` (default) or `degraded`.
    pub sandbox: SandboxMode,
}

/// What is done where the system cannot confine a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SandboxMode {
    /// The process does not run without the layers that must hold.
    #[default]
    Strict,
    /// It runs with what there is.
    Degraded,
}

impl Default for ExtractionSettings {
    fn default() -> Self {
        Self {
            service: None,
            services: BTreeMap::new(),
            artifact_bytes_max: 128 << 20,
            program: None,
            limits: LocalExtractionLimits::default(),
        }
    }
}

impl Default for LocalExtractionLimits {
    fn default() -> Self {
        Self {
            memory_bytes: 1 << 30,
            cpu_seconds: 60,
            time_seconds: 120,
            file_bytes: 64 << 20,
            sandbox: SandboxMode::Strict,
        }
    }
}

/// The least address space in which the program starts and reads a small file.
const MEMORY_BYTES_MIN: u64 = 256 << 20;

impl ExtractionSettings {
    /// Takes what the environment says; a setting that does not parse is an error that names it.
    pub(crate) fn set(&mut self, lookup: &dyn Fn(&str) -> Option<String>) -> Result<(), Error> {
        let given = |name: &str| lookup(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let token = ApiKey::new(&given("LOOM_DOCUMENT_EXTRACTOR_TOKEN").unwrap_or_default());
        self.service = given("LOOM_DOCUMENT_EXTRACTOR_URL").map(|url| ServiceSettings { url, token });
        if let Some(given) = given(PER_FORMAT) {
            // What serde says may repeat a token that is in the value.
            self.services = serde_json::from_str(&given)
                .map_err(|_| refused(PER_FORMAT, "an object of services by format, each with url and token"))?;
        }
        if let Some(unknown) = self.services.keys().find(|format| formats::named(format).is_none()) {
            let known: Vec<&str> = formats::ALL.iter().map(|format| format.name).collect();
            let unknown: String = unknown.chars().take(80).collect();
            return Err(refused(PER_FORMAT, &format!("by formats: {unknown:?} is none of {}", known.join(", "))));
        }
        number(lookup, "LOOM_DOCUMENT_EXTRACTOR_MAX_ARTIFACT_BYTES", &mut self.artifact_bytes_max, 1)?;
        let limits = &mut self.limits;
        number(lookup, "LOOM_EXTRACTOR_MEMORY_BYTES", &mut limits.memory_bytes, MEMORY_BYTES_MIN)?;
        number(lookup, "LOOM_EXTRACTOR_CPU_SECONDS", &mut limits.cpu_seconds, 1)?;
        number(lookup, "LOOM_EXTRACTOR_TIME_SECONDS", &mut limits.time_seconds, 1)?;
        number(lookup, "LOOM_EXTRACTOR_MAX_BYTES", &mut limits.file_bytes, 1)?;
        if let Some(given) = given("LOOM_EXTRACTOR_SANDBOX") {
            limits.sandbox = match given.as_str() {
                "strict" => SandboxMode::Strict,
                "degraded" => SandboxMode::Degraded,
                _ => return Err(refused("LOOM_EXTRACTOR_SANDBOX", "strict or degraded")),
            };
        }
        Ok(())
    }
}

/// The setting of services by format.
pub(super) const PER_FORMAT: &str = "LOOM_DOCUMENT_EXTRACTORS_JSON";

pub(super) fn refused(name: &str, wanted: &str) -> Error {
    let message = format!("the setting {name} must be {wanted}");
    Error { field: Some(name.into()), ..Error::new(Code::ValidationFailed, message) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &str, value: &str) -> Result<ExtractionSettings, Error> {
        let mut settings = ExtractionSettings::default();
        settings.set(&|asked| (asked == name).then(|| value.to_owned()))?;
        Ok(settings)
    }

    #[test]
    fn services_are_read_and_their_tokens_shown_nowhere() {
        let settings =
            with(PER_FORMAT, r#"{"pdf": {"url": "http://a.test", "token": "very-secret"}}"#).expect("it parses");
        assert_eq!(settings.services["pdf"].url, "http://a.test");
        assert!(!format!("{settings:?}").contains("very-secret"));
        for value in [
            r#"{"pdf": {"url": "http://a.test", "token": ["very-secret"]}}"#,
            r#"{"pdf": {"url": "http://a.test", "very-secret": ""}}"#,
            r#"{"doc": {"url": "http://a.test", "token": "very-secret"}}"#,
            "very-secret",
        ] {
            let error = with(PER_FORMAT, value).expect_err(value);
            assert!(error.message.contains(PER_FORMAT) && !error.message.contains("very-secret"), "{}", error.message);
        }
    }

    #[test]
    fn limits_have_bounds_and_the_sandbox_two_modes() {
        assert_eq!(with("LOOM_EXTRACTOR_SANDBOX", "degraded").expect("a mode").limits.sandbox, SandboxMode::Degraded);
        for (name, value) in [
            ("LOOM_EXTRACTOR_SANDBOX", "off"),
            ("LOOM_EXTRACTOR_MEMORY_BYTES", "1000"),
            ("LOOM_EXTRACTOR_TIME_SECONDS", "0"),
            ("LOOM_DOCUMENT_EXTRACTOR_MAX_ARTIFACT_BYTES", "-1"),
        ] {
            assert!(with(name, value).expect_err(value).message.contains(name));
        }
    }
}
