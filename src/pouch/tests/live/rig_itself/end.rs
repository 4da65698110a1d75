//! An API server ends with its value, and with its process however that ends.

use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::rig::apiserver::ApiServer;
use crate::rig::guarded::Guarded;

/// Waits until nobody listens there and the folder is gone.
#[track_caller]
fn ends(address: SocketAddr, folder: &Path) {
    let began = Instant::now();
    while folder.exists() || TcpStream::connect(address).is_ok() {
        assert!(began.elapsed() < Duration::from_secs(60), "an API server outlived its test: {}", folder.display());
        thread::sleep(Duration::from_millis(20));
    }
}

const HOLD: &str = "POUCH_TEST_HOLDS_A_SERVER";

/// The process that [`a_server_ends_with_its_process`] kills; nothing otherwise.
#[test]
fn held_server() {
    if std::env::var_os(HOLD).is_none() {
        return;
    }
    let Some(server) = ApiServer::shared() else { return };
    // On a line of its own, after what the test runner wrote.
    println!("\nheld {} {}", server.address(), server.folder().display());
    thread::sleep(Duration::from_secs(60));
}

/// Whatever becomes of the process: a killed one runs no destructor, and a static is never dropped.
#[test]
fn a_server_ends_with_its_process() {
    if ApiServer::shared().is_none() {
        return;
    }
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "rig_itself::end::held_server", "--nocapture"])
        .env(HOLD, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let held = lines.map_while(Result::ok).find(|line| line.starts_with("held ")).expect("the server starts");
    let words: Vec<&str> = held.split(' ').collect();
    let (address, folder): (SocketAddr, _) = (words[1].parse().unwrap(), Path::new(words[2]));
    assert!(folder.exists() && TcpStream::connect(address).is_ok(), "it was not there in the first place");
    child.kill().unwrap();
    child.wait().unwrap();
    ends(address, folder);
}

#[test]
fn a_server_ends_when_it_is_dropped() {
    let Some(server) = ApiServer::start() else { return };
    let (address, folder) = (server.address(), server.folder().to_owned());
    assert!(folder.exists() && TcpStream::connect(address).is_ok(), "it was not there in the first place");
    drop(server);
    ends(address, &folder);
}

/// What it started ends too; a consumer's controllers run other programs.
#[test]
fn a_guarded_program_ends_with_what_it_started() {
    if !Path::new("/proc/self/cmdline").exists() {
        return;
    }
    let program =
        Guarded::start("sh", Path::new("/bin/sh"), |_| (vec!["-c", "sleep 600 & echo $! $$; wait"], Vec::new()));
    let (began, folder) = (Instant::now(), program.folder().to_owned());
    while !program.log().ends_with('\n') {
        assert!(began.elapsed() < Duration::from_secs(60), "it does not start");
        thread::sleep(Duration::from_millis(5));
    }
    let told = program.log();
    let pids: Vec<&str> = told.split_whitespace().collect();
    // A process that ended and that nobody asked about has an empty command line, or none.
    let lives = |pid: &str| std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty());
    assert!(pids.len() == 2 && pids.iter().all(|pid| lives(pid)), "they were not there in the first place: {told}");
    drop(program);
    let began = Instant::now();
    while folder.exists() || pids.iter().any(|pid| lives(pid)) {
        assert!(began.elapsed() < Duration::from_secs(10), "a program outlived its test: {}", folder.display());
        thread::sleep(Duration::from_millis(5));
    }
}
