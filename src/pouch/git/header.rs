//! Commits as far as they are needed: the tree, the parents and the time, and for people the author and the message.
//!
//! Commits are made by all who may push, and libgit2 reads none whose author or committer has no address. Whatever else
//! stands in a header is their text, and stops no other.

use git2::{ErrorClass, ErrorCode, ObjectType, Oid, Repository};

use super::address::is_commit_id;

/// The largest commit that is read, in bytes; one of pouch's own has some hundred for each region.
const MOST_BYTES: usize = 128 << 20;

/// The longest message that is kept, in bytes.
const MOST_MESSAGE: usize = 16 << 20;

/// A commit.
pub(super) struct Header {
    /// The folder that it holds.
    pub(super) tree: Oid,
    /// Its parents, also those that were not fetched.
    pub(super) parents: Vec<Oid>,
    /// The time of the commit, in seconds since 1970-01-01 UTC; nought where it says none.
    pub(super) seconds: i64,
    /// Its author's name; bytes that are no UTF-8 are replaced.
    pub(super) author: String,
    /// Its message; empty if that is no UTF-8, or longer than any of pouch's.
    pub(super) message: String,
}

impl Header {
    /// The id of its parent; empty where it has none, or several.
    pub(super) fn only_parent(&self) -> String {
        if let [parent] = &*self.parents { parent.to_string() } else { String::new() }
    }
}

/// Reads a commit.
///
/// # Errors
/// Where it is not there, is no commit, or is [`is_odd`].
pub(super) fn read(repository: &Repository, id: Oid) -> Result<Header, git2::Error> {
    let odb = repository.odb()?;
    match odb.read_header(id)? {
        (_, kind) if kind != ObjectType::Commit => Err(no_commit(id)),
        (size, _) if size > MOST_BYTES => Err(odd(format!("commit {id} has more than {MOST_BYTES} bytes"))),
        _ => parse(odb.read(id)?.data()).ok_or_else(|| odd(format!("commit {id} names no tree"))),
    }
}

fn odd(what: String) -> git2::Error {
    git2::Error::new(ErrorCode::Invalid, ErrorClass::Object, what)
}

/// Returns true if what is wrong is no damage, but an object that is all there and that git would not make.
pub(super) fn is_odd(error: &git2::Error) -> bool {
    error.code() == ErrorCode::Invalid && error.class() == ErrorClass::Object
}

/// The folder that a commit holds.
///
/// # Errors
/// As [`read`], and where the folder cannot be read.
pub(super) fn tree(repository: &Repository, id: Oid) -> Result<git2::Tree<'_>, git2::Error> {
    repository.find_tree(read(repository, id)?.tree)
}

/// An object that tags lead to from another one.
pub(super) struct Peeled {
    /// Its id.
    pub(super) id: Oid,
    /// Its kind, which is no tag.
    pub(super) kind: ObjectType,
    /// The time of the oldest of the tags.
    pub(super) tagged: Option<i64>,
}

/// Follows tags from an object to what is none.
///
/// # Errors
/// Where one of them is not there, or is [`is_odd`].
pub(super) fn peel(repository: &Repository, mut id: Oid) -> Result<Peeled, git2::Error> {
    let odb = repository.odb()?;
    let mut tagged: Option<i64> = None;
    loop {
        let (size, kind) = odb.read_header(id)?;
        if kind != ObjectType::Tag {
            return Ok(Peeled { id, kind, tagged });
        }
        if size > MOST_BYTES {
            return Err(odd(format!("tag {id} has more than {MOST_BYTES} bytes")));
        }
        let tag = odb.read(id)?;
        let (target, seconds) = parse_tag(tag.data()).ok_or_else(|| odd(format!("tag {id} names no object")))?;
        (id, tagged) = (target, tagged.into_iter().chain(seconds).min());
    }
}

/// Follows tags from an object to a commit.
///
/// # Errors
/// Where one of them is not there, or they lead to no commit.
pub(super) fn commit(repository: &Repository, id: Oid) -> Result<Oid, git2::Error> {
    match peel(repository, id)? {
        Peeled { id, kind: ObjectType::Commit, .. } => Ok(id),
        Peeled { id, .. } => Err(no_commit(id)),
    }
}

/// Follows `~2` and `^`, one behind the other, from an object to an ancestor.
///
/// # Errors
/// Where it is not there, or this is another way of naming.
pub(super) fn ancestor(repository: &Repository, id: Oid, mut way: &str) -> Result<Oid, git2::Error> {
    let absent = || git2::Error::new(ErrorCode::NotFound, ErrorClass::Reference, "there is no such ancestor");
    let mut id = commit(repository, id)?;
    while let Some(step) = way.chars().next() {
        let rest = way.get(1..).unwrap_or_default();
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (count, rest) = rest.split_at(digits);
        let count: usize = if count.is_empty() { 1 } else { count.parse().map_err(|_| absent())? };
        match step {
            '~' => {
                for _ in 0..count {
                    id = read(repository, id)?.parents.first().copied().ok_or_else(absent)?;
                }
            }
            '^' if count == 0 => {}
            '^' => id = read(repository, id)?.parents.get(count.saturating_sub(1)).copied().ok_or_else(absent)?,
            _ => return Err(git2::Error::new(ErrorCode::InvalidSpec, ErrorClass::Reference, "it is no ancestor")),
        }
        way = rest;
    }
    Ok(id)
}

