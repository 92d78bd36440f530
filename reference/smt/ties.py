"""The Rust tests that tie each model to the function that it is a model of."""

KERNELS = "crates/kernels/src/vectors.rs"
OPERATIONS = (KERNELS, "sums_differences_and_products_are_those_of_the_definition")
ALL_OPERANDS = (KERNELS, "small_moduli_are_exact_for_all_operands")
ALL_WIDE_OPERANDS = (KERNELS, "small_wide_moduli_are_exact_for_all_operands")
REDUCTIONS = (KERNELS, "reductions_are_those_of_the_definition")
CONSTANTS = (KERNELS, "products_by_constants_are_those_of_the_definition")
SIGNED = (KERNELS, "residues_of_signed_words_are_those_of_the_definition")
CENTRED = (KERNELS, "centred_residues_are_those_of_the_definition")
DIGITS = (KERNELS, "digits_are_those_of_the_definition")
PACKED = (KERNELS, "packed_bytes_are_those_of_the_definition")
INVERSES = (
    "crates/kernels/src/bigint_mod/integer.rs",
    "negated_inverses_are_those_of_the_definition",
)
BIGINTS = ("crates/kernels/tests/it/bigint_mod.rs", "operations_are_correct_at_the_widths_in_use")
ALL_ONES = ("crates/kernels/tests/it/bigint_mod.rs", "a_modulus_of_all_ones_does_not_overflow")
NTT = ("crates/kernels/tests/it/ntt.rs", "inputs_up_to_their_bounds_are_reduced")
DOT = ("crates/kernels/tests/it/wide.rs", "dot_products")
TOP = ("crates/kernels/tests/it/gadget.rs", "the_top_bound_is_the_largest_top_digit")
GADGET = ("crates/kernels/tests/it/gadget.rs", "digits_match_the_reference")
PADDING = ("crates/kernels/tests/it/bits.rs", "nonzero_padding_is_an_error")
WIDTHS = ("crates/kernels/tests/it/bits.rs", "every_width_packs_by_definition_and_unpacks")
LIFT = ("crates/ring/src/crt.rs", "small_numbers_lift_exactly")
LIFTS = ("crates/ring/src/crt.rs", "many_numbers_lift_like_one")
SWITCHES = ("crates/lattice/src/mod_switch.rs", "switches_are_those_of_the_definition")
ALL_SWITCHES = ("crates/lattice/src/mod_switch.rs", "small_switches_are_exact")
WORDS = ("crates/lattice/src/lwe32/words.rs", "words_round_and_decode_as_defined")
EXTRACTED = ("crates/core/src/records.rs", "extracted_bits_are_those_of_the_definition")
SET = ("crates/core/src/records.rs", "odd_bit_lengths_round_trip")
READS = ("crates/core/src/records.rs", "invalid_packed_reads_are_refused")
READER = ("crates/core/src/codec.rs", "reads_stay_inside_the_bytes")
ENVELOPES = ("crates/core/src/envelope.rs", "stated_lengths_never_wrap")
SPLIT = ("crates/core/src/envelope.rs", "concatenated_envelopes_are_split_by_their_lengths")
SHARDS = ("crates/core/src/division.rs", "shards_and_words_are_those_of_the_definition")
PATHS = ("crates/checkpoint/src/merkle/verify.rs", "paths_have_the_siblings_of_the_definition")
INCLUSION = ("crates/checkpoint/src/merkle/verify.rs", "inclusion_of_every_leaf_in_every_size")
CONSISTENCY = ("crates/checkpoint/src/merkle/verify.rs", "consistency_of_every_pair_of_sizes")
FRONTIER = ("crates/checkpoint/src/merkle/frontier.rs", "roots_are_those_of_the_whole_tree")
DEPTH = ("crates/lookup/src/commitment/tree.rs", "depths_are_those_of_the_definition")
RECORDS = ("crates/lookup/tests/it/commitment.rs", "every_record_opens_and_is_read_back")
SCALE = ("crates/lookup/src/grid.rs", "scaled_words_are_those_of_the_definition")
VARINT = ("crates/lookup/src/outside/varint.rs", "bytes_are_those_of_the_definition")
FILTER = ("crates/lookup/src/psi/filter.rs", "bits_of_values_are_those_of_the_definition")
CODES = ("crates/lookup/src/psi/filter.rs", "invalid_bytes_are_refused_with_typed_errors")
ENTRIES = ("crates/lookup/src/bucket.rs", "entries_end_inside_their_bucket")
TAGS = ("crates/lookup/src/bucket.rs", "stored_tags_are_those_of_the_definition")
CHUNKS = ("crates/lookup/src/dimensions.rs", "buckets_grow_or_values_are_cut")
NONE = None

