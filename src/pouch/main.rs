//! The `pouch` program: a wiping allocator, a quiet panic hook, and [`pouch::cli::run`].

use std::process::ExitCode;

use pouch::ambient::Ambient;
use zeroizing_alloc::ZeroAlloc;

/// Every freed allocation is wiped, so that copies which libraries make of secrets do not stay behind.
#[global_allocator]
static ALLOCATOR: ZeroAlloc<std::alloc::System> = ZeroAlloc(std::alloc::System);

fn main() -> ExitCode {
    pouch::harden();
    let ambient = Ambient::real();
    ExitCode::from(pouch::cli::run(&ambient))
}
