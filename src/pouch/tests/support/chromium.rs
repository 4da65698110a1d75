//! A page in the real browser, headless: what it shows, and what it asks for.

use std::ffi::OsString;
use std::fs;
use std::io::Read as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tempfile::TempDir;

use super::tool_on_path;

/// The browser, with a profile of its own.
pub struct Chromium {
    program: PathBuf,
    profile: TempDir,
}

impl Chromium {
    /// None, loudly, where it is absent (Debian's package chromium).
    pub fn find() -> Option<Self> {
        Some(Self { program: tool_on_path("chromium")?, profile: tempfile::tempdir().unwrap() })
    }

    /// What the page is once it is loaded, as HTML.
    pub fn dom(&self, page: &Path) -> String {
        self.run(&["--dump-dom".into()], page)
    }

    /// A picture of the page at a width.
    pub fn picture(&self, page: &Path, width: u32, into: &Path) {
        let mut to = OsString::from("--screenshot=");
        to.push(into);
        self.run(&["--hide-scrollbars".into(), format!("--window-size={width},1600").into(), to], page);
        assert!(into.is_file(), "no picture was made");
    }

    /// What is seen of a page at 390, 800 and 1280 pixels, by day or by night: how much room it has and takes, its colours,
    /// and the least contrast of a text. A page of the test's own, beside it, shows it in a frame and measures.
    pub fn looked_at(&self, page: &Path, is_dark: bool) -> Vec<Value> {
        let look = include_str!("chromium/look.html").replace("PAGE", page.file_name().unwrap().to_str().unwrap());
        let beside = page.with_file_name("look.html");
        fs::write(&beside, look).unwrap();
        let scheme = if is_dark { 0 } else { 1 };
        let dom = self.run(
            &[
                "--allow-file-access-from-files".into(),
                format!("--blink-settings=preferredColorScheme={scheme}").into(),
                // Time goes on only while nothing is loaded.
                "--virtual-time-budget=50000".into(),
                "--dump-dom".into(),
            ],
            &beside,
        );
        let (_, answer) = dom.split_once("<pre>").unwrap_or_else(|| panic!("nothing was measured: {dom}"));
        let answer = STANDARD.decode(answer.split_once("</pre>").unwrap().0).unwrap();
        serde_json::from_slice(&answer).unwrap()
    }

    fn run(&self, flags: &[OsString], page: &Path) -> String {
        let mut profile = OsString::from("--user-data-dir=");
        profile.push(self.profile.path());
        let mut address = OsString::from("file://");
        address.push(page);
        let mut command = Command::new("timeout");
        // A sandbox needs rights that a container does not have; what is shown is our own.
        command.args(["60".as_ref(), self.program.as_os_str()]);
        command.args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]);
        command.args(["--disable-background-networking", "--disable-component-update", "--disable-sync"]);
        command.arg(profile).args(flags).arg(address).stdin(Stdio::null());
        command.env("HOME", self.profile.path());
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{:?}: {said}", output.status);
        String::from_utf8(output.stdout).unwrap()
    }
}

/// Listens on loopback, and counts who comes.
pub struct Listener {
    pub port: u16,
    came: Arc<AtomicUsize>,
    asked: Arc<AtomicUsize>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    pub fn new() -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        socket.set_nonblocking(true).unwrap();
        let port = socket.local_addr().unwrap().port();
        let (came, asked) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let ended = Arc::new(AtomicBool::new(false));
        let thread = thread::spawn({
            let (came, asked, ended) = (Arc::clone(&came), Arc::clone(&asked), Arc::clone(&ended));
            move || {
                while !ended.load(Ordering::SeqCst) {
                    match socket.accept() {
                        Ok((mut stream, _)) => {
                            came.fetch_add(1, Ordering::SeqCst);
                            _ = stream.set_read_timeout(Some(Duration::from_millis(100)));
                            let words = stream.read(&mut [0; 1024]).unwrap_or_default();
                            asked.fetch_add(usize::from(words > 0), Ordering::SeqCst);
                        }
                        Err(_) => thread::sleep(Duration::from_millis(10)),
                    }
                }
            }
        });
        Self { port, came, asked, ended, thread: Some(thread) }
    }

    /// How many of them said anything.
    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    /// How many connections were made so far.
    pub fn came(&self) -> usize {
        self.came.load(Ordering::SeqCst)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
    }
}
