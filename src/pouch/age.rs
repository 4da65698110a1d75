//! STAND-IN: age is written on another branch.
use age::secrecy::ExposeSecret as _;
use pouch_core::recipient::Recipient;
use zeroize::Zeroizing;

/// Why age did not do as asked.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("age failed")]
pub struct AgeError;

/// Makes a new X25519 identity: its text and its recipient.
///
/// # Errors
/// Where age makes a recipient that we refuse.
pub fn generate_identity() -> Result<(Zeroizing<String>, Recipient), AgeError> {
    let identity = age::x25519::Identity::generate();
    let recipient = Recipient::parse(&identity.to_public().to_string()).map_err(|_| AgeError)?;
    Ok((Zeroizing::new(identity.to_string().expose_secret().to_owned()), recipient))
}
