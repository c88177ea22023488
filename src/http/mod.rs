//! The local HTTP API: routes that derive from the registry of operations, in front of the blocking engine.
//!
//! A request passes, from the outside in: its envelope (id, log line, metrics, headers), the origin check, its
//! route. An operation's body is read within bounds, decoded strictly and run on a bounded blocking pool.

mod patience;
mod server;

mod envelope;
mod form;
mod origin;

mod body;
mod dispatch;
mod json;
mod pool;
mod reply;
mod shared;
mod upload;

mod backup;
mod download;
#[cfg(feature = "extract")]
mod extractor;
mod identity;
#[cfg(feature = "mcp")]
mod mcp;
mod metrics;
mod openapi;
mod probes;

#[cfg(test)]
mod tests;

#[cfg(feature = "extract")]
pub use extractor::{ExtractorService, serve_extractor};
pub use server::{Running, serve, signalled, start};
#[cfg(all(feature = "mcp", feature = "cli"))]
pub(crate) use {dispatch::lane, pool::Pool};
