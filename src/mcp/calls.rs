//! Where the calls of an agent go.

use serde_json::{Map, Value};

use crate::error::Error;

/// Where the calls of an agent go. Blocking.
pub trait Calls: Send + Sync + 'static {
    /// Runs an operation; what went wrong is the error object of the API.
    fn call(&self, op: &str, input: Map<String, Value>) -> Result<Value, Value>;
}

/// An error as [`Calls`] answers it.
pub fn refusal(error: &Error) -> Value {
    error.to_json()["error"].take()
}

/// The fields of an object; none of anything else.
pub(super) fn object(value: Value) -> Map<String, Value> {
    if let Value::Object(fields) = value { fields } else { Map::new() }
}
