package doctor

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

// probe is a RoundTripper that records the service's clock and certificate, and the lifetime of its token.
type probe struct {
	next http.RoundTripper
	now  func() time.Time

	mu sync.Mutex
	// skew is how far this machine's clock is ahead of the service's, known if an answer was dated.
	dated bool
	skew  time.Duration
	tls   *tls.ConnectionState
	// granted is set once the token endpoint has issued a token; its lifetime is 0 if unknown.
	granted  bool
	lifetime time.Duration
}

var _ http.RoundTripper = (*probe)(nil)

func newProbe(s *Service) *probe {
	p := &probe{now: s.Now, next: s.Transport}
	if p.next == nil {
		p.next = &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout: 15 * time.Second,
			DisableCompression:  true,
			ForceAttemptHTTP2:   true,
		}
	}
	return p
}

// visit requests a URL without credentials and discards the answer.
func (p *probe) visit(ctx context.Context, u *url.URL) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return errors.New("the base URL cannot be requested")
	}
	answer, err := p.RoundTrip(req)
	if err != nil {
		return err
	}
	_ = answer.Body.Close() // unread
	return nil
}

// RoundTrip sends a request and inspects the answer.
func (p *probe) RoundTrip(req *http.Request) (*http.Response, error) {
	began := p.now()
	answer, err := p.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	ended := p.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		p.dated, p.skew = true, began.Add(ended.Sub(began)/2).Sub(date)
	}
	p.tls = answer.TLS
	if req.Method == http.MethodPost && answer.StatusCode == http.StatusOK {
		return answer, p.readToken(answer)
	}
	return answer, nil
}

// maxToken is how much of the token endpoint's answer is read, in bytes.
const maxToken = 1 << 20

// readToken records the lifetime of a token and restores the body. The token endpoint is the only one that takes POST
// (specification, Authentication); it also sends numbers as text (observed, Token).
func (p *probe) readToken(answer *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxToken))
	if err != nil {
		_ = answer.Body.Close() // the read error is reported
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
	// The client reports what is wrong with an answer that is not a token.
	p.granted = json.Unmarshal(body, &token) == nil && token.AccessToken != ""
	if seconds, err := strconv.ParseInt(strings.Trim(string(token.ExpiresIn), `"`), 10, 32); err == nil && seconds > 0 {
		p.lifetime = time.Duration(seconds) * time.Second
	}
	return nil
}
