//! The `pouch` program: a wiping allocator around [`pouch::cli::run`].

use std::process::ExitCode;

use mimalloc::MiMalloc;
use pouch::harden;
use zeroizing_alloc::ZeroAlloc;

/// Wipes every freed allocation, so that copies which libraries make of secrets do not stay behind.
#[global_allocator]
static ALLOCATOR: ZeroAlloc<MiMalloc> = ZeroAlloc(MiMalloc);

fn main() -> ExitCode {
    harden::harden();
    ExitCode::from(harden::guarded(pouch::cli::main))
}
