package extract

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// maxRenewAhead is the longest time before its expiry at which a token is renewed.
const maxRenewAhead = time.Minute

// token is one access token.
type token struct {
	text     string
	renewAt  time.Time // zero if the lifetime is unknown
	fresh    bool      // from the token endpoint, or from the file when it was read again
	accepted bool      // a request with it got 200; guarded by tokenSource.mu
}

// newToken returns a token that expires after lifetime, if that is known.
func newToken(text string, lifetime time.Duration, fresh bool) *token {
	t := &token{text: text, fresh: fresh}
	if lifetime > 0 {
		t.renewAt = time.Now().Add(lifetime - min(maxRenewAhead, lifetime/5))
	}
	return t
}

// tokenSource provides the current token. Unlike oauth2.ReuseTokenSource it also replaces a token that got 401.
type tokenSource struct {
	file     string         // read again when its token is rejected; "" if there is none
	endpoint *tokenEndpoint // nil without an API secret
	counters *counters
	log      *slog.Logger
	fetching *semaphore.Weighted // of 1: one request fetches a token, others wait

	fromFile string // the file's content when it was last read; guarded by fetching

	mu         sync.Mutex
	current    *token // nil if there was none yet, or it was rejected
	refresh    bool   // the next token is not the first
	rejections int    // of fresh tokens since the last success
	err        error  // there will be no further token
}

// start uses the given token, or that of the file.
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
		s.current, s.refresh = newToken(text, 0, false), true
	}
	return nil
}

// get returns the current token, or fetches one. However many requests need one, one of them fetches it. If that fails,
// all requests fail with the same error; if it is cancelled, another request takes over.
func (s *tokenSource) get(ctx context.Context) (*token, error) {
	if t, err := s.usable(); t != nil || err != nil {
		return t, err
	}
	if err := s.fetching.Acquire(ctx, 1); err != nil {
		return nil, context.Cause(ctx)
	}
	defer s.fetching.Release(1)
	if t, err := s.usable(); t != nil || err != nil { // another request has fetched it
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

// usable returns the current token, nil if there is none or it is about to expire.
func (s *tokenSource) usable() (*token, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.current; t != nil && (t.renewAt.IsZero() || time.Now().Before(t.renewAt)) {
		return t, s.err
	}
	return nil, s.err
}

// fetch returns a token that was not tried yet: from the file if that changed, otherwise from the endpoint.
func (s *tokenSource) fetch(ctx context.Context) (*token, error) {
	if s.file != "" {
		// A file that cannot be read counts as unchanged.
		if text, err := readTokenFile(s.file); err == nil && text != s.fromFile {
			s.fromFile = text
			return newToken(text, 0, true), nil
		}
	}
	if s.endpoint == nil {
		return nil, tokenError("the access token got 401, and there is no API secret to get another; renew it, or set key and secret")
	}
	return s.endpoint.fetch(ctx)
}

// accepted records a 200 for a request with t.
func (s *tokenSource) accepted(t *token) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.accepted = true
	s.rejections = 0
}

// rejected drops t, unless another request already has. It returns an error once so many fresh tokens have been
// rejected, with no success between, that another one would be too.
func (s *tokenSource) rejected(ctx context.Context, t *token) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != t {
		return s.err
	}
	s.current = nil
	s.log.LogAttrs(ctx, slog.LevelInfo, "access token rejected (401), getting a new one")
	if t.fresh && !t.accepted {
		s.rejections++
	}
	if s.rejections >= maxRejectedTokens {
		s.err = tokenError(fmt.Sprintf("%d new access tokens in a row got 401; check the app's permissions", s.rejections))
	}
	return s.err
}

// tokenError returns an ErrRefused that is not of one request.
func tokenError(text string) error {
	return (&Call{Operation: "token"}).fail(&failure{err: fmt.Errorf("%w: %s", ErrRefused, text)}, 0)
}

func readTokenFile(path string) (string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the access token: %w", err)
	}
	text := strings.TrimSpace(string(content))
	if text == "" {
		return "", fmt.Errorf("read the access token: %s is empty", path)
	}
	if err := checkHeaderText(text); err != nil {
		return "", fmt.Errorf("read the access token: %s %w", path, err)
	}
	return text, nil
}

// checkHeaderText rejects text that is not allowed in a header. The error does not quote it, because it is a secret.
func checkHeaderText(text string) error {
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return errors.New("contains a character that is not allowed in an HTTP header, such as a line break")
	}
	return nil
}
