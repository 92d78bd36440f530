"""The checks of a signed database's client, §Signed checkpoints and §Checks of a client.

"§" names a section of formats.md. The text formats are C2SP's signed-note, tlog-checkpoint, tlog-cosignature
and tlog-proof; the log is that of RFC 6962.
"""
import base64
import binascii
import hashlib
import os
import time
from dataclasses import dataclass, field
from pathlib import Path

import ed25519
from blake3 import blake3
from wire import Reader, check

SIGNATURE, COSIGNATURE = 1, 4  # signed-note: types of keys
SKEW = 300  # seconds by which clocks may differ
#: The most bytes of a note, a proof and a certificate, and the most signatures and certificates.
NOTE_BYTES, PROOF_BYTES, CERTIFICATE_BYTES, SIGNATURES, CERTIFICATES = 2**18, 2**19, 2**12, 64, 16
UNRESERVED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._"


class Behind(SystemExit):
    """A service shows an older version than the client has seen, or changes it: it may be asked again."""


# Text

def sha256(data):
    """The hash of logs and of ids of keys."""
    return hashlib.sha256(data).digest()


def unbase64(text):
    """The bytes of standard base64 with padding."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        data = None
    check(data is not None and base64.b64encode(data).decode() == text, "bad base64")
    return data


def decimal(text):
    """A number below 2^64, without leading zeros."""
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= 20 else 2**64
    check(number < 2**64 and str(number) == text, "a bad number")
    return number


def utf8(data, what):
    """Bytes as text."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        check(False, f"{what} that is not UTF-8")


def percent(name):
    """A database's name (bytes), percent-encoded."""
    return "".join(chr(b) if b in UNRESERVED else f"%{b:02X}" for b in name)


# Keys and notes

@dataclass(frozen=True)
class Key:
    """A public key: its name, its type and 32 bytes."""
    name: str
    kind: int
    public: bytes

    def same(self, other):
        """Whether both are one key, whatever their names."""
        return (self.kind, self.public) == (other.kind, other.public)

    def id(self, name=None):
        """The id (4) under the key's own name, or another."""
        return sha256((name or self.name).encode() + b"\n" + bytes([self.kind]) + self.public)[:4]

    def __str__(self):
        return f"{self.name}+{self.id().hex()}+{base64.b64encode(bytes([self.kind]) + self.public).decode()}"


def read_key(text, kind=SIGNATURE):
    """A public key from its text."""
    parts = text.split("+", 2)  # base64 may have a +, a name has none
    check(len(parts) == 3 and parts[0] and not any(c.isspace() for c in parts[0]), "a malformed public key")
    data = unbase64(parts[2])
    check(len(data) == 33 and data[0] == kind, "a public key of another type or length")
    key = Key(parts[0], kind, data[1:])
    check(str(key) == text, "a public key with another key's id")
    return key


@dataclass
class Note:
    """A signed note: its text (bytes, with the last line feed); name, id and signature of each line below."""
    text: bytes
    signatures: list

    @property
    def lines(self):
        """The lines of its text."""
        return self.text.decode()[:-1].split("\n")


def read_note(data, most):
    """Decodes a signed note of at most `most` bytes."""
    check(len(data) <= most, "a note that is too long")
    text, _, below = utf8(data, "a note").rpartition("\n\n")
    check(text and below.endswith("\n"), "a malformed note")
    check(all(c >= " " or c == "\n" for c in text + below), "a note with control characters")
    signatures = []
    for line in below[:-1].split("\n"):
        dash, name, encoded = (line.split(" ") + ["", ""])[:3]
        check(dash == "—" and name and line == f"— {name} {encoded}", "a malformed signature line")
        signature = unbase64(encoded)
        check(len(signature) >= 5, "a signature that is too short")
        signatures.append((name, signature[:4], signature[4:]))
    check(len(set(signatures)) <= SIGNATURES, "a note with too many signatures")
    return Note((text + "\n").encode(), signatures)


