package papir

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"papir.example/go/internal/wire"
)

const (
	userAgent = "papir-go/" + Version
	// The longest JSON body that is read.
	maxJSON = 1 << 20
	// The longest body of any response.
	maxBody = 4 << 30

	connectTimeout = 10 * time.Second
	// The longest time without a byte, while a service answers.
	readTimeout = 5 * time.Minute
	// Repetitions after broken connections, if the service has never responded.
	maxBroken = 3
	// Repetitions after refusals.
	maxRefused = 30
	// The longest wait that a server may advise.
	maxAdvice  = 30 * time.Second
	firstPause = 50 * time.Millisecond
	maxPause   = 4 * time.Second
)

// service sends requests to one service.
type service struct {
	address  address
	settings *settings
	client   *http.Client
	// responded is set once the service has responded: its address is right.
	responded atomic.Bool
}

func newService(a address, s *settings) (*service, error) {
	proxy, err := chooseProxy(s.Proxy, &a, environment)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		Proxy:               func(*http.Request) (*url.URL, error) { return proxy, nil },
		DialContext:         (&net.Dialer{Timeout: connectTimeout}).DialContext,
		TLSClientConfig:     &tls.Config{RootCAs: s.Roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: connectTimeout,
		ForceAttemptHTTP2:   true,
		// Lengths that are read are those that were sent.
		DisableCompression:     true,
		MaxIdleConns:           8,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
	return &service{address: a, settings: s, client: &http.Client{
		Transport: transport,
		// The next server would get the token and the queries.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// request is one request. Repetitions send the same bytes.
type request struct {
	method, url string
	body        []byte
	// version is the value of the header papir-version, or empty.
	version string
	// limit is the most bytes of a successful response.
	limit int64
	// ofVersion is whether a response of another version is not read.
	ofVersion bool
}

// response is a response whose body was read up to its limit.
type response struct {
	status  int
	header  http.Header
	body    []byte
	skipped bool
}

// send sends a request until the service responds otherwise than busy, starting, stopping or away.
func (s *service) send(ctx context.Context, r *request) (*response, error) {
	start := time.Now()
	broken, refused := 0, 0
	for {
		got, err := s.once(ctx, r)
		var wait time.Duration
		switch {
		case err == nil && !retryable(got):
			return got, nil
		case err == nil:
			refused++
			wait = max(advised(got.header), pause(refused))
			if refused > maxRefused {
				return got, nil
			}
		default:
			broken++
			wait = pause(broken)
			if ctx.Err() != nil || isFinal(err) || (!s.responded.Load() && broken > maxBroken) {
				return nil, s.failure(ctx, r.url, err)
			}
		}

		// Clients that were refused together do not return together.
		wait += rand.N(wait/2 + 1)
		// Before the wait: a pause after which nothing is tried would be for nothing.
		if time.Since(start)+wait > s.settings.Patience || sleep(ctx, wait) != nil {
			if err != nil {
				return nil, s.failure(ctx, r.url, err)
			}
			return got, nil
		}
	}
}

// once sends a request once. A body that ends early is an error.
func (s *service) once(ctx context.Context, r *request) (*response, error) {
	// Ends a connection on which nothing moves.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	idle := time.AfterFunc(readTimeout, cancel)
	defer idle.Stop()

	var body io.Reader
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	made, err := http.NewRequestWithContext(ctx, r.method, r.url, body)
	if err != nil {
		return nil, finalError{err}
	}
	made.Header.Set("User-Agent", userAgent)
	if s.settings.Token != "" {
		made.Header.Set("Authorization", "Bearer "+s.settings.Token)
	}
	if r.version != "" && r.method == http.MethodPost {
		made.Header.Set("papir-version", r.version)
	}
	if r.body != nil {
		made.Header.Set("Content-Type", "application/octet-stream")
	}

	got, err := s.client.Do(made)
	if err != nil {
		return nil, err
	}
	defer got.Body.Close()
	s.responded.Store(true)

	out := &response{status: got.StatusCode, header: got.Header}
	limit := int64(maxJSON)
	if got.StatusCode/100 == 2 {
		limit = min(r.limit, maxBody)
		if r.ofVersion && got.Header.Get("papir-version") != r.version {
			// The public part of another version may have gigabytes, and would be refused.
			out.skipped = true
			return out, nil
		}
	}
	// One byte more tells a longer body.
	out.body, err = io.ReadAll(io.LimitReader(&moving{got.Body, idle}, limit+1))
	if err != nil {
		// The service has seen the request and answered it: the rest is not asked again.
		return nil, finalError{err}
	}
	if int64(len(out.body)) > limit {
		return nil, finalError{newError("too_long", r.url, "a response of more than %d bytes: expected at most as many", limit)}
	}
	return out, nil
}

// moving restarts a timer with every read.
type moving struct {
	from io.Reader
	idle *time.Timer
}

func (m *moving) Read(out []byte) (int, error) {
	n, err := m.from.Read(out)
	m.idle.Reset(readTimeout)
	return n, err
}

// finalError is an error after which the request is not repeated.
type finalError struct{ error }

func (e finalError) Unwrap() error { return e.error }

// isFinal returns whether an error stays as it is, as one of certificates does.
func isFinal(err error) bool {
	var final finalError
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verification *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	return errors.As(err, &final) || errors.As(err, &unknown) || errors.As(err, &host) || errors.As(err, &invalid) ||
		errors.As(err, &verification) || errors.As(err, &record)
}

// failure is the error of a request without a response. The address is named once.
func (s *service) failure(ctx context.Context, address string, err error) error {
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	if ctx.Err() != nil {
		return wrap(address, ctx.Err())
	}
	var named *url.Error
	if errors.As(err, &named) {
		err = named.Err
	}
	text := err.Error()
	if errors.Is(err, context.Canceled) {
		text = "nothing was sent or received for " + readTimeout.String()
	}
	return &Error{Code: "transport", URL: address, Message: text, cause: err}
}

// retryable returns whether the same request may succeed later. Only the status decides, and not
// the hint in the body: a repetition may tell a server something.
func retryable(r *response) bool {
	switch r.status {
	case http.StatusTooManyRequests:
		return problemOf(r).Code != "token_quota"
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// advised returns the wait that the server advises in seconds, at most maxAdvice.
func advised(header http.Header) time.Duration {
	text := header.Get("Retry-After")
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r < '0' || r > '9' }) {
		return 0
	}
	seconds, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return maxAdvice
	}
	return min(time.Duration(seconds)*time.Second, maxAdvice)
}

// pause returns the pause before a repetition, from 1.
func pause(number int) time.Duration {
	return min(firstPause<<min(number-1, 16), maxPause)
}

// sleep waits, or returns the context's error.
func sleep(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// problem is the body of a refusal.
type problem struct {
	Code    string `json:"code"`
	Detail  string `json:"detail"`
	Version string `json:"version"`
}

func problemOf(r *response) (p problem) {
	if json.Unmarshal(r.body, &p) != nil {
		return problem{}
	}
	return p
}

// refusal is the error of a response that is no success.
func refusal(r *request, got *response) *Error {
	e := &Error{URL: r.url, Status: got.status}
	if p := problemOf(got); p.Code != "" {
		e.Code, e.Message, e.current = wire.Shown(p.Code), wire.ShownTo(p.Detail, 500), p.Version
		return e
	}
	switch {
	case got.status >= 300 && got.status < 400:
		e.Code = "redirect"
		e.Message = "it redirects to " + strconv.Quote(wire.Shown(got.header.Get("Location"))) + ": expected the address of the service itself"
	case got.status == http.StatusUnauthorized:
		e.Code, e.Message = "unauthorized", "a server or proxy before the service asks for another login"
	case got.status == http.StatusProxyAuthRequired:
		e.Code, e.Message = "proxy_login", "the proxy asks for a login, or refuses the one of its address"
	case got.status == http.StatusRequestEntityTooLarge:
		e.Code = "too_long"
		e.Message = "a request of " + strconv.Itoa(len(r.body)) + " bytes exceeds the limit of a server or proxy before the service"
	default:
		e.Code, e.Message = "unknown", "not a response of a papir service"
	}
	return e
}

// get fetches a body of at most limit bytes.
func (s *service) get(ctx context.Context, url string, limit int64) ([]byte, error) {
	r := &request{method: http.MethodGet, url: url, limit: limit}
	got, err := s.send(ctx, r)
	if err != nil {
		return nil, err
	}
	if got.status != http.StatusOK {
		return nil, refusal(r, got)
	}
	return got.body, nil
}

// getJSON fetches JSON.
func (s *service) getJSON(ctx context.Context, url string, into any) error {
	body, err := s.get(ctx, url, maxJSON)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return newError("unexpected", url, "%s: expected JSON of a papir service", wire.Shown(err.Error()))
	}
	return nil
}

// getVersion fetches a body of at most limit bytes of one version; nil if the server has another
// one.
func (s *service) getVersion(ctx context.Context, url, version string, limit int64) ([]byte, error) {
	r := &request{method: http.MethodGet, url: url, limit: limit, version: version, ofVersion: true}
	got, err := s.send(ctx, r)
	if err != nil {
		return nil, err
	}
	if got.status != http.StatusOK {
		return nil, refusal(r, got)
	}
	if got.skipped {
		if got.header.Get("papir-version") == "" {
			return nil, newError("unexpected", url, "no papir-version header: expected the version %s", version)
		}
		return nil, nil
	}
	return got.body, nil
}
