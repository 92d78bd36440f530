// Package keyword maps keys to records of a keyed database, and finds a key's value in them.
package keyword

import (
	"encoding/binary"
	"math"
	"math/bits"

	"papir.example/go/internal/blake3"
	"papir.example/go/internal/wire"
)

const (
	what          = "a keyword layout"
	formatVersion = 3
	maxRecords    = 1 << 40
	maxValue      = 1 << 16
	maxBucket     = 256 * 1024
	leastTag      = 4
	mostTag       = 8
	idBytes       = 16
)

// ID is a key's id, of which its places follow.
type ID [idBytes]byte

// Layout is a keyword layout.
type Layout struct {
	// Encoded is the layout as it was read, which roots depend on.
	Encoded []byte

	ids, places [32]byte
	regions     uint32
	buckets     uint32
	pilotCount  uint32
	bucketBytes uint32
	lookups     uint32
	longest     uint32
	lengthBytes uint8
	mostPayload uint32
	tagBytes    uint8
	pilots      []uint16
}

// Decode reads a layout.
func Decode(encoded []byte) (*Layout, error) {
	r := wire.NewReader(what, encoded)
	if version := r.U16(); r.Err() == nil && version != formatVersion {
		return nil, wire.Refuse(wire.Format, "%s of format %d: this client reads format %d", what, version, formatVersion)
	}
	l := &Layout{Encoded: encoded}
	l.ids, l.places = r.Array(), r.Array()
	l.regions, l.buckets, l.pilotCount = r.U32(), r.U32(), r.U32()
	l.bucketBytes, l.lookups, l.longest = r.U32(), r.U32(), r.U32()
	l.lengthBytes, l.mostPayload, l.tagBytes = r.U8(), r.U32(), r.U8()
	if err := r.Err(); err != nil {
		return nil, err
	}
	if err := l.check(uint64(r.Left())); err != nil {
		return nil, err
	}
	l.pilots = make([]uint16, r.Left()/2)
	for i := range l.pilots {
		l.pilots[i] = r.U16()
	}
	return l, r.End()
}

// check refuses numbers that no layout has. Products of two numbers of 32 bits do not overflow.
func (l *Layout) check(pilotBytes uint64) error {
	pilots := uint64(l.regions) * uint64(l.pilotCount)
	for _, one := range []struct {
		name               string
		found, least, most uint64
	}{
		{"buckets", l.Records(), 1, maxRecords},
		{"pilots", pilots, 1, math.MaxUint32},
		{"bytes of the longest value", uint64(l.longest), 0, maxValue},
		{"bytes of a length field", uint64(l.lengthBytes), 0, 3},
		{"most payload bytes", uint64(l.mostPayload), 0, uint64(l.longest)},
		{"bytes of a tag", uint64(l.tagBytes), leastTag, mostTag},
		{"bytes of a bucket", uint64(l.bucketBytes), uint64(l.headerBytes()) + uint64(min(l.longest, l.mostPayload)), maxBucket},
	} {
		if one.found < one.least || one.found > one.most {
			return wire.Refuse(wire.OutOfBounds, "%s: %d %s: expected %d to %d", what, one.found, one.name, one.least, one.most)
		}
	}
	if pilotBytes != 2*pilots {
		return wire.Refuse(wire.WrongLength, "%s: %d bytes of pilots: expected %d", what, pilotBytes, 2*pilots)
	}
	if l.longest > 0 && l.mostPayload == 0 {
		return wire.Refuse(wire.OutOfBounds, "%s: values of up to %d bytes in chunks of 0", what, l.longest)
	}
	chunks := l.chunks(int(l.longest))
	if l.lookups == 0 || uint64(l.lookups) > uint64(chunks) || int(l.lookups) < chunks {
		return wire.Refuse(wire.OutOfBounds, "%s: lookups of %d records: expected %d", what, l.lookups, chunks)
	}
	if reads, overflow := bits.Mul64(pilots, uint64(l.lookups)); reads != 0 || overflow > math.MaxUint32 {
		return wire.Refuse(wire.OutOfBounds, "%s: lookups that read %d pilots: expected fewer than 2^32", what, overflow)
	}
	return nil
}

func (l *Layout) headerBytes() int { return int(l.tagBytes) + int(l.lengthBytes) }

// chunks returns the number of chunks of a value.
func (l *Layout) chunks(length int) int {
	if l.mostPayload == 0 {
		return 1
	}
	return max(1, (length+int(l.mostPayload)-1)/int(l.mostPayload))
}

// Records returns the number of buckets.
func (l *Layout) Records() uint64 { return uint64(l.regions) * uint64(l.buckets) }

// RecordBytes returns the bytes of a bucket.
func (l *Layout) RecordBytes() int { return int(l.bucketBytes) }

// Lookups returns the number of records that each lookup fetches.
func (l *Layout) Lookups() int { return int(l.lookups) }

// ID returns a key's id.
func (l *Layout) ID(key []byte) (id ID) {
	blake3.SumKeyed(&l.ids, key, id[:])
	return id
}

