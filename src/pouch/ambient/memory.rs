//! Memory: how much of it a run may have, as the kernel says.

use std::fs::read_to_string;
use std::path::Path;

/// The files that say how much memory a control group may have: below which folder they are, and what they are called.
///
/// <https://docs.kernel.org/admin-guide/cgroup-v2.html#memory-interface-files>
/// <https://docs.kernel.org/admin-guide/cgroup-v1/memory.html#user-interface>
const UNIFIED: (&[&str], &[&str]) = (&["sys/fs/cgroup", "sys/fs/cgroup/unified"], &["memory.max", "memory.high"]);
const FIRST: (&[&str], &[&str]) = (&["sys/fs/cgroup/memory"], &["memory.limit_in_bytes"]);

/// The least of the limits of the control group and those above it, and of what the machine has free. `root` is where the
/// system's files are.
pub(super) fn available(root: &Path) -> Option<u64> {
    let groups = read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    // `0::/path` and `4:memory:/path`. In a container the path may be that of its host, where nothing is: its own group is
    // at the top then.
    let limits = groups.lines().flat_map(|line| {
        let mut words = line.splitn(3, ':').skip(1);
        let (controllers, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let (tops, files) = match controllers {
            "" => UNIFIED,
            some if some.split(',').any(|one| one == "memory") => FIRST,
            _ => return Vec::new(),
        };
        let ways = Path::new(path.trim_start_matches('/')).ancestors();
        let folders = ways.flat_map(|way| tops.iter().map(move |top| root.join(top).join(way)));
        folders.flat_map(|folder| files.iter().filter_map(move |file| number(&folder.join(file)))).collect()
    });
    limits.chain(free(root)).min()
}

/// The number that is all of a file's text: none for `max`.
fn number(file: &Path) -> Option<u64> {
    read_to_string(file).ok()?.trim().parse().ok()
}

/// The memory that can be had without taking it from another program.
///
/// <https://docs.kernel.org/filesystems/proc.html#meminfo>
fn free(root: &Path) -> Option<u64> {
    let text = read_to_string(root.join("proc/meminfo")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1 << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The memory that is available where the system's files are these.
    fn of(files: &[(&str, &str)]) -> Option<u64> {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let at = root.path().join(path);
            std::fs::create_dir_all(at.parent().unwrap()).unwrap();
            std::fs::write(at, text).unwrap();
        }
        available(root.path())
    }

    #[test]
    fn the_least_of_all_limits_counts() {
        let free = ("proc/meminfo", "MemTotal:  9000 kB\nMemFree: 1 kB\nMemAvailable:    4000 kB\n");
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[free]), Some(4000 << 10));
        let unified = ("proc/self/cgroup", "0::/kubepods/pod/one\n");
        // Its own limit, that of a group above it, and that of a container that sees only itself.
        let own = ("sys/fs/cgroup/kubepods/pod/one/memory.max", "3000000\n");
        let none = ("sys/fs/cgroup/kubepods/pod/one/memory.max", "max\n");
        let above = ("sys/fs/cgroup/kubepods/memory.max", "2000000\n");
        let alone = ("sys/fs/cgroup/memory.max", "1000000\n");
        assert_eq!(of(&[free, unified, own]), Some(3_000_000));
        assert_eq!(of(&[free, unified, none]), Some(4000 << 10));
        assert_eq!(of(&[free, unified, own, above]), Some(2_000_000));
        assert_eq!(of(&[free, unified, alone]), Some(1_000_000));
        assert_eq!(of(&[free, unified, ("sys/fs/cgroup/kubepods/pod/one/memory.high", "7\n"), own]), Some(7));
        // Where the machine itself has less, and in the first version, where no limit is a huge one.
        assert_eq!(of(&[("proc/meminfo", "MemAvailable: 1 kB\n"), unified, own]), Some(1 << 10));
        let first = ("proc/self/cgroup", "5:cpu:/x\n4:hugetlb,memory:/a/b\n0::/\n");
        let most = ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(of(&[free, first, most]), Some(4000 << 10));
        assert_eq!(of(&[free, first, most, ("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "5\n")]), Some(5));
        assert_eq!(of(&[free, first, ("sys/fs/cgroup/cpu/x/memory.limit_in_bytes", "5\n")]), Some(4000 << 10));
    }
}
