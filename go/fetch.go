package papir

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"papir.example/go/internal/bundle"
	"papir.example/go/internal/checkpoint"
	"papir.example/go/internal/wire"
)

// maxChanges is how often a call moves to another version before it fails.
const maxChanges = 6

// description is what a service says of a database. A client needs these members.
type description struct {
	Scheme   string `json:"scheme"`
	Version  string `json:"version"`
	MaxBatch int    `json:"max_batch"`
	Sizes    struct {
		Bundle int64 `json:"bundle"`
	} `json:"sizes"`
	Checkpoint *struct{} `json:"checkpoint"`
	Delta      *struct {
		Version string `json:"version"`
		Scheme  string `json:"scheme"`
		Public  int64  `json:"public"`
	} `json:"delta"`
}

// newest returns the version that queries name: of the delta, if there is one.
func (d *description) newest() string {
	if d.Delta != nil {
		return d.Delta.Version
	}
	return d.Version
}

// current is one version of a database that was fetched and verified. It does not change.
type current struct {
	description *description
	base        *bundle.Database
	delta       *bundle.Delta
	// version is the one that queries name.
	version wire.Version
	// leaf is that of the owner's checkpoint; nil for an unsigned database.
	leaf *checkpoint.Leaf
	// owner is the owner's newest key at that time, as text.
	owner string
}

// errChanged is a database that was replaced between two requests.
var errChanged = errors.New("another version")

// chooseName returns the name of the database: the given one, else that of the service's only one.
func (s *service) chooseName(ctx context.Context) (string, error) {
	if s.settings.name != "" {
		return s.settings.name, nil
	}
	var list struct {
		Databases []struct {
			Name string `json:"name"`
		} `json:"databases"`
	}
	address := s.address.base + databasesPath
	if err := s.getJSON(ctx, address, &list); err != nil {
		return "", err
	}
	if len(list.Databases) != 1 {
		var names []string
		for _, one := range list.Databases[:min(len(list.Databases), 20)] {
			names = append(names, "`"+wire.Shown(one.Name)+"`")
		}
		return "", newError("choose_database", address, "%d databases: %s: expected Options.Name, or an address that names one",
			len(list.Databases), strings.Join(names, ", "))
	}
	return list.Databases[0].Name, nil
}

// fetch fetches and verifies the newest version, or the version that a server has named. The caller
// holds the lock of the client's trust.
func (c *Client) fetch(ctx context.Context, named string) (*current, error) {
	for attempt := 0; ; attempt++ {
		// A signed database does not go back to an older version.
		if c.signed() {
			named = ""
		}
		got, err := c.fetchOnce(ctx, named)
		var refused *Error
		switch {
		case err == nil:
			return got, nil
		case errors.Is(err, errChanged):
			named = ""
		case errors.As(err, &refused) && refused.Status == 409:
			named = refused.current
		default:
			return nil, err
		}
		if attempt+1 >= maxChanges {
			return nil, newError("unexpected", c.service.address.url(c.name, ""), "another version at each of %d attempts", maxChanges)
		}
		// Clients that the same version refused do not come back together.
		if err := sleep(ctx, rand.N(2*pause(attempt+1))); err != nil {
			return nil, wrap(c.service.address.url(c.name, ""), err)
		}
	}
}

// fetchOnce makes one attempt.
func (c *Client) fetchOnce(ctx context.Context, named string) (*current, error) {
	d, proof, pin, err := c.describe(ctx, named)
	if err != nil {
		return nil, err
	}
	got := &current{description: d}
	if proof != nil {
		got.leaf = proof.Leaf
	}
	if err := c.fetchBase(ctx, got); err != nil {
		return nil, err
	}
	if err := c.fetchDelta(ctx, got); err != nil {
		return nil, err
	}
	if proof != nil {
		// Last: only a version that was accepted as a whole is remembered.
		return got, c.keep(proof, pin)
	}
	return got, nil
}

