//! BV key generation, encryption and decryption.

use papir_kernels::gadget::to_residues;
use papir_kernels::pointwise::{self, Modulus};
use papir_ring::crt::Lift;
use papir_ring::prg::Seed;
use papir_ring::sample;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::params::{BvParams, PLAINTEXT};

/// A ternary secret s as values modulo each prime. Erased on drop, never printed.
pub struct BvKey {
    values: Zeroizing<Vec<u32>>,
}

/// A decrypted plaintext with the size of its phase.
pub struct Decrypted {
    /// Coefficients below t.
    pub coefficients: Zeroizing<Vec<u32>>,
    /// Largest absolute phase as a fraction of the modulus; it wraps around at ½.
    pub largest: f64,
}

/// Expands the uniform mask a of ciphertext `number`, as values modulo each prime.
pub fn mask(params: &BvParams, seed: &Seed, label: &str, number: u64) -> Vec<u32> {
    let ring = params.ring();
    let mut values = vec![0; ring.len() * ring.degree()];
    // Drawn as values: they are uniform as well, and no transform is needed.
    let mut stream = seed.expand(label, number);
    for (values, modulus) in values.chunks_exact_mut(ring.degree()).zip(ring.moduli()) {
        stream.uniform_u32(modulus.value(), values);
    }
    values
}

impl BvKey {
    /// Draws a fresh secret.
    pub fn generate(params: &BvParams, rng: &mut dyn CryptoRng) -> Self {
        let mut coefficients = Zeroizing::new(vec![0; params.ring().degree()]);
        sample::ternary(rng, &mut coefficients);
        Self {
            values: transformed(params, &coefficients),
        }
    }

    /// Returns the body b of the encryption b + a·Y of a plaintext, as values modulo each prime.
    ///
    /// The message has coefficients below t. b = −a·s + t·e + m′, where m′ is m or m − t, drawn so
    /// that its mean is zero. Whatever the message, the phase b + a·s is then a sum of independent
    /// terms with mean zero, and no message makes it large in any slot.
    pub fn encrypt(
        &self,
        params: &BvParams,
        mask: &[u32],
        message: &[u32],
        rng: &mut dyn CryptoRng,
    ) -> Vec<u32> {
        let mut body = transformed(params, &phase(params, message, rng));

        let backend = params.ring().backend();
        let degree = params.ring().degree();
        let mut product = Zeroizing::new(vec![0; degree]);
        let rows = body.chunks_exact_mut(degree).zip(mask.chunks_exact(degree));
        let rows = rows
            .zip(self.values.chunks_exact(degree))
            .zip(params.ring().moduli());
        for (((body, mask), secret), modulus) in rows {
            pointwise::mul(backend, &mut product, mask, secret, modulus);
            pointwise::sub_assign(backend, body, &product, modulus);
        }

        // The body is published, so it need not be erased.
        std::mem::take(&mut *body)
    }

    /// Decrypts c(Y) = Σ c_l·Y^l modulo the first `kept` primes, by Horner's rule at s.
    ///
    /// `ciphertext` holds, for each l, the coefficients modulo each of these primes; `lift`
    /// converts from these primes to t. No branch depends on the plaintext.
    pub fn decrypt(
        &self,
        params: &BvParams,
        lift: &Lift,
        kept: usize,
        ciphertext: &[u32],
    ) -> Decrypted {
        let ring = params.ring();
        let backend = ring.backend();
        let degree = ring.degree();

        let mut phases = Zeroizing::new(vec![0; kept * degree]);
        let mut values = Zeroizing::new(vec![0; degree]);
        let rows = phases
            .chunks_exact_mut(degree)
            .zip(self.values.chunks_exact(degree))
            .zip(ring.tables());

        for (prime, ((phase, secret), table)) in rows.enumerate() {
            let modulus = Modulus::new(table.modulus());
            // Horner's rule needs the highest power of Y first, which is the last row.
            for row in ciphertext.chunks_exact(kept * degree).rev() {
                values.copy_from_slice(&row[prime * degree..][..degree]);
                table.forward(backend, &mut values);
                pointwise::mul_assign(backend, phase, secret, modulus);
                pointwise::add_assign(backend, phase, &values, modulus);
            }
            table.inverse(backend, phase);
        }

        let mut coefficients = Zeroizing::new(vec![0; degree]);
        let mut largest = 0f64;
        for (i, coefficient) in coefficients.iter_mut().enumerate() {
            let (word, off) = lift.lift((0..kept).map(|prime| phases[prime * degree + i]));
            *coefficient = word;
            largest = largest.max(off);
        }

        Decrypted {
            coefficients,
            largest,
        }
    }
}

