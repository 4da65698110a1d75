//! pouch, the shell.
