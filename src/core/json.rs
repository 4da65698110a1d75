//! The JSON door.