def signed_by(note, key, name=None):
    """Whether a key signed a note. Every line with its id and name, or another name, must verify."""
    name, found = name or key.name, False
    for line_name, line_id, signature in note.signatures:
        if (line_name, line_id) != (name, key.id(name)):
            continue
        text = note.text
        if key.kind == COSIGNATURE:
            check(len(signature) == 72, "a cosignature of another length")
            text = f"cosignature/v1\ntime {int.from_bytes(signature[:8], 'big')}\n".encode() + text
            signature = signature[8:]
        check(ed25519.verify(key.public, text, signature), f"a signature of {name} that does not verify")
        found = True
    return found


# Certificates

@dataclass
class Certificate:
    """A delegation or a rotation; `database` is percent-encoded, None for all."""
    rotation: bool
    issuer: Key
    subject: Key
    database: str | None
    start: int
    until: int

    def begun(self, when):
        """Whether it has begun at a time, with a margin for other clocks."""
        return when >= self.start - SKEW

    def holds(self, now, signed):
        """Whether a delegation is valid now, for a version that was signed at a time."""
        return self.begun(now) and now <= self.until and self.start <= signed <= self.until


def read_certificate(data):
    """Decodes a certificate and verifies its signatures; None for one of gateways' keys."""
    note = read_note(data, CERTIFICATE_BYTES)
    if note.lines[:2] == ["papir-certificate-2", "gateways"]:
        check(len(note.lines) > 6 and signed_by(note, read_key(note.lines[2])), "unsigned keys of gateways")
        return None  # this client needs no gateway
    check(len(note.lines) == 7 and note.lines[0] == "papir-certificate-1", "a certificate of another format")
    kind, issuer, subject, databases, start, until = note.lines[1:]
    check(kind in ("delegate", "rotate"), "a certificate of another kind")
    check(start.startswith("from ") and until.startswith("until "), "a certificate without its times")
    word, _, database = databases.partition(" ")
    check(word == "database" and database or databases == "databases *", "a certificate without a database")
    database = database if word == "database" else None
    one = Certificate(kind == "rotate", read_key(issuer), read_key(subject), database,
                      decimal(start[5:]), decimal(until[6:]))
    check(signed_by(note, one.issuer), "a certificate that its issuer did not sign")
    if one.rotation:
        check(one.database is None, "a rotation for one database")
        check(one.issuer.name == one.subject.name, "a rotation to a key of another name")
        check(signed_by(note, one.subject), "a rotation that its new key did not sign")
    return one


def owner_keys(known, certificates, now):
    """The owner's newest key, and the keys that are valid now, the newest first."""
    rotations = [c for c in certificates if c.rotation and c.begun(now)]
    newest, left = known, list(rotations)
    while step := next((c for c in left if c.issuer.same(newest)), None):
        left.remove(step)
        newest = step.subject
    valid = [newest]
    for key in valid:  # grows
        issuers = [c.issuer for c in rotations if now <= c.until and c.subject.same(key)]
        valid += [issuer for issuer in issuers if not any(issuer.same(other) for other in valid)]
    return newest, valid


def delegates(keys, certificates, database, now, signed):
    """The keys to which one of these keys delegates a database, now and at the time of signing."""
    return [c.subject for c in certificates if not c.rotation and c.issuer in keys
            and c.database in (None, database) and c.holds(now, signed)]


# Leaf and proof

@dataclass
class Leaf:
    """A version of a database in its log."""
    encoded: bytes
    kind: int
    name: bytes
    sequence: int
    time: int
    base_root: bytes
    delta_root: bytes | None
    bundle: bytes
    gateways: bytes | None

    @property
    def hash(self):
        """Its hash in the log, RFC 6962."""
        return sha256(b"\0" + self.encoded)