// describe fetches description and checkpoint. A service that shows an older version than the
// client has seen is asked again for a while: it may be one of several, and behind.
func (c *Client) describe(ctx context.Context, named string) (*description, *checkpoint.Proof, *checkpoint.Pin, error) {
	address := c.service.address.url(c.name, "")
	if named != "" {
		if _, err := wire.ParseVersion(named); err != nil {
			return nil, nil, nil, wrap(address, err)
		}
		address += "?version=" + named
	}
	start := time.Now()
	for {
		var d description
		if err := c.service.getJSON(ctx, address, &d); err != nil {
			return nil, nil, nil, err
		}
		if err := c.checkDescription(address, &d); err != nil {
			return nil, nil, nil, err
		}
		proof, pin, err := c.verify(ctx, &d)
		if err == nil {
			return &d, proof, pin, nil
		}
		left := c.settings.CatchUp - time.Since(start)
		if code := CodeOf(err); code != checkpoint.Rollback && code != checkpoint.Sequence || left <= 0 {
			return nil, nil, nil, err
		}
		wait := 500*time.Millisecond + rand.N(2*time.Second)
		if sleep(ctx, min(wait, left)) != nil {
			return nil, nil, nil, err
		}
	}
}

// checkDescription refuses what this client cannot use, before anything long is fetched.
func (c *Client) checkDescription(address string, d *description) error {
	names := []string{d.Scheme}
	versions := []string{d.Version}
	if d.Delta != nil {
		names, versions = append(names, d.Delta.Scheme), append(versions, d.Delta.Version)
	}
	for _, name := range names {
		if !slices.Contains(c.settings.schemes, name) {
			return newError(wire.WrongScheme, address, "a database of the scheme `%s`: this client expects %s",
				wire.Shown(name), strings.Join(c.settings.schemes, ", "))
		}
	}
	for _, version := range versions {
		if _, err := wire.ParseVersion(version); err != nil {
			return wrap(address, err)
		}
	}
	return nil
}

// verify fetches and checks the owner's checkpoint of the described version. It returns the proof
// and the new pin; nil for an unsigned database, if the settings allow one.
func (c *Client) verify(ctx context.Context, d *description) (*checkpoint.Proof, *checkpoint.Pin, error) {
	policy := c.settings.policy(c.name, c.pin)
	if d.Checkpoint == nil {
		if policy.Required() {
			return nil, nil, newError("no_checkpoint", c.service.address.url(c.name, ""),
				"the database is not signed: expected a checkpoint of its owner")
		}
		return nil, nil, nil
	}

	address := c.service.address.url(c.name, "/checkpoint/proof")
	body, err := c.service.getVersion(ctx, address, d.newest(), checkpoint.MaxProof)
	if err != nil {
		return nil, nil, err
	}
	if body == nil {
		return nil, nil, errChanged
	}
	proof, err := checkpoint.ReadProof(body)
	if err != nil {
		return nil, nil, wrap(address, err)
	}
	pin, err := policy.Accept(proof)
	return proof, pin, wrap(address, err)
}

// download fetches the public part of a version of a stated length.
func (c *Client) download(ctx context.Context, version string, length int64) (string, []byte, error) {
	address := c.service.address.url(c.name, "/public?version="+version)
	if length < 0 || length > c.settings.MaxDownload {
		return address, nil, newError(wire.TooLarge, address, "a public part of %d bytes: expected at most %d (Options.MaxDownload)",
			length, c.settings.MaxDownload)
	}
	body, err := c.service.getVersion(ctx, address, version, length)
	if err == nil && body == nil {
		err = errChanged
	}
	return address, body, err
}

