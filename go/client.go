package papir

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"papir.example/go/internal/scheme"
)

// Client is a private client of one database. Several goroutines may use it at once.
type Client struct {
	settings *settings
	service  *service
	name     string
	pins     pinFile

	// held is the version that lookups use.
	held atomic.Pointer[current]
	// moving guards everything below: one goroutine at a time moves to another version.
	moving sync.Mutex
	trust
}

// Connect connects to the database at an address, `http://HOST:PORT` or `https://HOST`, optionally
// with the path of the service or of one of its databases. It fetches and verifies the database's
// public part.
func Connect(ctx context.Context, url string, options Options) (*Client, error) {
	a, err := parseAddress(url)
	if err != nil {
		return nil, err
	}
	s, err := options.check(&a)
	if err != nil {
		return nil, err
	}
	ctx, cancel := s.limit(ctx)
	defer cancel()
	svc, err := newService(a, s)
	if err != nil {
		return nil, err
	}
	c := &Client{settings: s, service: svc, pins: pinFile{path: s.PinFile}}
	if err := c.open(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Client) open(ctx context.Context) (err error) {
	if c.name, err = c.service.chooseName(ctx); err != nil {
		return err
	}
	c.moving.Lock()
	defer c.moving.Unlock()
	if c.pin, err = c.pins.read(); err != nil {
		return err
	}
	return c.move(ctx, "")
}

// limit returns a context that ends after the time limit of calls.
func (s *settings) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.Timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, s.Timeout)
}

// Close ends idle connections. A lookup that is running may still end; later ones are refused.
func (c *Client) Close() {
	c.service.client.CloseIdleConnections()
	c.held.Store(nil)
}

// Info describes the version that lookups use.
type Info struct {
	// Name of the database, and of its scheme.
	Name, Scheme string
	// Version of the base, and of the delta beside it; the latter is empty if there is none.
	Version, Delta string
	// Keyed is whether records are looked up by key.
	Keyed bool
	// Records is the number of records, of a keyed database that of its buckets. RecordBytes is the
	// length of a record without its proof.
	Records     uint64
	RecordBytes int
	// Root is the root of a verifiable database, 64 hexadecimal digits; else empty.
	Root string
	// Signed is whether the owner has signed this version, at the time Time and with this sequence.
	Signed   bool
	Sequence uint64
	Time     time.Time
	// OwnerKey is the owner's newest key, if the database is signed.
	OwnerKey string
	// QueryBytes and AnswerBytes are the bytes that each lookup sends and receives, without HTTP.
	QueryBytes, AnswerBytes int64
}

// Info returns what the client knows of its version. It sends nothing.
func (c *Client) Info() (Info, error) {
	held := c.held.Load()
	if held == nil {
		return Info{}, errClosed()
	}
	base := held.base
	shape := base.Scheme.Shape()
	info := Info{
		Name: c.name, Scheme: scheme.NameOf(base.Scheme), Version: base.Version.String(),
		Keyed: base.Layout != nil, Records: shape.Records, RecordBytes: base.RecordBytes(),
	}
	if root, verifiable := base.Root(); verifiable {
		info.Root = root.String()
	}
	if held.leaf != nil {
		info.Signed, info.Sequence, info.Time = true, held.leaf.Sequence, time.Unix(int64(held.leaf.Time), 0).UTC()
		info.OwnerKey = held.owner
	}
	info.QueryBytes, info.AnswerBytes = queryBytes(base), answerBytes(base, 1)
	if held.delta != nil {
		db := held.delta.Database
		info.Delta = db.Version.String()
		info.QueryBytes += queryBytes(db)
		info.AnswerBytes += answerBytes(db, 1)
	}
	return info, nil
}

// Version returns the version of the database that lookups use, 16 hexadecimal digits: that of the
// delta, if there is one. It is empty after Close.
func (c *Client) Version() string {
	if held := c.held.Load(); held != nil {
		return held.version.String()
	}
	return ""
}

func errClosed() error {
	return newError("closed", "", "the client is closed: expected one that is open")
}

// Value is the outcome of the lookup of a key.
type Value struct {
	// Bytes are the value's bytes; nil if the key is absent.
	Bytes []byte
	// Found is whether the database has the key.
	Found bool
}

// Get looks up a key. Found is false if the database does not have it.
func (c *Client) Get(ctx context.Context, key []byte) (value []byte, found bool, err error) {
	values, err := c.GetMany(ctx, [][]byte{key})
	if err != nil {
		return nil, false, err
	}
	return values[0].Bytes, values[0].Found, nil
}

// GetMany looks up keys, in as few requests as the service allows. The service learns how many they
// are. If one lookup fails, all do, after all answers have arrived.
func (c *Client) GetMany(ctx context.Context, keys [][]byte) ([]Value, error) {
	wanted := make([]wanted, len(keys))
	for i, key := range keys {
		wanted[i].key = key
	}
	return c.lookUp(ctx, wanted, true)
}

// GetIndex looks up a record by its number, from 0, in a database without keys.
func (c *Client) GetIndex(ctx context.Context, index uint64) ([]byte, error) {
	records, err := c.GetIndices(ctx, []uint64{index})
	if err != nil {
		return nil, err
	}
	return records[0], nil
}

