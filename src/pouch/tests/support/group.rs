//! A control group with a memory limit, as a container has one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The group; it goes with its value.
pub struct Group(PathBuf);

impl Group {
    /// Makes one whose processes may have so many bytes of memory together; none where nothing may be made there, as
    /// without root.
    pub fn new(bytes: u64) -> Option<Self> {
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        let name = format!("pouch-test-{}", std::process::id());
        let path = |controllers: &str| {
            let mut found = groups.lines().map(|line| line.splitn(3, ':').skip(1).collect::<Vec<_>>());
            found.find_map(|words| {
                (words.first() == Some(&controllers)).then(|| words.get(1).copied().unwrap_or_default().to_owned())
            })
        };
        let first = path("memory").map(|path| {
            (Path::new("/sys/fs/cgroup/memory").join(path.trim_start_matches('/')), "memory.limit_in_bytes")
        });
        let unified =
            path("").map(|path| (Path::new("/sys/fs/cgroup").join(path.trim_start_matches('/')), "memory.max"));
        [first, unified].into_iter().flatten().find_map(|(top, limit)| {
            let group = Self(top.join(&name));
            fs::create_dir(&group.0).ok()?;
            // Where the controller is not handed down, the file is missing.
            fs::write(group.0.join(limit), bytes.to_string()).ok()?;
            // No swap either, where that is counted.
            _ = fs::write(group.0.join("memory.memsw.limit_in_bytes"), bytes.to_string());
            _ = fs::write(group.0.join("memory.swap.max"), "0");
            Some(group)
        })
    }

    /// The same command, run in the group.
    pub fn holding(&self, command: &Command) -> Command {
        let mut inside = Command::new("/bin/sh");
        let script = "echo $$ > \"$0\" && exec \"$@\"";
        inside
            .args(["-c", script])
            .arg(self.0.join("cgroup.procs"))
            .arg(command.get_program())
            .args(command.get_args());
        inside.env_clear();
        for (name, value) in command.get_envs() {
            _ = value.map(|value| inside.env(name, value));
        }
        if let Some(folder) = command.get_current_dir() {
            inside.current_dir(folder);
        }
        inside
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        _ = fs::remove_dir(&self.0);
    }
}
