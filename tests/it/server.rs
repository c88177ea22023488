//! A real HTTP server on a free port of the loopback, and calls to it.

use std::time::Duration;

use loom::Engine;
use serde_json::Value;

/// A running server; it stops when dropped.
pub struct Server {
    pub base: String,
    running: loom::http::Running,
    agent: ureq::Agent,
}

impl Server {
    pub fn start(engine: Engine) -> Self {
        let running = loom::http::start(engine, "127.0.0.1:0").expect("a free port");
        let base = format!("http://{}", running.address());
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_mins(1)))
            .build()
            .new_agent();
        Self { base, running, agent }
    }

    /// Posts an operation; the status and the answer.
    pub fn post(&self, op: &str, input: &Value) -> (u16, Value) {
        let url = format!("{}/v1/{op}", self.base);
        let mut response = self.agent.post(&url).send_json(input).expect("an answer");
        (response.status().as_u16(), response.body_mut().read_json().expect("JSON"))
    }

    /// Sends a request with headers and a body; the status, the headers and the body
    /// as text.
    pub fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> (u16, ureq::http::HeaderMap, String) {
        let mut request = ureq::http::Request::builder().method(method).uri(format!("{}{path}", self.base));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(body).expect("a request");
        let mut response = self.agent.run(request).expect("an answer");
        let body = response.body_mut().read_to_vec().expect("a body");
        let text = String::from_utf8_lossy(&body).into_owned();
        (response.status().as_u16(), response.headers().clone(), text)
    }

    /// Gets a path; the status and the body.
    pub fn get(&self, path: &str) -> (u16, String) {
        let mut response = self.agent.get(format!("{}{path}", self.base)).call().expect("an answer");
        (response.status().as_u16(), response.body_mut().read_to_string().expect("text"))
    }

    pub fn stop(self) {
        self.running.stop().expect("a clean stop");
    }
}
