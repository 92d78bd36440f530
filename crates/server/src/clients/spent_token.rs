//! Spent private tokens as the registry remembers them.

/// The id of an issuer's public key (RFC 9578, section 6.5).
pub(crate) type IssuerKeyId = [u8; 32];

/// A verified token of Privacy Pass, which may be spent once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SpentToken {
    /// The key that signed it.
    pub(crate) key: IssuerKeyId,
    /// BLAKE3 of the signed fields. Tokens with equal fields and other signatures count as one.
    pub(crate) digest: [u8; 32],
}
