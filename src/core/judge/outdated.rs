//! Recipients that are past the day until which the configuration lets them read.

use alloc::format;
use alloc::vec::Vec;

use crate::config::Fleet;
use crate::expiry::day;
use crate::finding::{Code, Finding, Origin};
use crate::name::Region;
use crate::recipient::{Recipient, shown};

/// What is said of them; `now` is in seconds since 1970.
pub fn outdated(fleet: &Fleet, now: i64) -> Vec<Finding> {
    let Some(today) = day(now) else { return Vec::new() };
    let of = |recipient: &Recipient, region: Option<&Region>| {
        let until = fleet.readers.until(recipient).filter(|until| **until < *today)?;
        let name = fleet.readers.name(recipient.as_str());
        let (what, field) = match region {
            Some(region) => (format!("region {region}"), format!("regions.{region}.recipients")),
            None => ("every region".into(), "escrowRecipients".into()),
        };
        let message = format!("{} was to read {what} until {until}", shown(name, recipient.as_str()));
        let help = format!(
            "Take it out of `{field}`, publish, and rotate what `pouch exposure --recipient {recipient}` names; or give it \
             another day, if it is to stay."
        );
        let finding = Finding::new(Code::RecipientOutdated, message).at(&Origin::configuration()).help(help);
        Some(match region {
            Some(region) => finding.in_region(region),
            None => finding,
        })
    };
    let escrow = fleet.escrow.iter().filter_map(|recipient| of(recipient, None));
    let own = fleet.regions.values().flat_map(|region| {
        let own = region.recipients.iter().filter(|recipient| !fleet.escrow.contains(*recipient));
        own.filter_map(|recipient| of(recipient, Some(&region.name))).collect::<Vec<_>>()
    });
    escrow.chain(own).collect()
}
