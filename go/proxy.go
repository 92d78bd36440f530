package papir

import (
	"net/netip"
	"net/url"
	"os"
	"strings"
)

// chooseProxy returns the proxy for an address; nil for a direct connection. The environment is
// read as papir's other clients read it. A proxy that applies and cannot be used is an error, and
// never a direct connection, since it may hide the client's address.
func chooseProxy(setting string, a *address, getenv func(string) string) (*url.URL, error) {
	switch setting {
	case "none":
		return nil, nil
	case "", "environment":
		name, value := proxyVariable(a, getenv)
		if name == "" {
			return nil, nil
		}
		return parseProxy(name, value)
	default:
		return parseProxy("Options.Proxy", setting)
	}
}

// proxyVariable returns the variable that names the proxy for an address, and its value.
func proxyVariable(a *address, getenv func(string) string) (name, value string) {
	names := []string{"http_proxy", "HTTP_PROXY"}
	if a.https {
		names = []string{"https_proxy", "HTTPS_PROXY"}
	} else if getenv("REQUEST_METHOD") != "" {
		// A request to a CGI program sets HTTP_PROXY by its header `Proxy`.
		names = names[:1]
	}
	for _, name := range append(names, "all_proxy", "ALL_PROXY") {
		value := getenv(name)
		if value == "" {
			continue
		}
		if a.local() || excluded(a, getenv) {
			return "", ""
		}
		return name, value
	}
	return "", ""
}

// excluded returns whether NO_PROXY lists the host.
func excluded(a *address, getenv func(string) string) bool {
	list := getenv("no_proxy")
	if list == "" {
		list = getenv("NO_PROXY")
	}
	entries := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })
	for _, entry := range entries {
		if matches(strings.ToLower(entry), a) {
			return true
		}
	}
	return false
}

func matches(entry string, a *address) bool {
	if entry == "*" {
		return true
	}
	host := strings.ToLower(strings.TrimSuffix(a.host, "."))
	ip, notIP := netip.ParseAddr(host)
	if prefix, err := netip.ParsePrefix(entry); err == nil {
		return notIP == nil && prefix.Contains(ip)
	}
	if listed, err := netip.ParseAddr(strings.Trim(entry, "[]")); err == nil {
		return notIP == nil && listed == ip
	}
	if name, port, refused := splitAuthority(entry); refused == "" && port != "" {
		if port != a.port {
			return false
		}
		if entry = name; entry == host {
			return true
		}
	}
	entry = strings.TrimPrefix(strings.TrimPrefix(entry, "*"), ".")
	return entry != "" && (host == entry || strings.HasSuffix(host, "."+entry))
}

// parseProxy reads the address of a proxy. Errors name the place of the setting, and not its text,
// which may have a password.
func parseProxy(place, text string) (*url.URL, error) {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	bad := newError("bad_proxy", "", "%s: a proxy that cannot be used: expected http://, https:// or socks5://, HOST and PORT", place)
	parsed, err := url.Parse(text)
	if err != nil || parsed.Hostname() == "" || (parsed.Path != "" && parsed.Path != "/") || parsed.RawQuery != "" {
		return nil, bad
	}
	if _, _, refused := splitAuthority(parsed.Host); refused != "" {
		return nil, bad
	}
	switch strings.ToLower(parsed.Scheme) {
	case "http", "https", "socks5":
	case "socks5h":
		// The proxy resolves names in both.
		parsed.Scheme = "socks5"
	default:
		return nil, bad
	}
	return parsed, nil
}

func environment(name string) string { return os.Getenv(name) }
