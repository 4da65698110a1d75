//! A program that runs beside a test, with a folder of its own, and ends with its value or with the test's process.
//!
//! It is a child of a small shell, which ends it and everything that it started, and removes its folder, as soon as
//! the pipe to the test closes. (Why no other way will do, says [`super::apiserver`].)

use std::ffi::OsString;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Its name is the folder, its arguments are the program's. It leads a process group, which goes with it.
const WATCHER: &str = r#"
trap '' INT HUP TERM
"$@" </dev/null >"$0/log" 2>&1 &
child=$!
while read -r line; do :; done
kill -KILL $child
wait
rm -rf "$0"
kill -KILL 0
"#;

/// A running program.
pub struct Guarded {
    name: String,
    folder: PathBuf,
    watcher: Child,
}

impl Guarded {
    /// Starts a program under a name for people, in a new folder, which `command` gets to know and may fill, with the arguments and the
    /// environment that `command` gives. Of the caller's environment it has `PATH` alone.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn start<A: Into<OsString>>(
        name: &str,
        program: &Path,
        command: impl FnOnce(&Path) -> (Vec<A>, Vec<(&'static str, OsString)>),
    ) -> Self {
        let folder =
            tempfile::Builder::new().prefix(&format!("pouch-{name}-")).tempdir().expect("a scratch folder").keep();
        let (arguments, environment) = command(&folder);
        let watcher = Command::new("/bin/sh")
            .args(["-c", WATCHER])
            .args([folder.as_os_str(), program.as_os_str()])
            .args(arguments.into_iter().map(Into::into))
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("HOME", &folder)
            .envs(environment)
            .current_dir(&folder)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell starts");
        Self { name: name.to_owned(), folder, watcher }
    }

    /// Its scratch folder, which goes when it ends.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Everything that it said.
    pub fn log(&self) -> String {
        fs::read(self.folder.join("log")).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// The last lines of what it said, under its name.
    pub fn last_words(&self) -> String {
        let text = self.log();
        let mut lines: Vec<String> = text.lines().rev().take(15).map(|line| line.chars().take(400).collect()).collect();
        lines.reverse();
        format!("{}:\n{}\n", self.name, lines.join("\n"))
    }

    /// Waits until this path of a port on loopback answers 200 to HTTP.
    ///
    /// # Errors
    /// As [`Guarded::wait_until`].
    pub fn wait_until_ready(&self, port: u16, path: &str) -> Result<(), String> {
        self.wait_until(|| answers(port, path))
    }

    /// Waits until something is so.
    ///
    /// # Errors
    /// What it said last, if that takes longer than a minute, or as soon as it found its port taken.
    pub fn wait_until(&self, is_ready: impl Fn() -> bool) -> Result<(), String> {
        let began = Instant::now();
        while !is_ready() {
            if began.elapsed() > Duration::from_secs(60) || self.log().contains("address already in use") {
                return Err(format!("not ready after {} s\n{}", began.elapsed().as_secs(), self.last_words()));
            }
            thread::sleep(Duration::from_millis(30));
        }
        Ok(())
    }
}

fn answers(port: u16, path: &str) -> bool {
    let ask = || {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
        let mut head = [0; 12];
        stream.read_exact(&mut head)?;
        std::io::Result::Ok(head.ends_with(b" 200"))
    };
    ask().unwrap_or(false)
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // The watcher sees its input end.
        drop(self.watcher.stdin.take());
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(10) {
            if !matches!(self.watcher.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
        eprintln!("NOTE {} under {} did not end", self.name, self.folder.display());
    }
}

/// The CRDs of a program, which scripts/tools/get lays beside it.
pub fn crds_beside(program: &Path) -> PathBuf {
    program.parent().and_then(Path::parent).expect("programs stand in folders").join("crds")
}
