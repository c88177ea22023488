//! Listening, accepting within bounds, and an orderly end.

use std::future::{Future, poll_fn};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::{Arc, mpsc};
use std::task::Poll;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::patience::Patient;
use super::pool::panic_words;
use super::shared::{Door, Shared, router};
use crate::access::Auth;
use crate::engine::Engine;
use crate::error::{Code, Error};

/// How long a connection may take to send a request's head, and so how long it may stay idle.
const HEAD_WAIT: Duration = Duration::from_secs(75);
/// How much of a request's head is read, in bytes.
const HEAD_BYTES_MAX: usize = 128 * 1024;
/// How long the other end of a connection may take nothing of what it is sent.
const STALL: Duration = Duration::from_mins(1);
/// How long to wait after the system refused a connection, such as for want of file descriptors.
pub(super) const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Threads that carry connections, and blocking threads beside the workers for probes.
const ASYNC_THREADS: usize = 2;
const PROBE_THREADS: usize = 4;

/// Serves `engine` on `listen` until `stop` completes, drains for at most the configured time and closes the engine.
///
/// `listen` is an address and port, such as `127.0.0.1:7777` or `localhost:0`; port 0 takes a free one. Where calls need
/// no token it must be a loopback address.
/// `ready` is given the bound address once connections are accepted, and `stop` is watched from before then.
/// Blocks the calling thread, which must not be one of an async runtime. [`Code::ValidationFailed`] when `listen`
/// is none of these, [`Code::BackendUnavailable`] when it cannot be bound.
pub fn serve(
    engine: Engine,
    listen: &str,
    stop: impl Future<Output = ()>,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), Error> {
    serve_until_closed(&Shared::new(engine), listen, stop, ready)
}

/// A server on a thread of its own; dropping it stops it too, and passes over what goes wrong then.
pub struct Running {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<(), Error>>>,
}

impl Running {
    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops it as [`serve`] does and waits for the end.
    pub fn stop(mut self) -> Result<(), Error> {
        self.end()
    }

    fn end(&mut self) -> Result<(), Error> {
        // A server that ended by itself no longer listens for the stop.
        drop(self.stop.take());
        match self.thread.take().map(JoinHandle::join) {
            None => Ok(()),
            Some(Ok(result)) => result,
            Some(Err(panic)) => Err(Error::internal(format!("the server panicked: {}", panic_words(&*panic)))),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            tracing::error!(%error, "the server did not end cleanly");
        }
    }
}

/// Serves `engine` as [`serve`] does, on a thread of its own, and returns once connections are accepted.
pub fn start(engine: Engine, listen: &str) -> Result<Running, Error> {
    start_door(Shared::new(engine), listen)
}

/// As [`start`], with what the requests share in the caller's hands.
pub fn start_door(door: Door, listen: &str) -> Result<Running, Error> {
    let (stop, stopped) = oneshot::channel::<()>();
    let (ready, bound) = mpsc::channel();
    let listen = listen.to_owned();
    let thread = thread::Builder::new()
        .name("loom-http".into())
        .spawn(move || {
            // Both a message and a dropped sender mean to stop.
            let stopped = async { drop(stopped.await) };
            // The receiver waits until there is an address or this thread has ended.
            let ready = |address| _ = ready.send(address);
            serve_until_closed(&door, &listen, stopped, ready)
        })
        .map_err(Error::internal)?;
    let mut running =
        Running { address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), stop: Some(stop), thread: Some(thread) };
    match bound.recv() {
        Ok(address) => {
            running.address = address;
            Ok(running)
        }
        // It ended before it was ready, so its result says why.
        Err(_) => Err(running.end().err().unwrap_or_else(|| Error::internal("the server ended before it was ready"))),
    }
}

fn serve_until_closed(
    door: &Door,
    listen: &str,
    stop: impl Future<Output = ()>,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), Error> {
    let served = serve_door(door, listen, stop, ready);
    let closed = door.engine.close();
    served.and(closed)
}

/// Serves what `door` holds, without closing the engine.
fn serve_door(
    door: &Door,
    listen: &str,
    stop: impl Future<Output = ()>,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), Error> {
    let address = admissible(listen, door.engine.config().access.auth)?;
    let limits = &door.engine.config().http;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(ASYNC_THREADS)
        .max_blocking_threads(door.pool.threads_max() + limits.uploads + PROBE_THREADS)
        .thread_name("loom-http")
        .enable_all()
        .build()
        .map_err(Error::internal)?;
    let result = runtime.block_on(async {
        let mut stop = pin!(stop);
        if is_complete(stop.as_mut()).await {
            return Ok(());
        }
        let listener = TcpListener::bind(address).await.map_err(|error| cannot_listen(address, error))?;
        let bound = listener.local_addr().map_err(Error::internal)?;
        if let Err(error) = door.engine.announce(&format!("http://{bound}")) {
            // On a full disk, say: what is stored can still be served.
            tracing::warn!(%error, "commands on the folder will not find this server by themselves");
        }
        ready(bound);
        accept(door, listener, stop).await;
        Ok(())
    });
    // What outlived the drain must not hold up the end.
    runtime.shutdown_background();
    result
}

