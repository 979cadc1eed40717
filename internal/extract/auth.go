package extract

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/sync/semaphore"
)

// maxRejectedTokens is the number of new tokens that have to be rejected in a row to end the run. If other requests
// succeed in between, only the attempt fails.
const maxRejectedTokens = 3

// authenticator adds the API key and the token to reads, and replaces a rejected token. When it sends a request again
// with a new token, that does not count as another attempt.
type authenticator struct {
	next   roundTripper
	tokens *tokenSource
	header http.Header // without the token
}

var _ roundTripper = (*authenticator)(nil)

// readHeader returns the header of every read (specification, Authentication 1), except for the token.
func readHeader(key, agent string) http.Header {
	h := make(http.Header)
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json")
	h.Set("Accept-Encoding", "gzip")
	h.Set("User-Agent", agent)
	h.Set("Cache-Control", "no-cache")
	h.Set("apikey", key)
	return h
}

func (a *authenticator) roundTrip(ctx context.Context, req *request) (*response, error) {
	for rejected := 1; ; rejected++ {
		t, err := a.tokens.get(ctx)
		if err != nil {
			return nil, err
		}
		req.header = a.header.Clone()
		t.SetAuthHeader(&http.Request{Header: req.header})
		res, err := a.next.roundTrip(ctx, req)
		if err != nil {
			return nil, err
		}
		if res.status != http.StatusUnauthorized {
			if res.status == http.StatusOK {
				a.tokens.accepted(t)
			}
			return res, nil
		}
		err = a.tokens.rejected(ctx, t)
		if err == nil && rejected > maxRejectedTokens {
			return res, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// tokenSource provides the current token. Unlike oauth2.ReuseTokenSource, it also replaces a token that the service
// rejected with 401.
type tokenSource struct {
	file     string         // the token file, which is read again when its token is rejected; "" if there is no file
	endpoint *tokenEndpoint // nil without an API secret
	counters *counters
	log      *slog.Logger
	fetching *semaphore.Weighted // of weight 1, so that other requests wait while one request fetches a token

	fromFile string // the file's content when it was last read; guarded by fetching

	mu         sync.Mutex
	current    *token // nil if there has been no token yet, or if the token was rejected
	refresh    bool   // reports whether the next token is not the first
	rejections int    // the number of unused tokens that were rejected since the last success
	err        error  // the reason why there will be no further token
}

// start sets the current token to the given token or, if none is given, to the token in the file. It fails if the file
// has to be read and cannot be.
func (s *tokenSource) start(c Credentials) error {
	text := c.AccessToken
	if text == "" && s.file != "" {
		var err error
		if text, err = readTokenFile(s.file); err != nil {
			return err
		}
	}
	s.fromFile = text
	if text != "" {
		s.current, s.refresh = newToken(&oauth2.Token{AccessToken: text}), true
		s.current.unused = false
	}
	return nil
}

// get returns the current token, or fetches a new one. If several requests need a token, one of them fetches it for
// all. If it cannot be fetched, all these requests fail with the same error. If the request that fetches the token is
// cancelled, another request takes over.
func (s *tokenSource) get(ctx context.Context) (*token, error) {
	if t, err := s.usable(); t != nil || err != nil {
		return t, err
	}
	if err := s.fetching.Acquire(ctx, 1); err != nil {
		return nil, context.Cause(ctx)
	}
	defer s.fetching.Release(1)
	if t, err := s.usable(); t != nil || err != nil { // another request has fetched a token
		return t, err
	}
	t, err := s.fetch(ctx)
	if err != nil && ctx.Err() != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current, s.err = t, err
	if err == nil && s.refresh {
		s.counters.update(func(s *Stats) { s.TokenRefreshes++ })
		s.log.LogAttrs(ctx, slog.LevelDebug, "access token renewed")
	}
	s.refresh = true
	return t, err
}

// usable returns the current token, or nil if there is none or if it is about to expire. It returns an error if there
// will be no further token.
func (s *tokenSource) usable() (*token, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.current; t != nil && (t.renewAt.IsZero() || time.Now().Before(t.renewAt)) {
		return t, s.err
	}
	return nil, s.err
}

// fetch returns a token that has not been tried yet, from the file if the file has changed, otherwise from the
// endpoint.
func (s *tokenSource) fetch(ctx context.Context) (*token, error) {
	if s.file != "" {
		// A file that cannot be read counts as unchanged.
		if text, err := readTokenFile(s.file); err == nil && text != s.fromFile {
			s.fromFile = text
			return newToken(&oauth2.Token{AccessToken: text}), nil
		}
	}
	if s.endpoint == nil {
		return nil, tokenError("the access token got 401, and there is no API secret to get another; renew the token, or set key and secret")
	}
	return s.endpoint.fetch(ctx)
}

// accepted records that a request with token t got 200.
func (s *tokenSource) accepted(t *token) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.unused = false
	s.rejections = 0
}

// rejected drops token t, unless another request has already replaced it. It returns an error once maxRejectedTokens
// unused tokens in a row have been rejected without a success in between, because another token would probably be
// rejected too.
func (s *tokenSource) rejected(ctx context.Context, t *token) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != t {
		return s.err
	}
	s.current = nil
	s.log.LogAttrs(ctx, slog.LevelInfo, "access token rejected (401), getting a new one")
	if t.unused {
		s.rejections++
	}
	if s.rejections >= maxRejectedTokens {
		s.err = tokenError(fmt.Sprintf("%d new access tokens in a row got 401; check the app's permissions", s.rejections))
	}
	return s.err
}

// tokenError returns an *Error that wraps ErrRefused and does not belong to a single request.
func tokenError(text string) error {
	return (&Call{Operation: "token"}).fail(&failure{err: fmt.Errorf("%w: %s", ErrRefused, text)}, 0)
}
