//! A forward proxy on loopback, as `proxy-url` and `HTTPS_PROXY` name one: it passes on what `CONNECT` asks for.
//!
//! It sees ciphertext only, spoils nothing, and reaches nothing but loopback.

use std::io::{self, BufReader, Read, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::http::Request;

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    targets: Mutex<Vec<String>>,
    sockets: Mutex<Vec<TcpStream>>,
}

/// The proxy. It ends, with all that goes through it, when this is dropped.
pub struct Tunnel {
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
    address: SocketAddr,
}

impl Tunnel {
    /// Opens it.
    pub fn new() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has free ports");
        let address = listener.local_addr().expect("a bound socket has an address");
        let shared = Arc::new(Shared::default());
        let all = Arc::clone(&shared);
        let acceptor = thread::spawn(move || {
            let mut threads = Vec::new();
            while let Ok((socket, _)) = listener.accept() {
                if all.stop.load(Ordering::SeqCst) {
                    break;
                }
                let own = Arc::clone(&all);
                threads.push(thread::spawn(move || drop(own.serve(socket))));
            }
            all.hang_up();
            threads.into_iter().for_each(|thread| drop(thread.join()));
        });
        Self { shared, acceptor: Some(acceptor), address }
    }

    /// What kubeconfigs and the environment call it.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it was asked to connect to, in order: `host:port`.
    pub fn targets(&self) -> Vec<String> {
        self.shared.targets.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Default for Tunnel {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        // Wakes the acceptor.
        drop(TcpStream::connect(self.address));
        self.shared.hang_up();
        self.acceptor.take().map(JoinHandle::join);
    }
}

impl Shared {
    fn hang_up(&self) {
        for socket in self.sockets.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    fn keep(&self, socket: &TcpStream) -> io::Result<()> {
        socket.set_read_timeout(Some(Duration::from_secs(60)))?;
        self.sockets.lock().unwrap_or_else(PoisonError::into_inner).push(socket.try_clone()?);
        Ok(())
    }

    fn serve(&self, near: TcpStream) -> io::Result<()> {
        self.keep(&near)?;
        // Byte by byte in effect: a client says nothing more until it is answered.
        let Some(request) = Request::read(&mut BufReader::new(&near))? else { return Ok(()) };
        self.targets.lock().unwrap_or_else(PoisonError::into_inner).push(request.target.clone());
        // A name is one of this machine, which nobody but this proxy knows.
        let named =
            |target: &str| Some(SocketAddr::from((Ipv4Addr::LOCALHOST, target.rsplit_once(':')?.1.parse().ok()?)));
        let target = request.target.parse::<SocketAddr>().ok().or_else(|| named(&request.target));
        let target = target.filter(|target| target.ip().is_loopback());
        let (Some(target), "CONNECT") = (target, request.method.as_str()) else {
            return (&near).write_all(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
        };
        let far = TcpStream::connect_timeout(&target, Duration::from_secs(10))?;
        self.keep(&far)?;
        (&near).write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
        thread::scope(|scope| {
            scope.spawn(|| pass(&near, &far));
            pass(&far, &near);
        });
        Ok(())
    }
}

/// Copies what comes until it ends, and then ends the other side.
fn pass(mut from: &TcpStream, mut to: &TcpStream) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}