def read_leaf(encoded):
    """Decodes a leaf."""
    r = Reader(encoded)
    form = r.number(1)
    check(form in (1, 2), "a leaf of another format")
    kind, name = r.number(1), r.take(r.number(1))
    sequence, when, base, has_delta = r.number(8), r.number(8), r.take(32), r.number(1)
    check(kind in (1, 2) and has_delta in (0, 1), "a malformed leaf")
    leaf = Leaf(encoded, kind, name, sequence, when, base, r.take(32) if has_delta else None, r.take(32),
                r.take(32) if form == 2 else None)
    r.end("a leaf")
    return leaf


@dataclass
class Proof:
    """A proof of the newest version."""
    owner: Key
    leaf: Leaf
    certificates: list
    index: int
    path: list
    note: Note


def read_proof(data):
    """Decodes a proof, a tlog-proof with the extra data of §Signed checkpoints."""
    check(len(data) <= PROOF_BYTES, "a proof that is too long")
    head, _, note = data.partition(b"\n\n")
    lines = utf8(head, "a proof").split("\n")
    check(len(lines) >= 3 and lines[0] == "c2sp.org/tlog-proof@v1", "no proof, or one of another version")
    check(lines[1].startswith("extra "), "a proof without extra data")
    check(lines[2].startswith("index "), "a proof without an index")
    path = [unbase64(line) for line in lines[3:]]
    check(all(len(node) == 32 for node in path), "a proof with a hash of another length")
    r = Reader(unbase64(lines[1][6:]))
    check(r.number(1) == 1, "a proof of another format")
    owner, leaf = read_key(utf8(r.take(r.number(8)), "a key")), read_leaf(r.take(r.number(8)))
    count = r.number(1)
    check(count <= CERTIFICATES, "too many certificates")
    read = [read_certificate(r.take(r.number(8))) for _ in range(count)]
    certificates = [one for one in read if one]
    r.end("a proof's extra data")
    return Proof(owner, leaf, certificates, decimal(lines[2][6:]), path, read_note(note, NOTE_BYTES))


def log_root(leaf_hash, index, size, path):
    """The root of a log with this leaf, from the leaf's path (RFC 6962, as RFC 9162 2.1.3.2 computes it)."""
    check(index < size, "a leaf beyond its log")
    node, last = leaf_hash, size - 1
    for sibling in path:
        check(last > 0, "a path that is too long")
        if index & 1 or index == last:
            node = sha256(b"\1" + sibling + node)
            while index and not index & 1:
                index, last = index >> 1, last >> 1
        else:
            node = sha256(b"\1" + node + sibling)
        index, last = index >> 1, last >> 1
    check(last == 0, "a path that is too short")
    return node


# The pin, and the checks

@dataclass
class Pin:
    """What a client remembers: the owner's newest and first key, the highest sequence, its leaf's hash."""
    newest: Key
    first: Key
    sequence: int
    leaf: bytes

    def __str__(self):
        return f"papir-owner-pin-1\n{self.newest}\n{self.first}\n{self.sequence}\n{self.leaf.hex()}\n"


def read_pin(text):
    """Decodes a pin."""
    lines = text.splitlines()
    check(len(lines) == 5 and lines[0] == "papir-owner-pin-1", "a pin of another format")
    hexadecimal = len(lines[4]) == 64 and all(c in "0123456789abcdef" for c in lines[4])
    check(hexadecimal, "a pin without a leaf's hash")
    return Pin(read_key(lines[1]), read_key(lines[2]), decimal(lines[3]), bytes.fromhex(lines[4]))


def check_note(proof, origin, database, keys, now):
    """Check 2: an owner's valid key signed the note, or one that it delegates."""
    signers = keys + delegates(keys, proof.certificates, database, now, proof.leaf.time)
    signed = [signed_by(proof.note, key, origin) for key in dict.fromkeys(signers)]
    check(any(signed), "a checkpoint that the owner did not sign, nor anyone for it")