// GetIndices looks up records by their numbers. A number beyond the last record is an error, after
// a query for record 0, so that the service does not learn of it.
func (c *Client) GetIndices(ctx context.Context, indices []uint64) ([][]byte, error) {
	wanted := make([]wanted, len(indices))
	for i, index := range indices {
		wanted[i].index = index
	}
	values, err := c.lookUp(ctx, wanted, false)
	if err != nil {
		return nil, err
	}
	records := make([][]byte, len(values))
	for i, value := range values {
		records[i] = value.Bytes
	}
	return records, nil
}

// lookUp looks up all wanted keys or numbers. It decodes answers after the last one has arrived, so
// that the traffic does not depend on whether they decode.
func (c *Client) lookUp(ctx context.Context, all []wanted, keyed bool) ([]Value, error) {
	ctx, cancel := c.settings.limit(ctx)
	defer cancel()
	if err := c.stayFresh(ctx); err != nil {
		return nil, err
	}

	var answered []*exchange
	defer func() {
		for _, one := range answered {
			one.clear()
		}
	}()
	for rest := all; len(rest) > 0; {
		one, err := c.exchange(ctx, rest, keyed)
		if err != nil {
			return nil, err
		}
		answered = append(answered, one)
		rest = rest[one.lookups:]
	}

	values := make([]Value, 0, len(all))
	var first error
	for _, one := range answered {
		found, err := one.decode()
		if err != nil && first == nil {
			first = wrap(c.service.address.url(c.name, "/query"), err)
		}
		values = append(values, found...)
	}
	if first != nil {
		for _, value := range values {
			clear(value.Bytes)
		}
		return nil, first
	}
	return values, nil
}

// exchange sends one request for the first of the wanted lookups. If the database changes, it makes
// fresh queries for the new version.
func (c *Client) exchange(ctx context.Context, all []wanted, keyed bool) (*exchange, error) {
	for changes := 0; ; changes++ {
		held := c.held.Load()
		if held == nil {
			return nil, errClosed()
		}
		if keyed != (held.base.Layout != nil) {
			return nil, newError(map[bool]string{true: "not_keyed", false: "keyed"}[keyed], c.service.address.url(c.name, ""),
				"the database is looked up by %s: expected %s", lookedUpBy(!keyed), callFor(!keyed))
		}
		one, body, err := prepare(held, all[:min(len(all), lookupsPerRequest(held))], c.settings.random)
		if err != nil {
			return nil, wrap("", err)
		}
		r := &request{
			method: http.MethodPost, url: c.service.address.url(c.name, "/query"), body: body,
			version: held.version.String(), limit: one.answerBytes,
		}
		got, err := c.service.send(ctx, r)
		if err != nil {
			one.clear()
			return nil, err
		}
		if got.status == http.StatusOK {
			one.answers = got.body
			return one, nil
		}
		one.clear()
		refused := refusal(r, got)
		if got.status != http.StatusConflict || changes >= maxChanges {
			return nil, refused
		}
		if err := c.follow(ctx, held, refused.current); err != nil {
			return nil, err
		}
	}
}

func lookedUpBy(keyed bool) string {
	if keyed {
		return "key"
	}
	return "number"
}

func callFor(keyed bool) string {
	if keyed {
		return "Get"
	}
	return "GetIndex"
}

// stayFresh moves to the newest version if the checkpoint is too old by now, or if the database had
// a delta and the last look is some time ago: a service answers old versions, too.
func (c *Client) stayFresh(ctx context.Context) error {
	held := c.held.Load()
	if held == nil {
		return errClosed()
	}
	tooOld := held.leaf != nil && c.settings.MaxAge > 0 &&
		c.settings.now().Unix()-int64(held.leaf.Time) > int64(c.settings.MaxAge/time.Second)
	c.moving.Lock()
	defer c.moving.Unlock()
	if c.held.Load() != held {
		// Another goroutine has moved meanwhile.
		return nil
	}
	if !tooOld && (!c.hadDelta || c.settings.now().Sub(c.seen) < c.settings.Freshness) {
		return nil
	}
	err := c.move(ctx, "")
	var refused *Error
	if !tooOld && errors.As(err, &refused) && (refused.Code == "transport" || refused.Status == 409 ||
		refused.Status == 429 || refused.Status >= 502) && ctx.Err() == nil {
		// Its own version is still answered, or the lookup says why not.
		return nil
	}
	return err
}

// follow moves to another version than the one that was refused.
func (c *Client) follow(ctx context.Context, refused *current, named string) error {
	c.moving.Lock()
	defer c.moving.Unlock()
	if c.held.Load() != refused {
		return nil
	}
	return c.move(ctx, named)
}

// move fetches a version and uses it from then on. The caller holds the lock.
func (c *Client) move(ctx context.Context, named string) error {
	begin := c.settings.now()
	got, err := c.fetch(ctx, named)
	if err != nil {
		return err
	}
	if c.pin != nil && got.leaf != nil {
		got.owner = c.pin.Newest.String()
	}
	c.held.Store(got)
	c.hadDelta = c.hadDelta || got.delta != nil
	if named == "" {
		c.seen = begin
	}
	return nil
}
