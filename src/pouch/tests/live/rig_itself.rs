//! The rig itself: the real API server, the proxy's faults and the writer do what they say.
//!
//! Everybody who tests pouch against a live API builds on these, so nothing here trusts the rig with a verdict on
//! itself: answers are compared with what is written down, Python and kubectl look at the same faults,
//! and a process is killed to see what it leaves behind.

mod canned;
mod end;
mod faults;
mod pages;
mod python;
mod requests;
mod server;
mod writer;
