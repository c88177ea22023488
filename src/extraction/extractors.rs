//! Which extractor reads which format.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use loom_extract::contract::{Artifact, Capabilities, Request};
use loom_extract::formats;

use super::failure::{Failure, FailureCode};
#[cfg(feature = "extract")]
use super::local::{Local, LocalReport};
use super::service::Service;
use super::settings::{ExtractionSettings, PER_FORMAT};
use crate::error::Error;

/// How long a listing waits for each extractor.
const LISTING_WAIT: Duration = Duration::from_secs(5);

/// The extractors of a deployment. Safe to share between threads.
pub struct Extractors {
    services: Vec<Service>,
    /// The service of each format that has one of its own, by its place in `services`.
    of_format: BTreeMap<String, usize>,
    /// The service of all other formats.
    of_others: Option<usize>,
    #[cfg(feature = "extract")]
    local: Option<Local>,
}

/// An extractor that a format is routed to.
#[derive(Clone, Copy)]
enum Route<'a> {
    Service(usize, &'a Service),
    #[cfg(feature = "extract")]
    Local(&'a Local),
}

impl Extractors {
    /// The extractors that the settings name. An address or a token that cannot be one is refused; nothing is asked or started.
    pub fn new(settings: &ExtractionSettings) -> Result<Self, Error> {
        let (mut named, mut services) = (Vec::new(), Vec::new());
        let mut place = |field: &str, service: &super::ServiceSettings| -> Result<usize, Error> {
            if let Some(known) = named.iter().position(|known| known == service) {
                return Ok(known);
            }
            services.push(Service::new(field, service, settings.artifact_bytes_max)?);
            named.push(service.clone());
            Ok(named.len() - 1)
        };
        let of_others = settings.service.as_ref().map(|service| place("LOOM_DOCUMENT_EXTRACTOR_URL", service));
        let of_others = of_others.transpose()?;
        let mut of_format = BTreeMap::new();
        for (format, service) in &settings.services {
            of_format.insert(format.clone(), place(PER_FORMAT, service)?);
        }
        #[cfg(feature = "extract")]
        let local = settings.program.as_deref().map(|program| Local::new(program, settings));
        Ok(Self {
            services,
            of_format,
            of_others,
            #[cfg(feature = "extract")]
            local,
        })
    }

    /// Whether there is any extractor at all.
    pub fn is_configured(&self) -> bool {
        formats::ALL.iter().any(|format| self.route(format.name).is_some())
    }

    /// For each format that there is, whether the extractor it goes to reads it; `None` while that could not be read.
    ///
    /// Waits at most 5 seconds. What an extractor said counts for a minute, and one that could not be asked is not asked again
    /// for a minute, unless an extraction meanwhile finds that it can.
    pub fn available(&self) -> BTreeMap<&'static str, Option<bool>> {
        let listed = thread::scope(|scope| {
            let asked: Vec<_> =
                self.services.iter().map(|service| scope.spawn(move || service.listed(LISTING_WAIT))).collect();
            asked.into_iter().map(|asked| asked.join().unwrap_or(None)).collect::<Vec<Option<Arc<Capabilities>>>>()
        });
        let reads = |capabilities: Option<&Capabilities>, format: &str| {
            capabilities.map(|capabilities| capabilities.of(format).is_some())
        };
        let mut available = BTreeMap::new();
        for format in formats::ALL {
            let is_read = match self.route(format.name) {
                None => Some(false),
                Some(Route::Service(at, _)) => reads(listed[at].as_deref(), format.name),
                #[cfg(feature = "extract")]
                Some(Route::Local(local)) => reads(local.listed(LISTING_WAIT).as_deref(), format.name),
            };
            available.insert(format.name, is_read);
        }
        available
    }

    /// Reads one file, which `body` streams in exactly `size` bytes, as the format that the request names. The answer has
    /// been held against the contract.
    ///
    /// Returns soon after `stop` is set and not much later than `until`, in both cases with [`Failure::Transient`].
    ///
    /// # Errors
    /// [`Failure::Refused`] when asking again would end the same, with nothing of the file's content in its message.
    pub fn extract(
        &self,
        request: &Request,
        size: u64,
        body: &mut dyn Read,
        until: Instant,
        stop: &AtomicBool,
    ) -> Result<Artifact, Failure> {
        if formats::named(&request.format).is_none() {
            let known: Vec<&str> = formats::ALL.iter().map(|format| format.name).collect();
            let message = format!("there is no format {:?}: the formats are {}", request.format, known.join(", "));
            return Err(Failure::refused(FailureCode::UnsupportedFormat, message));
        }
        match self.route(&request.format) {
            None => {
                let message = format!("no extractor is configured that reads the format {}", request.format);
                Err(Failure::refused(FailureCode::FormatUnavailable, message))
            }
            Some(Route::Service(_, service)) => service.extract(request, size, body, until, stop),
            #[cfg(feature = "extract")]
            Some(Route::Local(local)) => local.extract(request, size, body, until, stop),
        }
    }

    /// What is known of the extractor that comes with Loom, which is started for that; `None` where files do not go to it.
    ///
    /// # Errors
    /// [`Failure::Transient`] with the reason when it does not start.
    #[cfg(feature = "extract")]
    pub fn local_report(&self) -> Option<Result<LocalReport, Failure>> {
        self.local.as_ref().map(Local::report)
    }

    /// What the extractor that comes with Loom reads; `None` while it does not start.
    #[cfg(feature = "extract")]
    pub fn local_capabilities(&self) -> Option<Arc<Capabilities>> {
        self.local.as_ref().and_then(|local| local.listed(LISTING_WAIT))
    }

    /// Ends the processes that wait for work.
    #[cfg(feature = "extract")]
    pub(crate) fn close(&self) {
        if let Some(local) = &self.local {
            local.close();
        }
    }

    fn route(&self, format: &str) -> Option<Route<'_>> {
        let service = self.of_format.get(format).copied().or(self.of_others);
        if let Some((at, service)) = service.and_then(|at| Some((at, self.services.get(at)?))) {
            return Some(Route::Service(at, service));
        }
        #[cfg(feature = "extract")]
        return self.local.as_ref().map(Route::Local);
        #[cfg(not(feature = "extract"))]
        None
    }
}