fn no_commit(id: Oid) -> git2::Error {
    git2::Error::new(ErrorCode::Peel, ErrorClass::Object, format!("object {id} is no commit"))
}

/// Reads the text of a commit: git writes the tree first, then the parents, whatever follows.
fn parse(data: &[u8]) -> Option<Header> {
    let (head, message) = divided(data);
    let mut lines = head.split(|byte| *byte == b'\n').peekable();
    let tree = id(lines.next()?, b"tree ")?;
    let mut parents = Vec::new();
    while let Some(parent) = lines.peek().and_then(|line| id(line, b"parent ")) {
        parents.push(parent);
        lines.next();
    }
    let lines: Vec<&[u8]> = lines.collect();
    let of = |name: &[u8]| lines.iter().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    let (seconds, author) = (time_of(of(b"committer ")).unwrap_or_default(), name_of(of(b"author ")));
    let message = std::str::from_utf8(message).ok().filter(|text| text.len() <= MOST_MESSAGE).unwrap_or_default();
    Some(Header { tree, parents, seconds, author, message: message.to_owned() })
}

/// Reads the text of a tag: the object that it names, and its time if it says one.
fn parse_tag(data: &[u8]) -> Option<(Oid, Option<i64>)> {
    let mut lines = divided(data).0.split(|byte| *byte == b'\n');
    let target = id(lines.next()?, b"object ")?;
    Some((target, lines.find_map(|line| line.strip_prefix(b"tagger ")).and_then(time_of)))
}

/// The header and the message.
fn divided(data: &[u8]) -> (&[u8], &[u8]) {
    let end = data.windows(2).position(|pair| pair == b"\n\n");
    let (head, message) = data.split_at(end.unwrap_or(data.len()));
    (head, message.get(2..).unwrap_or_default())
}

/// The whole id in a line of this name.
fn id(line: &[u8], name: &[u8]) -> Option<Oid> {
    let text = std::str::from_utf8(line.strip_prefix(name)?).ok()?;
    Oid::from_str(text).ok().filter(|_| is_commit_id(text))
}

/// The name in `NAME <ADDRESS> SECONDS ZONE`.
fn name_of(line: &[u8]) -> String {
    let name = line.split(|byte| *byte == b'<').next().unwrap_or_default();
    String::from_utf8_lossy(name).trim().to_owned()
}

/// The seconds in it, if there are any.
fn time_of(line: &[u8]) -> Option<i64> {
    let behind = line.rsplit(|byte| *byte == b'>').next()?;
    let first = behind.split(u8::is_ascii_whitespace).find(|word| !word.is_empty())?;
    std::str::from_utf8(first).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

    /// Reads a commit with these lines below its tree, and gives its parents, seconds, author and message.
    #[track_caller]
    fn check(below: &str, expect: Option<(usize, i64, &str, &str)>) {
        let read = parse(format!("tree {TREE}\n{below}").as_bytes());
        let told = read.as_ref().map(|it| (it.parents.len(), it.seconds, &*it.author, &*it.message));
        assert_eq!(told, expect, "{below}");
    }

    #[test]
    fn whatever_people_wrote_the_tree_and_the_parents_are_read() {
        let parent = format!("parent {TREE}\n");
        check(
            &format!("{parent}{parent}author A B <a@x> 5 +0000\ncommitter C <c@x> 7 +0000\n\nhello\n\nyou\n"),
            Some((2, 7, "A B", "hello\n\nyou\n")),
        );
        // A padded date, no address, no names, no date, a zone that is none, bytes, none of it, a parent too late.
        check("author A <a@x> 00005 +0000\ncommitter A <a@x> 00005 +0000\n\nm", Some((0, 5, "A", "m")));
        check("author A\ncommitter A\n\nm", Some((0, 0, "A", "m")));
        check("author <a@x> 1 +0000\ncommitter >< 9 what\n\nm", Some((0, 0, "", "m")));
        check("committer a <a> 99999999999999999999 +0000\n\n", Some((0, 0, "", "")));
        check("author \u{0}<\u{0}> 3\ncommitter \u{0}> 3 \u{0}\n\nm", Some((0, 3, "\u{0}", "m")));
        check("", Some((0, 0, "", "")));
        check(&format!("author a\n{parent}\nm"), Some((0, 0, "a", "m")));
        for broken in ["", "tree x\n\n", "parent 1\n", "tree 4b825d\n\n"] {
            assert!(parse(broken.as_bytes()).is_none(), "{broken}");
        }
    }
}
