//! The Model Context Protocol: what an agent sees of the registry, over standard input or HTTP.
//!
//! Tools derive from [`ops::ALL`](crate::ops::ALL). Nothing here knows a transport: calls go wherever [`Calls`] takes them.

#[cfg(feature = "mcp")]
mod advice;
#[cfg(feature = "mcp")]
mod calls;
#[cfg(feature = "mcp")]
mod registry;
#[cfg(feature = "mcp")]
mod resources;
#[cfg(feature = "mcp")]
mod server;
mod settings;
#[cfg(feature = "mcp")]
mod unified;

#[cfg(feature = "mcp")]
pub use calls::{Calls, Done, Work, refusal};
#[cfg(feature = "mcp")]
pub use registry::Registry;
#[cfg(feature = "mcp")]
pub use server::Agents;
pub use settings::{McpSettings, Toolset};
