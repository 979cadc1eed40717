package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// sighting is a transport that notes what answers tell beside what they were
// asked for: the service's clock, its certificate, and how long a token lasts.
type sighting struct {
	next *http.Transport
	now  func() time.Time

	mu sync.Mutex
	// dated tells that an answer had a date; skew is how far this machine's
	// clock is ahead of it.
	dated bool
	skew  time.Duration
	tls   *tls.ConnectionState
	// granted tells that the token endpoint gave a token; life is how long it
	// lasts, 0 if that was not said.
	granted bool
	life    time.Duration
}

var _ http.RoundTripper = (*sighting)(nil)

func newSighting(now func() time.Time) *sighting {
	return &sighting{now: now, next: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout: 15 * time.Second,
		DisableCompression:  true,
		ForceAttemptHTTP2:   true,
	}}
}

// visit asks for a URL without credentials and throws the answer away.
func (s *sighting) visit(ctx context.Context, u *url.URL) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return errors.New("the base URL cannot be asked")
	}
	answer, err := s.RoundTrip(req)
	if err != nil {
		return err
	}
	_ = answer.Body.Close() // nobody needs what it says
	return nil
}

// RoundTrip sends a request on and looks at the answer.
func (s *sighting) RoundTrip(req *http.Request) (*http.Response, error) {
	began := s.now()
	answer, err := s.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	ended := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		s.dated, s.skew = true, began.Add(ended.Sub(began)/2).Sub(date)
	}
	s.tls = answer.TLS
	if req.Method == http.MethodPost && answer.StatusCode == http.StatusOK {
		return answer, s.readToken(answer)
	}
	return answer, nil
}

// mostOfToken is the largest answer of a token endpoint that is looked into.
const mostOfToken = 1 << 20

// readToken notes how long a token lasts, and leaves the answer as it was. The
// token endpoint is the only one that is posted to (specification,
// Authentication), and gives its numbers as text, too (observed, Token).
func (s *sighting) readToken(answer *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(answer.Body, mostOfToken))
	if err != nil {
		_ = answer.Body.Close() // the reason is known
		return fmt.Errorf("read the token: %w", err)
	}
	answer.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), answer.Body), answer.Body}
	var token struct {
		AccessToken string          `json:"access_token"`
		ExpiresIn   json.RawMessage `json:"expires_in"`
	}
	// The client says what is wrong with an answer that is no token.
	s.granted = json.Unmarshal(body, &token) == nil && token.AccessToken != ""
	if seconds, err := strconv.ParseInt(strings.Trim(string(token.ExpiresIn), `"`), 10, 32); err == nil && seconds > 0 {
		s.life = time.Duration(seconds) * time.Second
	}
	return nil
}