/// Completes at the first SIGINT or SIGTERM, from when it is first polled; on other systems at Ctrl-C.
pub async fn signalled() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        match (signal(SignalKind::interrupt()), signal(SignalKind::terminate())) {
            (Ok(mut interrupt), Ok(mut terminate)) => {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
            }
            (Err(error), _) | (_, Err(error)) => {
                tracing::error!(%error, "signals cannot be caught: the process ends at once when one comes");
                std::future::pending::<()>().await;
            }
        }
    }
    #[cfg(not(unix))]
    if let Err(error) = tokio::signal::ctrl_c().await {
        tracing::error!(%error, "Ctrl-C cannot be caught: the process ends at once when it comes");
        std::future::pending::<()>().await;
    }
}

/// The address that `listen` names.
pub(super) fn address(listen: &str) -> Result<SocketAddr, Error> {
    let address = match listen.rsplit_once(':') {
        Some((host, port)) if host.eq_ignore_ascii_case("localhost") => {
            port.parse().ok().map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
        }
        Some(_) | None => listen.parse().ok(),
    };
    address.ok_or_else(|| {
        Error::invalid(
            "listen",
            format!("{listen:?} is no address to listen on: give ADDRESS:PORT, such as 127.0.0.1:7777"),
        )
    })
}

/// The address, which only callers with tokens may reach from other machines.
fn admissible(listen: &str, auth: Auth) -> Result<SocketAddr, Error> {
    let address = address(listen)?;
    if auth == Auth::Off && !address.ip().is_loopback() {
        return Err(Error::invalid(
            "listen",
            format!(
                "{address} can be reached from other machines, and calls need no token here: \
                 listen on a loopback address, such as 127.0.0.1:{}, or set LOOM_AUTH=token",
                address.port()
            ),
        ));
    }
    Ok(address)
}

pub(super) fn cannot_listen(address: SocketAddr, error: io::Error) -> Error {
    let advice = [
        (io::ErrorKind::AddrInUse, "another program listens there: choose another port, or 0 for a free one"),
        (io::ErrorKind::PermissionDenied, "the system does not allow it: choose a port above 1023"),
        (io::ErrorKind::AddrNotAvailable, "this machine has no such address: use 127.0.0.1"),
    ];
    let known = advice.iter().find(|(kind, _)| *kind == error.kind()).map(|(_, advice)| (*advice).to_owned());
    let why = known.unwrap_or_else(|| error.to_string());
    Error {
        cause: Some(error.into()),
        ..Error::new(Code::BackendUnavailable, format!("cannot listen on {address}: {why}"))
    }
}

async fn is_complete(mut future: Pin<&mut impl Future<Output = ()>>) -> bool {
    poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_ready())).await
}

async fn accept(door: &Door, listener: TcpListener, mut stop: Pin<&mut impl Future<Output = ()>>) {
    let limits = &door.engine.config().http;
    let places = Arc::new(Semaphore::new(limits.connections.clamp(1, Semaphore::MAX_PERMITS)));
    let (closing, closed) = watch::channel(false);
    let mut connections = JoinSet::new();
    let router = router(door.clone());
    loop {
        tokio::select! {
            biased;
            () = stop.as_mut() => break,
            Some(_) = connections.join_next() => {}
            accepted = next(&places, &listener) => match accepted {
                Ok((stream, place)) => {
                    connections.spawn(connection(stream, place, router.clone(), closed.clone()));
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection was not accepted");
                    sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
    drop(listener);
    door.close();
    closing.send_replace(true);
    let drained = timeout(Duration::from_millis(limits.drain_ms), async {
        while connections.join_next().await.is_some() {}
        door.pool.idle().await;
    });
    if drained.await.is_err() {
        tracing::warn!(
            connections = connections.len(),
            calls = door.pool.load().running,
            "stopped before all calls ended"
        );
    }
}

pub(super) async fn next(
    places: &Arc<Semaphore>,
    listener: &TcpListener,
) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let place = places.clone().acquire_owned().await.map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, place))
}

pub(super) async fn connection(
    stream: TcpStream,
    place: OwnedSemaphorePermit,
    router: Router,
    mut closed: watch::Receiver<bool>,
) {
    let _place = place;
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection keeps its delay");
    }
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WAIT)
        .max_buf_size(HEAD_BYTES_MAX)
        // A caller that has sent all it will send may still read.
        .half_close(true)
        .serve_connection(TokioIo::new(Patient::new(stream, STALL)), TowerToHyperService::new(router));
    let mut served = pin!(served);
    let ended = tokio::select! {
        ended = served.as_mut() => ended,
        () = told(&mut closed) => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke");
    }
}

async fn told(closed: &mut watch::Receiver<bool>) {
    // A sender that is gone has nothing to keep open either.
    drop(closed.wait_for(|closed| *closed).await);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_addresses_are_listened_on() {
        for (listen, address) in
            [("127.0.0.1:7777", "127.0.0.1:7777"), ("localhost:0", "127.0.0.1:0"), ("[::1]:80", "[::1]:80")]
        {
            assert_eq!(admissible(listen, Auth::Off).expect("it is loopback").to_string(), address);
        }
        for (listen, words) in [
            ("0.0.0.0:7777", "other machines"),
            ("[::]:7777", "other machines"),
            ("192.168.1.2:80", "other machines"),
            ("7777", "ADDRESS:PORT"),
            ("127.0.0.1", "ADDRESS:PORT"),
            ("localhost:99999", "ADDRESS:PORT"),
            ("example.com:80", "ADDRESS:PORT"),
            ("", "ADDRESS:PORT"),
        ] {
            let error = admissible(listen, Auth::Off).expect_err("it is refused");
            assert!(error.message.contains(words), "{listen}: {}", error.message);
        }
        assert!(admissible("0.0.0.0:7777", Auth::Token).is_ok());
    }
}