// fetchBase fetches the bundle, unless the version before had the same one.
func (c *Client) fetchBase(ctx context.Context, got *current) error {
	d := got.description
	if held := c.held.Load(); held != nil && sameBase(held, got) {
		got.base, got.version = held.base, held.base.Version
		return nil
	}
	address, body, err := c.download(ctx, d.Version, d.Sizes.Bundle)
	if err != nil {
		return err
	}
	if got.leaf != nil {
		// Before it is decoded: of a signed database, only what the owner signed reaches a parser.
		if err := got.leaf.CheckBundle(body); err != nil {
			return wrap(address, err)
		}
	}
	db, err := bundle.Decode(body, c.settings.schemes)
	if err != nil {
		return wrap(address, err)
	}
	if db.Version.String() != d.Version {
		return newError(wire.WrongVersion, address, "a public part of version %s: expected %s", db.Version, d.Version)
	}
	if err := c.checkRoot(address, db, got.leaf); err != nil {
		return err
	}
	got.base, got.version = db, db.Version
	return nil
}

// sameBase returns whether two versions have one base. A version's number is the service's word: of
// a signed database, the owner must have signed the same bundle.
func sameBase(held, got *current) bool {
	if held.description.Version != got.description.Version || (held.leaf == nil) != (got.leaf == nil) {
		return false
	}
	return got.leaf == nil || held.leaf.Bundle == got.leaf.Bundle &&
		held.leaf.BaseRoot == got.leaf.BaseRoot && held.leaf.HasRoot == got.leaf.HasRoot
}

// checkRoot compares the root of a database with the given one, and with the owner's.
func (c *Client) checkRoot(address string, db *bundle.Database, leaf *checkpoint.Leaf) error {
	found, verifiable := db.Root()
	expected := c.settings.root
	if expected == nil && leaf != nil && leaf.HasRoot {
		root := bundle.Hash(leaf.BaseRoot)
		expected = &root
	}
	shown := "none, since it is not verifiable"
	if verifiable {
		shown = found.String()
	}
	switch {
	case expected != nil && (!verifiable || found != *expected):
		return newError("wrong_root", address, "the root of the database is %s: expected %s", shown, expected)
	case leaf != nil && leaf.HasRoot && found != bundle.Hash(leaf.BaseRoot):
		return newError("wrong_root", address, "the root of the database is %s: the owner signed %x", shown, leaf.BaseRoot)
	}
	return nil
}

// fetchDelta fetches the delta, if there is one.
func (c *Client) fetchDelta(ctx context.Context, got *current) error {
	d := got.description
	if d.Delta == nil {
		if got.leaf != nil {
			return wrap(c.service.address.url(c.name, ""), got.leaf.CheckDelta(nil))
		}
		return nil
	}
	if got.base.Commitment != nil && (got.leaf == nil || c.settings.root != nil) {
		return newError("unexpected", c.service.address.url(c.name, ""),
			"a delta beside a database whose root alone is known: expected none, since the root does not cover it")
	}
	address, body, err := c.download(ctx, d.Delta.Version, d.Delta.Public)
	if err != nil {
		return err
	}
	if got.leaf != nil {
		if err := got.leaf.CheckDelta(body); err != nil {
			return wrap(address, err)
		}
	}
	delta, err := bundle.DecodeDelta(body, got.base, c.settings.schemes)
	if err != nil {
		return wrap(address, err)
	}
	if found := delta.Database.Version; found.String() != d.Delta.Version {
		return newError(wire.WrongVersion, address, "a delta of version %s: expected %s", found, d.Delta.Version)
	}
	got.delta, got.version = delta, delta.Database.Version
	return nil
}

// signed returns whether an older version than the last one would be refused.
func (c *Client) signed() bool { return c.pin != nil || c.settings.owner != nil }

// keep remembers the pin of an accepted version, here and in its file.
func (c *Client) keep(proof *checkpoint.Proof, pin *checkpoint.Pin) error {
	kept, err := c.pins.keep(c.pin, pin, func(stored *checkpoint.Pin) (*checkpoint.Pin, error) {
		return c.settings.policy(c.name, stored).Accept(proof)
	})
	if err != nil {
		return wrap(c.service.address.url(c.name, "/checkpoint/proof"), err)
	}
	c.pin = kept
	return nil
}
