// Command get looks up keys, or records by number, in a papir service.
//
//	go run papir.example/go/examples/get http://127.0.0.1:7470 apple fern
//	go run papir.example/go/examples/get -index http://127.0.0.1:7470 0 17
//	go run papir.example/go/examples/get -owner KEY -pin FILE -name words URL apple
//
// It prints a line for each key with its value. It ends with the status 1 if a key is absent, and 2
// after an error.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"time"

	papir "papir.example/go"
)

func main() {
	index := flag.Bool("index", false, "look up records by number")
	name := flag.String("name", "", "the database's name")
	owner := flag.String("owner", "", "the public key of the database's owner")
	pin := flag.String("pin", "", "a file that keeps the owner's key and the newest version seen")
	timeout := flag.Duration("timeout", time.Minute, "time limit of the connection and of the lookups")
	flag.Parse()
	if flag.NArg() < 2 {
		fmt.Fprintln(os.Stderr, "usage: get [options] URL KEY...")
		flag.PrintDefaults()
		os.Exit(2)
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	options := papir.Options{
		Name: *name, OwnerKey: *owner, PinFile: *pin, Timeout: *timeout,
		// A token in an argument would be visible to other users of this machine.
		Token: os.Getenv("PAPIR_TOKEN"),
	}
	missing, err := run(ctx, flag.Arg(0), flag.Args()[1:], *index, options)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	case missing:
		os.Exit(1)
	}
}

// run prints the values, and returns whether any key is absent.
func run(ctx context.Context, url string, words []string, byIndex bool, options papir.Options) (missing bool, err error) {
	database, err := papir.Connect(ctx, url, options)
	if err != nil {
		return false, err
	}
	defer database.Close()
	if byIndex {
		return false, printRecords(ctx, database, words)
	}

	keys := make([][]byte, len(words))
	for i, word := range words {
		keys[i] = []byte(word)
	}
	values, err := database.GetMany(ctx, keys)
	if err != nil {
		return false, err
	}
	for i, value := range values {
		if value.Found {
			fmt.Printf("%s\t%s\n", words[i], value.Bytes)
		} else {
			fmt.Fprintf(os.Stderr, "%s: the database does not have it\n", words[i])
			missing = true
		}
	}
	return missing, nil
}

func printRecords(ctx context.Context, database *papir.Client, words []string) error {
	indices := make([]uint64, len(words))
	for i, word := range words {
		index, err := strconv.ParseUint(word, 10, 64)
		if err != nil {
			return fmt.Errorf("%s: expected the number of a record", word)
		}
		indices[i] = index
	}
	records, err := database.GetIndices(ctx, indices)
	if err != nil {
		return err
	}
	for i, record := range records {
		fmt.Printf("%s\t%x\n", words[i], record)
	}
	return nil
}
