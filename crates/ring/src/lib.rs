//! Moduli, NTT, RNS polynomials, sampling and seed expansion.
