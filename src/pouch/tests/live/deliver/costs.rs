//! What a run takes beside time: memory, and nothing on a disk.

use serde_json::Value;

use super::{flags, region};
use crate::delivered::{Delivered, aws, odd};
use crate::support::peak::peak;
use crate::support::strace::{Strace, Watched, listing_files, writing};

#[test]
fn memory_follows_from_what_is_applied_and_nothing_is_written() {
    let Some(mut region) = region() else { return };
    let all = |count: usize| (0..count).flat_map(|n| odd(&format!("odd-{n}"), 1)).collect::<Vec<Value>>();
    let run = |region: &mut Delivered, count: usize| {
        region.put(&all(count));
        region.publish();
        let fixed = flags(region);
        let words: Vec<&str> = fixed.iter().map(String::as_str).collect();
        let (output, most) = peak(region.fleet.command(&words).env("RAYON_NUM_THREADS", "2"));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        most
    };
    let (little, much) = (run(&mut region, 5), run(&mut region, 105));
    region.is_exact();
    // Each has 70,000 bytes and some, which base64 makes a third more.
    let printed = 100 * 94_000;
    // It was 5.5 times.
    assert!(much.saturating_sub(little) < 8 * printed, "held {little} and {much} bytes");

    let Some(strace) = Strace::find() else { return };
    region.put(&aws("aws", 1));
    region.publish();
    let (fixed, list) = (flags(&region), region.fleet.path("calls"));
    let command = region.fleet.command(&fixed.iter().map(String::as_str).collect::<Vec<_>>());
    let output = strace.around(Watched::All, &listing_files(&list), &command).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(writing(&list), Vec::<String>::new());
    region.is_exact();
}
