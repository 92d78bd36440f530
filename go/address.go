package papir

import (
	"encoding/hex"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"papir.example/go/internal/checkpoint"
	"papir.example/go/internal/wire"
)

const databasesPath = "/v1/databases"

// address is the address of a service, and the database that it names.
type address struct {
	// base is scheme, host, port and the path before papir's routes, without a trailing slash.
	base string
	// host has no brackets.
	host     string
	port     string
	https    bool
	database string
}

func parseAddress(text string) (address, error) {
	bad := func(reason string) (address, error) {
		return address{}, newError("bad_url", text, "the address `%s`: %s", wire.Shown(text), reason)
	}
	rest, https := strings.CutPrefix(text, "https://")
	if !https {
		var http bool
		if rest, http = strings.CutPrefix(text, "http://"); !http {
			return bad("expected http:// or https:// and a host")
		}
	}
	if strings.ContainsAny(text, "?#\\@") || strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}) {
		return bad("it has a query, a fragment, a login, white space or a backslash: expected none")
	}

	authority, _, _ := strings.Cut(rest, "/")
	host, port, err := splitAuthority(authority)
	if err != "" {
		return bad(err)
	}
	if port == "" {
		port = map[bool]string{true: "443", false: "80"}[https]
	}
	a := address{host: host, port: port, https: https}
	base, path, named := strings.Cut(text, databasesPath)
	a.base = strings.TrimRight(base, "/")
	if named {
		segment, _, _ := strings.Cut(strings.TrimLeft(path, "/"), "/")
		name, ok := unescape(segment)
		if !ok {
			return bad("its database is not percent-encoded")
		}
		a.database = name
	}
	return a, nil
}

// splitAuthority splits HOST, HOST:PORT or [IPV6]:PORT. The last result is the reason of a refusal.
func splitAuthority(authority string) (host, port, refused string) {
	host, rest := authority, ""
	if inner, bracketed := strings.CutPrefix(authority, "["); bracketed {
		var closed bool
		host, rest, closed = strings.Cut(inner, "]")
		ip, err := netip.ParseAddr(host)
		if !closed || err != nil || !ip.Is6() {
			return "", "", "the text in its brackets is not an IPv6 address"
		}
	} else if at := strings.Index(authority, ":"); at >= 0 {
		host, rest = authority[:at], authority[at:]
	}
	if host == "" {
		return "", "", "it names no host"
	}
	if rest == "" {
		return host, "", ""
	}
	port, found := strings.CutPrefix(rest, ":")
	number, err := strconv.ParseUint(port, 10, 16)
	if !found || err != nil || number == 0 || strings.HasPrefix(port, "+") {
		return "", "", "its port is not a number from 1 to 65535"
	}
	return host, port, ""
}

// local returns whether traffic stays on this machine.
func (a *address) local() bool { return isLoopback(a.host) }

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// url returns the address of a route of a database.
func (a *address) url(name, route string) string {
	return a.base + databasesPath + "/" + checkpoint.Escape(name) + route
}

// unescape undoes the percent-encoding of a name; false for an invalid escape or other text than
// UTF-8.
func unescape(text string) (string, bool) {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			out = append(out, text[i])
			continue
		}
		if i+2 >= len(text) {
			return "", false
		}
		decoded, err := hex.DecodeString(text[i+1 : i+3])
		if err != nil {
			return "", false
		}
		out = append(out, decoded...)
		i += 2
	}
	return string(out), utf8.Valid(out)
}
