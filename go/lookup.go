package papir

import (
	"io"
	"time"

	"papir.example/go/internal/bundle"
	"papir.example/go/internal/checkpoint"
	"papir.example/go/internal/keyword"
	"papir.example/go/internal/scheme"
	"papir.example/go/internal/wire"
)

// trust is what a client has seen, and believes from then on.
type trust struct {
	pin *checkpoint.Pin
	// hadDelta is whether any version had a delta, seen the time of the last look for a new
	// version.
	hadDelta bool
	seen     time.Time
}

// maxRequest is the most bytes of the queries of one request.
const maxRequest = 1 << 30

// wanted is a key or a number to look up.
type wanted struct {
	key   []byte
	index uint64
}

// lookupsPerRequest returns how many lookups fit in one request, at least one. It depends on public
// numbers only.
func lookupsPerRequest(held *current) int {
	queries := held.base.RecordsPerLookup()
	bytes := queryBytes(held.base)
	if held.delta != nil {
		bytes += queryBytes(held.delta.Database)
	}
	most := min(int64(held.description.MaxBatch/queries), maxRequest/bytes)
	return int(max(1, most))
}

// queryBytes returns the bytes of the queries of one lookup.
func queryBytes(db *bundle.Database) int64 {
	return int64(db.RecordsPerLookup()) * int64(db.Scheme.QueryBytes()+wire.EnvelopeBytes)
}

// query is one query that waits for its answer.
type query struct {
	secret scheme.Secret
	index  uint64
}

// lookup is a lookup in one database: its id, and a query for each of its records.
type lookup struct {
	id      keyword.ID
	queries []query
}

// exchange is the lookups of one request.
type exchange struct {
	held    *current
	lookups int
	// Of the base, and of the delta if there is one.
	base, delta []lookup
	// refusals has an error for each number beyond the last record.
	refusals []error
	// answerBytes is the exact length of all answers.
	answerBytes int64
	answers     []byte
}

// clear overwrites the secrets of queries that were not answered.
func (e *exchange) clear() {
	for _, lookups := range [][]lookup{e.base, e.delta} {
		for i := range lookups {
			for k := range lookups[i].queries {
				lookups[i].queries[k].secret.Clear()
				lookups[i].queries[k].index = 0
			}
			clear(lookups[i].id[:])
		}
	}
}

// prepare makes the queries of lookups: those to the base, and then those to the delta. Every
// lookup asks both, since the service must not learn where a key is.
func prepare(held *current, all []wanted, random io.Reader) (*exchange, []byte, error) {
	e := &exchange{held: held, lookups: len(all), refusals: make([]error, len(all))}
	var body []byte
	var err error
	for i, one := range all {
		var made lookup
		var indices []uint64
		if layout := held.base.Layout; layout != nil {
			made.id = layout.ID(one.key)
			indices = layout.Indices(made.id)
		} else {
			var index uint64
			index, e.refusals[i] = inRange(held, one.index)
			indices = []uint64{index}
		}
		if body, err = made.ask(held.base, indices, body, random); err != nil {
			e.clear()
			return nil, nil, err
		}
		e.base = append(e.base, made)
	}
	e.answerBytes = answerBytes(held.base, len(all))
	if held.delta == nil {
		return e, body, nil
	}

	db := held.delta.Database
	for _, one := range all {
		made := lookup{id: keyword.IDOfIndex(one.index)}
		if held.base.Layout != nil {
			made.id = db.Layout.ID(one.key)
		}
		if body, err = made.ask(db, db.Layout.Indices(made.id), body, random); err != nil {
			e.clear()
			return nil, nil, err
		}
		e.delta = append(e.delta, made)
	}
	e.answerBytes += answerBytes(db, len(all))
	return e, body, nil
}

func answerBytes(db *bundle.Database, lookups int) int64 {
	return int64(lookups) * int64(db.RecordsPerLookup()) * int64(db.Scheme.AnswerBytes()+wire.EnvelopeBytes)
}

// inRange returns the record to ask for, and the error of a number beyond the last one. Such a
// number asks for record 0: silence would tell the service.
func inRange(held *current, index uint64) (uint64, error) {
	base := held.base.Scheme.Shape().Records
	records := base
	if held.delta != nil {
		records = held.delta.Records
	}
	switch {
	case index >= records:
		return 0, wire.Refuse(wire.OutOfRange, "record %d: expected a number below %d", index, records)
	case index >= base:
		// It is in the delta, or missing.
		return 0, wire.Refuse(wire.Malformed, "a delta without record %d: expected every record after those of the base", index)
	}
	return index, nil
}