def check_place(proof):
    """Check 3: the leaf is the last one of the log."""
    check(len(proof.note.lines) >= 3, "a checkpoint that ends early")
    size, root = decimal(proof.note.lines[1]), unbase64(proof.note.lines[2])
    check(proof.leaf.sequence == proof.index == size - 1, "a leaf that is not the last one of its log")
    computed = log_root(proof.leaf.hash, proof.index, size, proof.path)
    check(computed == root, "a leaf that the log does not contain")


def check_sequence(leaf, pin):
    """Check 4: no version before the newest one that was seen, and no other one in its place."""
    if pin and leaf.sequence < pin.sequence:
        raise Behind(f"version {leaf.sequence} of the log after {pin.sequence}: a rollback")
    same = not pin or leaf.sequence > pin.sequence or leaf.hash == pin.leaf
    check(same, "another version in the place of one that was seen: the log has forked")


def check_content(leaf, bundle, root, delta):
    """Check 7: bundle, root (of a verifiable database) and public part of the delta are the leaf's."""
    check(blake3(bundle) == leaf.bundle, "a bundle that the owner did not sign")
    delta_root = blake3(delta) if delta else None
    check(leaf.delta_root == delta_root, "a delta that the owner did not sign, or none")
    check(leaf.kind != 1 or root == leaf.base_root, "a root that the owner did not sign")


@dataclass
class Trust:
    """What a client knows before it asks a database, and what it wants."""
    owner: Key | None = None
    pin: Pin | None = None
    pin_file: Path | None = None
    max_age: int | None = None
    witnesses: list = field(default_factory=list)
    cosignatures: int = 0

    def check(self, name, data, bundle, root=None, delta=None, now=None):
        """§Checks of a client: accepts a proof of a database, or ends the client; returns the new pin."""
        proof, database = read_proof(data), percent(name)
        now = int(time.time()) if now is None else now
        leaf = proof.leaf
        known = self.owner or (self.pin.newest if self.pin else proof.owner)
        newest, valid = owner_keys(known, proof.certificates, now)
        pin = self.pin if self.pin and {self.pin.newest, self.pin.first} & {known, newest} else None
        origin = f"{known.name}/{database}"
        check(leaf.name == name, "a checkpoint of another database")
        check(proof.note.lines[0] == origin, "a checkpoint of another origin")
        check_note(proof, origin, database, valid, now)
        check_place(proof)
        check_sequence(leaf, pin)
        if self.max_age is not None:
            check(-SKEW <= now - leaf.time <= self.max_age, f"a checkpoint of {now - leaf.time} seconds ago")
        signed = {key.public for key in self.witnesses if signed_by(proof.note, key)}
        check(len(signed) >= self.cosignatures, f"a checkpoint that {len(signed)} known witnesses cosigned")
        check_content(leaf, bundle, root, delta)
        return Pin(newest, pin.first if pin else known, leaf.sequence, leaf.hash)

    def unsigned(self):
        """Refuses an unsigned database if the owner is known, or if anything is wanted of a checkpoint."""
        check(not (self.owner or self.pin), "an unsigned database, although its owner's key is known")
        check(self.max_age is None and not self.cosignatures, "an unsigned database, which has no checkpoint")

    def store(self, pin):
        """Keeps the new pin, in memory and in its file."""
        self.pin = pin
        if self.pin_file:
            partial = self.pin_file.with_name(self.pin_file.name + ".partial")
            partial.write_text(str(pin))
            os.replace(partial, self.pin_file)


def read_trust(owner, pin_file, max_age, witnesses=(), cosignatures=0):
    """What the client's options say; a pin's file that does not exist is a first use."""
    path = Path(pin_file) if pin_file else None
    pin = read_pin(path.read_text()) if path and path.exists() else None
    keys = [read_key(text, COSIGNATURE) for text in witnesses]
    return Trust(read_key(owner) if owner else None, pin, path, max_age, keys, cosignatures)
