//! Reading a file from an address, within bounds and on nobody's private network.

use std::fmt::Write as _;
use std::io::Read as _;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use ureq::Agent;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::http::header::{CONTENT_TYPE, LOCATION};
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};

/// How long a fetch may take, redirects included.
const TIME: Duration = Duration::from_secs(30);
/// The largest file fetched, in bytes.
const BYTES_MAX: u64 = 10 * 1024 * 1024;
/// The most redirects followed.
const REDIRECTS_MAX: usize = 5;

/// A file that was fetched.
pub struct Fetched {
    pub bytes: Vec<u8>,
    /// Its media type as the server says it, or empty.
    pub content_type: String,
}

/// Fetches an `https` address; one over `http`, or that leads to this machine or its network, only when its host is in
/// `allowed`. The error says what was wrong, for a person.
pub fn fetch(address: &str, allowed: &[String]) -> Result<Fetched, String> {
    let until = Instant::now() + TIME;
    let mut uri: Uri = address.parse().map_err(|_| "it is no address".to_owned())?;
    for _ in 0..=REDIRECTS_MAX {
        let host = uri.host().ok_or("the address has no host")?.to_owned();
        let is_allowed = allowed.iter().any(|allowed| allowed.eq_ignore_ascii_case(&host));
        if uri.scheme_str() != Some("https") && !(is_allowed && uri.scheme_str() == Some("http")) {
            return Err(format!("{uri} is not fetched: only https is, and http from hosts named by --allow-host"));
        }
        let left = until.saturating_duration_since(Instant::now());
        let config = Agent::config_builder()
            .max_redirects(0)
            .http_status_as_error(false)
            .timeout_global(Some(left))
            .proxy(None)
            .build();
        let agent = Agent::with_parts(
            config,
            DefaultConnector::default(),
            Guarded { is_allowed, inner: DefaultResolver::default() },
        );
        let mut response = agent.get(uri.clone()).call().map_err(|error| format!("{uri}: {error}"))?;
        if response.status().is_redirection() {
            let to = response.headers().get(LOCATION).and_then(|to| to.to_str().ok());
            uri = resolved(&uri, to.ok_or("a redirect leads nowhere")?)?;
            continue;
        }
        if !response.status().is_success() {
            return Err(format!("{uri} answered with status {}", response.status().as_u16()));
        }
        let content_type = response.headers().get(CONTENT_TYPE).and_then(|media| media.to_str().ok());
        let content_type = content_type.unwrap_or_default().to_owned();
        let mut bytes = Vec::new();
        let read = response.body_mut().as_reader().take(BYTES_MAX + 1).read_to_end(&mut bytes);
        read.map_err(|error| format!("{uri} broke off: {error}"))?;
        if bytes.len() as u64 > BYTES_MAX {
            return Err(format!("{uri} is larger than {BYTES_MAX} bytes: download it and ingest the file"));
        }
        return Ok(Fetched { bytes, content_type });
    }
    Err(format!("{address} redirects more than {REDIRECTS_MAX} times"))
}

/// Where a redirect leads to.
fn resolved(from: &Uri, to: &str) -> Result<Uri, String> {
    let bad = |_| format!("a redirect leads to {to:?}, which is no address");
    if to.contains("://") {
        return to.parse().map_err(bad);
    }
    let mut whole = format!("{}:", from.scheme_str().unwrap_or("https"));
    let authority = from.authority().map_or("", |authority| authority.as_str());
    let written = match to.strip_prefix('/') {
        Some(rest) if rest.starts_with('/') => write!(whole, "{to}"),
        Some(_) => write!(whole, "//{authority}{to}"),
        None => {
            let folder = from.path().rsplit_once('/').map_or("", |(folder, _)| folder);
            write!(whole, "//{authority}{folder}/{to}")
        }
    };
    written.map_err(|error| error.to_string())?;
    whole.parse().map_err(bad)
}

/// Resolves names, and refuses to connect where nobody but this machine or its network is.
///
/// The addresses that were looked at are those that are connected to, so that a name cannot lead elsewhere in between.
#[derive(Debug)]
struct Guarded {
    is_allowed: bool,
    inner: DefaultResolver,
}

impl Resolver for Guarded {
    fn resolve(&self, uri: &Uri, config: &Config, timeout: NextTimeout) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let addresses = self.inner.resolve(uri, config, timeout)?;
        if !self.is_allowed && addresses.iter().any(|address| !is_public(address.ip())) {
            let message = "the host is on this machine or a private network: name it with --allow-host to allow it";
            return Err(ureq::Error::Io(std::io::Error::new(std::io::ErrorKind::PermissionDenied, message)));
        }
        Ok(addresses)
    }
}

/// Whether an address is one of the open internet.
fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => {
            let [a, b, c, _] = ip.octets();
            let is_special = a == 0
                || a >= 224
                || a == 100 && (64..128).contains(&b)
                || a == 192 && b == 0 && c == 0
                || a == 198 && (b == 18 || b == 19);
            !(is_special || ip.is_private() || ip.is_loopback() || ip.is_link_local() || ip.is_documentation())
        }
        IpAddr::V6(ip) => {
            let [first, second, ..] = ip.segments();
            if let Some(mapped) = ip.to_ipv4_mapped() {
                return is_public(mapped.into());
            }
            // Global unicast only, and of that neither the documentation's nor what carries an IPv4 address inside.
            let is_tunnel = first == 0x2002 || first == 0x2001 && second == 0;
            first & 0xe000 == 0x2000 && !is_tunnel && !(first == 0x2001 && second == 0x0db8)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_not_public() {
        for ip in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "100.64.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "198.18.0.1",
            "::1",
            "::",
            "fe80::1",
            "fd00::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "2001:db8::1",
            "2002:7f00:1::",
            "64:ff9b::7f00:1",
            "ff02::1",
        ] {
            assert!(!is_public(ip.parse().expect("an address")), "{ip}");
        }
        for ip in ["1.1.1.1", "93.184.216.34", "172.32.0.1", "2606:4700::1111"] {
            assert!(is_public(ip.parse().expect("an address")), "{ip}");
        }
    }

    #[test]
    fn redirects_are_resolved_against_where_they_come_from() {
        let from: Uri = "https://a.test/b/c?d".parse().expect("an address");
        for (to, whole) in [
            ("https://x.test/y", "https://x.test/y"),
            ("//x.test/y", "https://x.test/y"),
            ("/y", "https://a.test/y"),
            ("y", "https://a.test/b/y"),
        ] {
            assert_eq!(resolved(&from, to).expect("it resolves").to_string(), whole);
        }
        assert!(resolved(&from, "http://").is_err());
    }

    #[test]
    fn plain_http_and_other_schemes_are_refused() {
        for address in ["http://a.test/", "ftp://a.test/", "file:///etc/passwd", "https://"] {
            assert!(fetch(address, &[]).is_err(), "{address}");
        }
    }
}
