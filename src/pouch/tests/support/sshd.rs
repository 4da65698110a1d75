//! A real SSH server on loopback, for one user and one key.

use std::fs::{self, OpenOptions};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use super::{find, skipped};

/// The server; it ends with this value.
pub struct Sshd {
    child: Child,
    folder: PathBuf,
    port: u16,
}

impl Sshd {
    /// Starts one in a folder, or says that there is no such program. `forced` stands before the user's public key, such
    /// as `command=\"…\"`.
    pub fn start(folder: &Path, forced: &str) -> Option<Self> {
        let mut places = std::env::var_os("PATH").unwrap_or_default();
        // Debian's stands where the paths of plain users do not lead.
        places.push(":/usr/sbin:/usr/local/sbin");
        let Some(program) = find("sshd", &places) else {
            skipped("no program sshd in PATH (Debian's package openssh-server)");
            return None;
        };
        if rustix::process::geteuid().is_root() {
            // The system's own start script makes it; without it the server refuses to run as root.
            fs::create_dir_all("/run/sshd").unwrap();
        }
        fs::create_dir_all(folder).unwrap();
        for key in ["host", "other", "user"] {
            let mut keygen = Command::new("ssh-keygen");
            keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(folder.join(key)).stdin(Stdio::null());
            assert!(keygen.status().unwrap().success());
        }
        let public = fs::read_to_string(folder.join("user.pub")).unwrap();
        fs::write(folder.join("authorized_keys"), format!("{forced} {public}").trim_start()).unwrap();
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let config = format!(
            "ListenAddress 127.0.0.1\nPort {port}\nHostKey {0}/host\nAuthorizedKeysFile {0}/authorized_keys\nPidFile none\n\
             StrictModes no\nPermitRootLogin yes\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nUsePAM no\n\
             AcceptEnv GIT_PROTOCOL\n",
            folder.display()
        );
        fs::write(folder.join("sshd_config"), config).unwrap();
        let log = OpenOptions::new().create(true).append(true).open(folder.join("log")).unwrap();
        let mut command = Command::new(program);
        command.args(["-D", "-e", "-f"]).arg(folder.join("sshd_config")).stdin(Stdio::null()).stderr(log);
        let child = command.spawn().unwrap();
        let started = Self { child, folder: folder.to_owned(), port };
        for _ in 0..200 {
            if TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok() {
                return Some(started);
            }
            thread::sleep(Duration::from_millis(50));
        }
        panic!("sshd does not start: {}", fs::read_to_string(folder.join("log")).unwrap_or_default());
    }

    /// The URL of a folder.
    pub fn url(&self, path: &Path) -> String {
        let output = Command::new("id").arg("-un").output().unwrap();
        let user = String::from_utf8(output.stdout).unwrap();
        format!("ssh://{}@127.0.0.1:{}{}", user.trim(), self.port, path.display())
    }

    /// What git is to run as ssh: with the user's key, and knowing the host by the key of this name; or not at all.
    pub fn client(&self, known: Option<&str>) -> String {
        let hosts = self.folder.join("known_hosts");
        let line = known.map(|name| {
            let public = fs::read_to_string(self.folder.join(format!("{name}.pub"))).unwrap();
            format!("[127.0.0.1]:{} {public}", self.port)
        });
        fs::write(&hosts, line.unwrap_or_default()).unwrap();
        format!(
            "ssh -F /dev/null -i '{}' -o IdentitiesOnly=yes -o UserKnownHostsFile='{}' -o GlobalKnownHostsFile=/dev/null",
            self.folder.join("user").display(),
            hosts.display()
        )
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
