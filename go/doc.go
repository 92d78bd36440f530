// Package papir looks up records in a papir service without telling the service which ones.
//
// It is a client in Go alone, without cgo and without dependencies, written from the page of
// formats (docs/formats.md in papir's repository). It has the schemes `simple`, `inspire` and
// `inspire1`.
//
//	database, err := papir.Connect(ctx, "https://lookup.example", papir.Options{OwnerKey: key})
//	if err != nil {
//		return err
//	}
//	defer database.Close()
//	value, found, err := database.Get(ctx, []byte("apple"))
//
// # What the service learns
//
// The service learns that a lookup was made, when, and how many at once. It learns neither the key
// or the number, nor whether there is a record. The requests are the same for each of them: their
// number, order, lengths and headers. A client whose answer does not decode or verify asks no
// second time, since a repetition could tell the service why.
//
// # What the client trusts
//
// Without an owner's key or a root, values are what the service says. With OwnerKey, only versions
// that the owner signed are accepted. In a verifiable database (`papir build --verifiable`) each
// record is also proved, against the signed root or against Root.
//
// # Secrets in memory
//
// Go gives no promise that memory is overwritten. This package clears keys, errors, decrypted
// records and places of records in the slices that it made, as soon as they are used. Copies that
// the compiler, the garbage collector or a moved stack may leave behind are not cleared, and keys
// that a caller passes, and values that it gets, are the caller's. Code that handles secrets has no
// branches and no addresses that depend on them, and no divisions by the hardware but the one that
// divides a record's number by a public one; no test measures that. The search of a decrypted
// bucket for a key takes a time that depends on the bucket.
package papir

// Version is the version of this package.
const Version = "0.1.0"