TIES = {
    "product-of-nonnegatives": NONE,
    "scaled-equation": NONE,
    "cancelled-factor": NONE,
    "shoup-product": CONSTANTS,
    "subtract-one-modulus": ALL_OPERANDS,
    "sum-modulo": OPERATIONS,
    "difference-modulo": OPERATIONS,
    "barrett-product": ALL_OPERANDS,
    "word-in-two-moduli": ALL_OPERANDS,
    "long-modulo": REDUCTIONS,
    "wide-word-modulo": REDUCTIONS,
    "wide-sum-modulo": REDUCTIONS,
    "wide-sums-fit": DOT,
    "montgomery-product-of-52-bits": ALL_WIDE_OPERANDS,
    "montgomery-inverse": INVERSES,
    "first-three-bits-of-an-inverse": INVERSES,
    "montgomery-bound": ALL_ONES,
    "montgomery-bound-of-high-digits": BIGINTS,
    "forward-butterfly": NTT,
    "inverse-butterfly": NTT,
    "residue-of-a-signed-word": SIGNED,
    "residue-by-one-addition": SIGNED,
    "garner": DIGITS,
    "shortest-lift": REDUCTIONS,
    "share-of-a-residue": LIFTS,
    "rounded-quotient": LIFTS,
    "two-shares": LIFT,
    "centre-of-a-word": DIGITS,
    "recomposed-digits": DIGITS,
    "bound-of-the-top-digit": TOP,
    "lazy-digits": GADGET,
    "centred-residue": CENTRED,
    "switch-to-a-power": ALL_SWITCHES,
    "switch-from-a-power": ALL_SWITCHES,
    "switch-between-moduli": SWITCHES,
    "packing-of-a-value": PACKED,
    "unpacking-of-a-value": PACKED,
    "packed-values-come-back": WIDTHS,
    "packed-length": PACKED,
    "padding-bits": PADDING,
    "extracted-byte": EXTRACTED,
    "stored-bit": SET,
    "packed-reads-stay-inside": READS,
    "rounded-word": WORDS,
    "decoded-word": WORDS,
    "path-of-a-leaf": PATHS,
    "length-of-a-proof": INCLUSION,
    "split-of-a-tree": INCLUSION,
    "subtrees-of-a-frontier": FRONTIER,
    "start-of-a-consistency-proof": CONSISTENCY,
    "depth-of-a-record-tree": DEPTH,
    "sibling-of-a-node": RECORDS,
    "slots-of-a-grid": SCALE,
    "read-stays-inside": READER,
    "payload-of-an-envelope": ENVELOPES,
    "envelopes-end": SPLIT,
    "variable-length-numbers-come-back": VARINT,
    "field-in-a-run": VARINT,
    "values-of-a-filter": FILTER,
    "code-of-a-difference": CODES,
    "shards-of-slices": SHARDS,
    "words-of-slices": SHARDS,
    "entry-of-a-bucket": ENTRIES,
    "stored-tag": TAGS,
    "chunks-of-a-value": CHUNKS,
}
