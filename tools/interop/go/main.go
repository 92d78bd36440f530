// Command ohttp sends sealed requests with another implementation of Oblivious HTTP.
//
//	ohttp KEYS-URL RELAY-URL ORIGIN
//
// It reads one request from each line of stdin, "GET /path" or "POST /path", and sends it for each of
// the keys at KEYS-URL, in both forms of RFC 9458 and its chunked extension where the request has a
// body. For each response it prints a line of JSON.
package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/openpcc/ohttp"
)

const (
	// The longest list of keys and the longest response that are read.
	maxKeys     = 1 << 16
	maxResponse = 1 << 28

	timeout = 60 * time.Second
)

// An exchange is one sealed request and what came back.
type exchange struct {
	Key    byte   `json:"key"`
	Kem    uint16 `json:"kem"`
	Form   string `json:"form"`
	Method string `json:"method"`
	Path   string `json:"path"`
	Status int    `json:"status"`
	Type   string `json:"type"`
	Length int    `json:"length"`
	Digest string `json:"sha256"`
	// The body of a problem, else empty.
	Problem string `json:"problem"`
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 4 {
		log.Fatal("usage: ohttp KEYS-URL RELAY-URL ORIGIN")
	}
	keysURL, relayURL, origin := os.Args[1], os.Args[2], os.Args[3]

	keys, err := fetchKeys(keysURL)
	if err != nil {
		log.Fatalf("%s: %v", keysURL, err)
	}

	out := json.NewEncoder(os.Stdout)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		method, path, found := strings.Cut(lines.Text(), " ")
		if !found {
			log.Fatalf("%q is not a method and a path", lines.Text())
		}

		for _, key := range keys {
			for _, form := range forms(method) {
				done, err := send(key, form, relayURL, method, origin, path)
				if err != nil {
					log.Fatalf("key %d, %s, %s %s: %v", key.KeyID, form, method, path, err)
				}
				if err := out.Encode(done); err != nil {
					log.Fatal(err)
				}
			}
		}
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
}

// forms returns the forms in which the library seals a request: it takes the chunked form for bodies
// of unknown length.
func forms(method string) []string {
	if method == http.MethodPost {
		return []string{"whole", "chunked"}
	}
	return []string{"whole"}
}

// fetchKeys returns the key configurations that a gateway or relay publishes (RFC 9458, section 3.2).
func fetchKeys(url string) (ohttp.KeyConfigs, error) {
	client := http.Client{Timeout: timeout}
	response, err := client.Get(url)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()

	body, err := io.ReadAll(io.LimitReader(response.Body, maxKeys))
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d: %s", response.StatusCode, body)
	}

	var keys ohttp.KeyConfigs
	if err := keys.UnmarshalBinary(body); err != nil {
		return nil, err
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("no keys in %d bytes", len(body))
	}
	return keys, nil
}

// send seals one request for a key, and opens its response.
func send(key ohttp.KeyConfig, form, relayURL, method, origin, path string) (*exchange, error) {
	transport, err := ohttp.NewTransport(key, relayURL)
	if err != nil {
		return nil, err
	}
	client := http.Client{Transport: transport, Timeout: timeout}

	request, err := newRequest(form, method, origin+path)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()

	body, err := io.ReadAll(io.LimitReader(response.Body, maxResponse))
	if err != nil {
		return nil, err
	}

	digest := sha256.Sum256(body)
	done := &exchange{
		Key:    key.KeyID,
		Kem:    uint16(key.KemID),
		Form:   form,
		Method: method,
		Path:   path,
		Status: response.StatusCode,
		Type:   response.Header.Get("Content-Type"),
		Length: len(body),
		Digest: hex.EncodeToString(digest[:]),
	}
	if done.Type == "application/problem+json" {
		done.Problem = string(body)
	}
	return done, nil
}

// newRequest returns a request without a body, or with one that is no query of any scheme.
func newRequest(form, method, url string) (*http.Request, error) {
	if method != http.MethodPost {
		return http.NewRequest(method, url, nil)
	}

	request, err := http.NewRequest(method, url, bytes.NewReader(bytes.Repeat([]byte{7}, 100_000)))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/octet-stream")
	if form == "chunked" {
		// Hides the length, which the library would otherwise write in front.
		request.Body = io.NopCloser(io.MultiReader(request.Body))
		request.ContentLength = -1
	}
	return request, nil
}