// IDOfIndex returns the id of a record without a key, in the table of a delta.
func IDOfIndex(index uint64) (id ID) {
	binary.BigEndian.PutUint64(id[idBytes-8:], index)
	return id
}

// place is where a chunk of a value is.
type place struct {
	tag, region, spot uint64
}

func (l *Layout) place(id ID, chunk uint32) place {
	var input [idBytes + 4]byte
	copy(input[:], id[:])
	binary.LittleEndian.PutUint32(input[idBytes:], chunk)
	var output [24]byte
	blake3.SumKeyed(&l.places, input[:], output[:])
	p := place{
		tag:    binary.LittleEndian.Uint64(output[:]),
		region: binary.LittleEndian.Uint64(output[8:]),
		spot:   binary.LittleEndian.Uint64(output[16:]),
	}
	clear(input[:])
	clear(output[:])
	return p
}

// Indices returns the records that a lookup of an id fetches, always as many. It reads every pilot
// for each of them, so that neither time nor addresses tell which ones it needs.
func (l *Layout) Indices(id ID) []uint64 {
	indices := make([]uint64, l.lookups)
	for chunk := range indices {
		indices[chunk] = l.index(l.place(id, uint32(chunk)))
	}
	return indices
}

func (l *Layout) index(p place) uint64 {
	region, _ := bits.Mul64(p.region, uint64(l.regions))
	slot := (p.region & math.MaxUint32) * uint64(l.pilotCount) >> 32
	pilot := selectPilot(l.pilots, region*uint64(l.pilotCount)+slot)
	bucket, _ := bits.Mul64(mix(p.spot^pilot*0x9e3779b97f4a7c15), uint64(l.buckets))
	return region*uint64(l.buckets) + bucket
}

// selectPilot reads all pilots.
func selectPilot(pilots []uint16, wanted uint64) uint64 {
	var selected uint16
	for i, pilot := range pilots {
		x := uint64(i) ^ wanted
		selected |= pilot & uint16((x|-x)>>63-1)
	}
	return uint64(selected)
}

// mix is SplitMix64's finalizer.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// entry is what a bucket has of a chunk.
type entry struct {
	found bool
	// Bytes of the value from this chunk on, and those of the chunk.
	remaining int
	payload   []byte
}

// Find returns the value of an id in the records of its lookup, and whether there is one.
func (l *Layout) Find(id ID, records [][]byte) (value []byte, found bool, err error) {
	if len(records) != l.Lookups() {
		return nil, false, wire.Refuse(wire.WrongLength, "%d records of a lookup: expected %d", len(records), l.Lookups())
	}
	entries := make([]entry, len(records))
	for chunk, record := range records {
		if entries[chunk], err = l.findEntry(record, l.place(id, uint32(chunk)).tag); err != nil {
			return nil, false, err
		}
	}
	if !entries[0].found {
		return nil, false, nil
	}

	remaining := entries[0].remaining
	value = make([]byte, 0, min(remaining, int(l.longest)))
	for chunk, one := range entries {
		if chunk > 0 && remaining == 0 {
			break
		}
		// Each chunk states the bytes that are left, so that a missing one shows.
		if !one.found || one.remaining != remaining {
			return nil, false, missingPart(chunk)
		}
		value = append(value, one.payload...)
		remaining -= len(one.payload)
	}
	if remaining > 0 {
		return nil, false, missingPart(len(entries))
	}
	return value, true, nil
}

func missingPart(chunk int) error {
	return wire.Refuse(wire.Malformed, "a value without its chunk %d: expected an entry that continues it", chunk)
}

// findEntry reads all entries of a bucket. Its time depends on the bucket, which only this client
// sees.
func (l *Layout) findEntry(bucket []byte, tag uint64) (found entry, err error) {
	if len(bucket) != l.RecordBytes() {
		return found, wire.Refuse(wire.WrongLength, "a bucket of %d bytes: expected %d", len(bucket), l.RecordBytes())
	}
	wanted := l.storedTag(tag)
	for rest := bucket; len(rest) >= l.headerBytes(); {
		stored := littleEndian(rest[:l.tagBytes])
		if stored == 0 {
			break
		}
		remaining := uint64(l.mostPayload)
		if l.lengthBytes > 0 {
			remaining = littleEndian(rest[l.tagBytes:l.headerBytes()])
		}
		rest = rest[l.headerBytes():]
		length := int(min(remaining, uint64(l.mostPayload)))
		if length > len(rest) {
			return entry{}, wire.Refuse(wire.WrongLength, "an entry of %d bytes in a bucket with %d left", length, len(rest))
		}
		if stored == wanted {
			found = entry{found: true, remaining: int(remaining), payload: rest[:length]}
		}
		rest = rest[length:]
	}
	return found, nil
}

// storedTag returns the bytes of a tag that entries have, or 1 if they are 0.
func (l *Layout) storedTag(tag uint64) uint64 {
	return max(1, tag&(math.MaxUint64>>(8*(mostTag-l.tagBytes))))
}

func littleEndian(data []byte) (number uint64) {
	for i := len(data) - 1; i >= 0; i-- {
		number = number<<8 | uint64(data[i])
	}
	return number
}
