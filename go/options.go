package papir

import (
	"crypto/x509"
	"encoding/hex"
	"io"
	"slices"
	"strings"
	"time"

	"papir.example/go/internal/bundle"
	"papir.example/go/internal/checkpoint"
	"papir.example/go/internal/scheme"
)

// Defaults of options.
const (
	// DefaultPatience is how long a request is repeated while the service is busy or away.
	DefaultPatience = time.Minute
	// DefaultCatchUp is how long a service that shows an older version is asked again.
	DefaultCatchUp = 30 * time.Second
	// DefaultMaxDownload is the longest accepted public part: 1 GiB.
	DefaultMaxDownload = 1 << 30
	// DefaultFreshness is the most time between two looks for a new version of a database with
	// deltas.
	DefaultFreshness = 10 * time.Second
)

// Options of a connection. The zero value connects to an unsigned or signed database of any
// supported scheme, and trusts the owner's key that the service shows.
type Options struct {
	// Name of the database; empty for the one in the address, else the service's only one.
	Name string

	// OwnerKey is the public key of the database's owner. The database must be signed under it, or
	// under a later key to which its owner's rotations lead. Without it, the key of the first
	// checkpoint is trusted, which a service could have made itself.
	OwnerKey string
	// PinFile is a file that keeps the owner's key and the highest sequence that was seen. From
	// then on the database must be signed under this key or a later one, and no older version is
	// accepted. It needs the name of the database, in Name or in the address. Without a file, both
	// are remembered for this connection only.
	PinFile string
	// MaxAge is the most time since a version was signed, at every lookup; 0 for any.
	MaxAge time.Duration
	// Sequence is the lowest accepted sequence of a version; 0 for any.
	Sequence uint64
	// Witnesses are the public keys of known witnesses, of whom Cosignatures must have signed.
	Witnesses    []string
	Cosignatures int
	// CatchUp is how long a service that shows an older version than the client has seen is asked
	// again; 0 for DefaultCatchUp, negative for not at all.
	CatchUp time.Duration
	// Root is the trusted root of a verifiable database, 64 hexadecimal digits.
	Root string

	// Schemes are the names of the allowed schemes; nil for all that this package has.
	Schemes []string
	// MaxDownload is the longest accepted public part in bytes; 0 for DefaultMaxDownload.
	MaxDownload int64
	// Freshness is the most time between two looks for a new version, once the database had a
	// delta; 0 for DefaultFreshness.
	Freshness time.Duration

	// Token is the bearer token, if the service requires one.
	Token string
	// InsecureHTTP allows sending the token over plain HTTP to another machine.
	InsecureHTTP bool
	// Roots are the trusted issuers of certificates; nil for those of the system.
	Roots *x509.CertPool
	// Proxy is the proxy for all connections, `none` for direct ones, or empty for the one that the
	// environment's variables name.
	Proxy string

	// Timeout limits each call, with all waits and repetitions; 0 for no limit but the context's.
	Timeout time.Duration
	// Patience is how long a request is repeated while the service is busy, starts, stops or cannot
	// be reached; 0 for DefaultPatience, negative for no repetition.
	Patience time.Duration

	// random and now replace the system's generator and clock in tests.
	random io.Reader
	now    func() time.Time
}

// settings are checked options.
type settings struct {
	Options
	name    string
	owner   *checkpoint.Key
	root    *bundle.Hash
	witness []checkpoint.Key
	schemes []string
}

func (o Options) check(a *address) (*settings, error) {
	s := &settings{Options: o, name: o.Name, schemes: o.Schemes}
	if s.name == "" {
		s.name = a.database
	}
	if err := s.readKeys(); err != nil {
		return nil, err
	}
	if err := s.readToken(a); err != nil {
		return nil, err
	}
	if o.PinFile != "" && s.name == "" {
		return nil, newError("bad_options", "",
			"PinFile without the name of a database: expected Name, or an address that names one, since pins belong to a name")
	}

	if s.schemes == nil {
		s.schemes = scheme.Names()
	}
	for _, name := range s.schemes {
		if !slices.Contains(scheme.Names(), name) {
			return nil, newError("bad_options", "", "the scheme `%s`: expected %s", name, strings.Join(scheme.Names(), ", "))
		}
	}
	s.setDefaults()
	return s, nil
}

func (s *settings) readKeys() error {
	if s.OwnerKey != "" {
		key, err := checkpoint.ReadKey(s.OwnerKey)
		if err != nil {
			return wrap("", err)
		}
		s.owner = &key
	}
	for _, text := range s.Witnesses {
		key, err := checkpoint.ReadWitness(text)
		if err != nil {
			return wrap("", err)
		}
		s.witness = append(s.witness, key)
	}
	if s.Root != "" {
		root, err := hex.DecodeString(s.Root)
		if err != nil || len(root) != len(bundle.Hash{}) {
			return newError("bad_options", "", "the root `%s`: expected 64 hexadecimal digits", s.Root)
		}
		hash := bundle.Hash(root)
		s.root = &hash
	}
	return nil
}

func (s *settings) readToken(a *address) error {
	s.Token = strings.TrimSpace(s.Token)
	unusable := func(r rune) bool { return r <= ' ' || r > '~' }
	if len(s.Token) > 4096 || strings.ContainsFunc(s.Token, unusable) {
		return newError("bad_token", "", "the token: expected at most 4096 printable characters without white space")
	}
	carried := s.Proxy != "" && s.Proxy != "none" && s.Proxy != "environment"
	if s.Token != "" && !a.https && (!a.local() || carried) && !s.InsecureHTTP {
		return newError("token_in_clear", a.base,
			"a token over plain HTTP, where others could read it: expected https://, or InsecureHTTP")
	}
	return nil
}

func (s *settings) setDefaults() {
	if s.MaxDownload == 0 {
		s.MaxDownload = DefaultMaxDownload
	}
	if s.Patience == 0 {
		s.Patience = DefaultPatience
	}
	if s.CatchUp == 0 {
		s.CatchUp = DefaultCatchUp
	}
	if s.Freshness == 0 {
		s.Freshness = DefaultFreshness
	}
	if s.now == nil {
		s.now = time.Now
	}
}

// policy returns what a checkpoint of this database must fulfil.
func (s *settings) policy(name string, pin *checkpoint.Pin) *checkpoint.Policy {
	p := &checkpoint.Policy{
		Given: s.owner, Pin: pin, Database: name, Now: uint64(max(0, s.now().Unix())),
		Sequence: s.Sequence, Witnesses: s.witness, Cosignatures: s.Cosignatures,
	}
	if s.MaxAge > 0 {
		// Whole seconds, as in all papir clients.
		seconds := uint64(s.MaxAge / time.Second)
		p.MaxAge = &seconds
	}
	return p
}
