//! LWE, RLWE, RGSW, key switching, modulus switching and packing.
