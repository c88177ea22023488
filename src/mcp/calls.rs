//! Where the calls of an agent go.

use std::pin::Pin;

use serde_json::{Map, Value};

use crate::error::Error;

/// Blocking work of one message.
pub type Work = Box<dyn FnOnce() + Send>;
/// The end of such work, or the error object of the API when it was not begun or broke off.
pub type Done<'calls> = Pin<Box<dyn Future<Output = Result<(), Value>> + Send + 'calls>>;

/// Where the calls of an agent go.
pub trait Calls: Send + Sync + 'static {
    /// Runs an operation; what went wrong is the error object of the API. Blocking: only within [`Calls::admit`].
    fn call(&self, op: &str, input: Map<String, Value>) -> Result<Value, Value>;

    /// Runs the work of a message that addresses this namespace (either may be empty) once there is room for it.
    fn admit<'calls>(&'calls self, org: &str, namespace: &str, work: Work) -> Done<'calls>;
}

/// An error as [`Calls`] answers it.
pub fn refusal(error: &Error) -> Value {
    error.to_json()["error"].take()
}

/// The fields of an object; none of anything else.
pub(super) fn object(value: Value) -> Map<String, Value> {
    if let Value::Object(fields) = value { fields } else { Map::new() }
}
