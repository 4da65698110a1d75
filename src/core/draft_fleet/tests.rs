//! Drafts by tables: what is written, and what is found lacking.