/// Returns t·e + m′ as small integers.
fn phase(params: &BvParams, message: &[u32], rng: &mut dyn CryptoRng) -> Zeroizing<Vec<i32>> {
    let mut phase = Zeroizing::new(vec![0; message.len()]);
    params.error().fill(rng, &mut phase);

    let mut words = Zeroizing::new(vec![0u64; message.len()]);
    rng.fill_bytes(bytemuck::cast_slice_mut(&mut words));

    for ((phase, &message), word) in phase.iter_mut().zip(message).zip(words.iter()) {
        // Uniform below t to within 2⁻⁴⁷, hence below m with probability m/t. Then t is subtracted,
        // which gives m′ the mean m·(t − m)/t + (m − t)·m/t = 0.
        let uniform = ((u128::from(*word) * u128::from(PLAINTEXT)) >> 64) as u32;
        let taken = (uniform.wrapping_sub(message) >> 31) as i32;
        *phase = (*phase - taken) * PLAINTEXT as i32 + message as i32;
    }

    phase
}

/// Transforms small integers to values modulo each prime.
fn transformed(params: &BvParams, coefficients: &[i32]) -> Zeroizing<Vec<u32>> {
    let ring = params.ring();
    let backend = ring.backend();
    let mut values = Zeroizing::new(vec![0; ring.len() * ring.degree()]);
    for (values, table) in values.chunks_exact_mut(ring.degree()).zip(ring.tables()) {
        to_residues(backend, values, coefficients, Modulus::new(table.modulus()));
        table.forward(backend, values);
    }
    values
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use chacha20::ChaCha20Rng;
    use papir_ring::prime::ntt_primes;
    use rand_core::SeedableRng;

    use super::*;
    use crate::bv::slots::Slots;
    use crate::bv::switch::Switch;

    const DEGREE: usize = 64;

    struct Setting {
        params: BvParams,
        key: BvKey,
        slots: Slots,
        rng: ChaCha20Rng,
    }

    impl Setting {
        fn new(primes: usize) -> Self {
            let params = BvParams::insecure(DEGREE, &ntt_primes(27, DEGREE, primes)).unwrap();
            let mut rng = ChaCha20Rng::from_seed([3; 32]);
            let key = BvKey::generate(&params, &mut rng);
            Self {
                params,
                key,
                slots: Slots::new(DEGREE).unwrap(),
                rng,
            }
        }

        /// Returns body and mask of an encryption of these slots.
        fn encrypt(&mut self, slots: &[u32], number: u64) -> [Vec<u32>; 2] {
            let mask = mask(&self.params, &Seed([9; 32]), "test", number);
            let mut message = slots.to_vec();
            self.slots.encode(&mut message);
            [
                self.key
                    .encrypt(&self.params, &mask, &message, &mut self.rng),
                mask,
            ]
        }

        /// Multiplies two ciphertexts of two parts each; returns three parts in coefficients.
        fn multiply(&self, [b, a]: &[Vec<u32>; 2], [d, c]: &[Vec<u32>; 2]) -> Vec<u32> {
            let product = |pairs: &[(&[u32], &[u32])]| {
                let backend = self.params.ring().backend();
                let mut sum = vec![0; b.len()];
                for (prime, table) in self.params.ring().tables().iter().enumerate() {
                    let row = prime * DEGREE..(prime + 1) * DEGREE;
                    let modulus = Modulus::new(table.modulus());
                    for (x, y) in pairs {
                        let mut product = vec![0; DEGREE];
                        pointwise::mul(
                            backend,
                            &mut product,
                            &x[row.clone()],
                            &y[row.clone()],
                            modulus,
                        );
                        pointwise::add_assign(backend, &mut sum[row.clone()], &product, modulus);
                    }
                    table.inverse(backend, &mut sum[row]);
                }
                sum
            };
            [
                product(&[(b, d)]),
                product(&[(a, d), (b, c)]),
                product(&[(a, c)]),
            ]
            .concat()
        }

        fn decrypt(&self, kept: usize, ciphertext: &[u32]) -> (Vec<u32>, f64) {
            let primes = self.params.ring().primes();
            let lift = Lift::new(&primes[..kept], Modulus::new(PLAINTEXT));
            let mut found = self.key.decrypt(&self.params, &lift, kept, ciphertext);
            self.slots.decode(&mut found.coefficients);
            (found.coefficients.to_vec(), found.largest)
        }
    }

    #[test]
    fn products_decrypt_before_and_after_modulus_switching() {
        let mut setting = Setting::new(5);
        let (x, y): (Vec<u32>, Vec<u32>) = (0..DEGREE as u32)
            .map(|i| ((i * 1009 + 7) % PLAINTEXT, 65_536 - i * 31))
            .unzip();
        let cx = setting.encrypt(&x, 0);
        let cy = setting.encrypt(&y, 1);
        let product = setting.multiply(&cx, &cy);
        let modulus = Modulus::new(PLAINTEXT);
        let expected: Vec<u32> = x.iter().zip(&y).map(|(&x, &y)| modulus.mul(x, y)).collect();
        let (found, largest) = setting.decrypt(5, &product);

        assert_eq!(found, expected);
        assert!(largest < 1e-9, "{largest}");
        // Switched from five primes to two, the plaintext is divided by the product of the other
        // three.
        let primes = setting.params.ring().primes();
        let switch = Switch::new(&primes, 2, PLAINTEXT);
        let switched: Vec<u32> = product
            .chunks_exact(5 * DEGREE)
            .flat_map(|part| switch.apply(DEGREE, |prime| &part[prime * DEGREE..][..DEGREE]))
            .collect();
        let (found, largest) = setting.decrypt(2, &switched);
        let factor = papir_ring::rns::product_mod(&primes[2..], PLAINTEXT);
        let undone: Vec<u32> = found
            .iter()
            .map(|&word| modulus.mul(word, factor))
            .collect();
        assert_eq!(undone, expected);
        assert!(largest > 1e-12 && largest < 1e-3, "{largest}");
    }

    #[test]
    fn random_residues_are_distinguished_from_ciphertexts() {
        let setting = Setting::new(3);
        let noise = mask(&setting.params, &Seed([1; 32]), "noise", 0);
        assert!(setting.decrypt(3, &noise).1 > Lift::SLACK);
    }

    /// A message that is large in one slot of the complex embedding does not make the phase large.
    #[test]
    fn no_message_makes_a_phase_large() {
        let mut setting = Setting::new(2);
        let modulus = PLAINTEXT as i32;
        for message in [
            vec![0; DEGREE],
            vec![32_768; DEGREE],
            vec![1; DEGREE],
            vec![65_536; DEGREE],
        ] {
            let mut sums = [0f64; 2];
            for _ in 0..200 {
                let phase = phase(&setting.params, &message, &mut setting.rng);
                assert!(
                    phase
                        .iter()
                        .zip(&message)
                        .all(|(x, &m)| x.rem_euclid(modulus) == m as i32)
                );
                let sum = phase.iter().map(|&x| f64::from(x)).sum::<f64>() / f64::from(modulus);
                sums = [sums[0] + sum, sums[1] + sum * sum];
            }
            let mean = sums[0] / 200.0;
            let variance = sums[1] / 200.0 / DEGREE as f64;
            assert!(
                mean.abs() < 10.0 && variance < 16.0,
                "{}: {mean}, {variance}",
                message[0]
            );
        }
    }
}