// ask appends the queries for these records.
func (l *lookup) ask(db *bundle.Database, indices []uint64, body []byte, random io.Reader) ([]byte, error) {
	for _, index := range indices {
		sealed, secret, err := scheme.Query(db.Scheme, db.Version, index, random)
		if err != nil {
			return nil, err
		}
		l.queries = append(l.queries, query{secret, index})
		body = append(body, sealed...)
	}
	clear(indices)
	return body, nil
}

// decode opens all answers, also after an error. It returns a value for each lookup, and the first
// error.
func (e *exchange) decode() ([]Value, error) {
	values := make([]Value, e.lookups)
	if int64(len(e.answers)) != e.answerBytes {
		return values, wire.Refuse(wire.WrongLength, "answers of %d bytes: expected %d", len(e.answers), e.answerBytes)
	}
	rest := e.answers
	var first error
	note := func(err error) {
		if err != nil && first == nil {
			first = err
		}
	}

	open := func(db *bundle.Database, lookups []lookup) [][][]byte {
		each := db.Scheme.AnswerBytes() + wire.EnvelopeBytes
		opened := make([][][]byte, len(lookups))
		for i, one := range lookups {
			for _, q := range one.queries {
				record, err := q.open(db, rest[:each])
				note(err)
				rest = rest[each:]
				opened[i] = append(opened[i], record)
			}
		}
		return opened
	}
	base := open(e.held.base, e.base)
	var changed [][][]byte
	if e.held.delta != nil {
		changed = open(e.held.delta.Database, e.delta)
	}
	if first != nil {
		return values, first
	}

	for i := range values {
		value, err := e.latest(i, base[i], changed)
		note(err)
		values[i] = value
		if e.held.base.Layout != nil {
			clearAll(base[i])
		}
	}
	for _, records := range changed {
		clearAll(records)
	}
	return values, first
}

// clearAll overwrites buckets, whose values were copied.
func clearAll(records [][]byte) {
	for _, record := range records {
		clear(record)
	}
}

// open decrypts an answer, and verifies its record.
func (q *query) open(db *bundle.Database, answer []byte) ([]byte, error) {
	const what = "an answer"
	envelope, err := wire.Open(what, answer)
	if err == nil {
		err = envelope.Expect(what, wire.Answer, db.Scheme.Number(), db.Version)
	}
	if err != nil {
		q.secret.Clear()
		return nil, err
	}
	record, err := q.secret.Extract(envelope.Payload)
	if err != nil || db.Commitment == nil {
		return record, err
	}
	return db.Commitment.Verify(q.index, record)
}

// latest returns the value of a lookup: that of the delta, if it has one, else that of the base.
func (e *exchange) latest(i int, base [][]byte, changed [][][]byte) (Value, error) {
	var value Value
	var err error
	if layout := e.held.base.Layout; layout != nil {
		value.Bytes, value.Found, err = layout.Find(e.base[i].id, base)
	} else {
		value = Value{Bytes: base[0], Found: true}
	}
	if err != nil {
		return Value{}, err
	}
	if changed == nil {
		return orRefused(value, e.refusals[i])
	}

	word, found, err := e.held.delta.Database.Layout.Find(e.delta[i].id, changed[i])
	if err != nil {
		return Value{}, err
	}
	if !found {
		return orRefused(value, e.refusals[i])
	}
	return e.changed(word)
}

func orRefused(value Value, refusal error) (Value, error) {
	if refusal != nil {
		return Value{}, refusal
	}
	return value, nil
}

// changed reads a change: no bytes for a deletion, else the byte 1 and the new value.
func (e *exchange) changed(word []byte) (Value, error) {
	if len(word) > 0 && word[0] != 1 {
		return Value{}, wire.Refuse(wire.Malformed, "a change in a delta that begins with %d: expected no bytes, or 1 first", word[0])
	}
	if e.held.base.Layout != nil {
		if len(word) == 0 {
			return Value{}, nil
		}
		return Value{Bytes: word[1:], Found: true}, nil
	}
	// Records are not deleted.
	if expected := e.held.base.RecordBytes(); len(word) != 1+expected {
		return Value{}, wire.Refuse(wire.WrongLength, "a record of a delta of %d bytes: expected %d", max(0, len(word)-1), expected)
	}
	return Value{Bytes: word[1:], Found: true}, nil
}
