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

	"golang.org/x/oauth2"
)

// renewAhead is the most by which a token is renewed before its end, so that requests do not run into it.
const renewAhead = time.Minute

// tokens gives every request the token of the day. It takes the place of oauth2's reuse source, which trusts the clock alone:
// here a 401 drops the token, too.
type tokens struct {
	file     string    // read again when its token is refused, "" if there is none
	endpoint *endpoint // nil without a secret
	stats    *stats
	log      *slog.Logger

	mu       sync.Mutex
	current  *grant // nil if it was refused, or never fetched
	flight   *flight
	refusals int    // fresh tokens refused since the last success
	over     error  // not nil once there is no token to be had for good
	had      bool   // there was a token before
	fromFile string // the token that the file is known to hold or that came with it; only the flight's leader uses it
}

// grant is one generation of the token.
type grant struct {
	token    *oauth2.Token
	renewAt  time.Time // zero if its end is not known
	fresh    bool      // got from the endpoint, or by reading the file again
	accepted bool      // the service answered 200 to it
}

// flight is one fetch of a token, which all requests without one wait for.
type flight struct {
	done      chan struct{}
	grant     *grant
	err       error
	abandoned bool // its leader was cancelled, so somebody else has to lead
}

// newGrant takes the token, but not its type: the service says "BearerToken" and wants "Bearer" (observed, Token).
func newGrant(token *oauth2.Token, fresh bool) *grant {
	token.TokenType = "Bearer"
	g := &grant{token: token, fresh: fresh}
	if life := time.Until(token.Expiry); !token.Expiry.IsZero() && life > 0 {
		g.renewAt = token.Expiry.Add(-min(renewAhead, life/5))
	}
	return g
}

// usable tells whether a request may be sent with g.
func (g *grant) usable() bool {
	return g != nil && (g.renewAt.IsZero() || time.Now().Before(g.renewAt))
}

// start takes the token that was got elsewhere, if there is one.
func (t *tokens) start(c Credentials) error {
	text := c.AccessToken
	if text == "" && t.file != "" {
		var err error
		if text, err = readToken(t.file); err != nil {
			return err
		}
	}
	t.fromFile = text
	if text != "" {
		t.current, t.had = newGrant(&oauth2.Token{AccessToken: text}, false), true
	}
	return nil
}

// get returns the current token and fetches one if there is none. However many requests need one, one fetches it; if it
// fails, all that wait fail with it.
func (t *tokens) get(ctx context.Context) (*grant, error) {
	for {
		t.mu.Lock()
		if t.over != nil || t.current.usable() {
			defer t.mu.Unlock()
			return t.current, t.over
		}
		f := t.flight
		if f == nil {
			f = &flight{done: make(chan struct{})}
			t.flight = f
			t.mu.Unlock()
			t.lead(ctx, f)
			return f.grant, f.err
		}
		t.mu.Unlock()
		select {
		case <-f.done:
			if !f.abandoned {
				return f.grant, f.err
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// lead fetches a token for all who wait for f.
func (t *tokens) lead(ctx context.Context, f *flight) {
	f.grant, f.err = t.fetch(ctx)
	f.abandoned = f.err != nil && ctx.Err() != nil
	t.mu.Lock()
	defer t.mu.Unlock()
	defer close(f.done)
	t.flight = nil
	if errors.Is(f.err, ErrRefused) {
		t.over = f.err
	}
	if f.err != nil {
		return
	}
	t.current = f.grant
	if t.had {
		t.stats.refreshed()
		t.log.LogAttrs(ctx, slog.LevelDebug, "the token was renewed")
	}
	t.had = true
}

// fetch gets a token that was not tried yet: from the file if its content changed, else from the endpoint.
func (t *tokens) fetch(ctx context.Context) (*grant, error) {
	if t.file != "" {
		// A file that cannot be read now is as good as one that did not change.
		if text, err := readToken(t.file); err == nil && text != t.fromFile {
			t.fromFile = text
			return newGrant(&oauth2.Token{AccessToken: text}, true), nil
		}
	}
	if t.endpoint == nil {
		return nil, tokenFailure(fmt.Errorf("%w: the access token is refused and there is no other; renew it, or give key and secret", ErrRefused))
	}
	token, err := t.endpoint.fetch(ctx)
	if err != nil {
		return nil, err
	}
	return newGrant(token, true), nil
}

// accepted notes that the service answered a request with this token.
func (t *tokens) accepted(g *grant) {
	t.mu.Lock()
	defer t.mu.Unlock()
	g.accepted = true
	t.refusals = 0
}

// refuse drops the token, unless another request has done so already. It is an error once so many fresh ones were refused,
// with no success between, that another would be, too.
func (t *tokens) refuse(ctx context.Context, g *grant) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.current != g {
		return t.over
	}
	t.current = nil
	t.log.LogAttrs(ctx, slog.LevelInfo, "the token is refused, getting a new one")
	if g.fresh && !g.accepted {
		t.refusals++
	}
	if t.refusals >= maxRefusals {
		t.over = tokenFailure(fmt.Errorf("%w: %d new tokens in a row were refused by the service; check the app's access", ErrRefused, t.refusals))
	}
	return t.over
}

// tokenFailure is an error of no request, since it is of all.
func tokenFailure(err error) error {
	return (&Call{Operation: "token"}).fail(&failure{err: err}, 0)
}

// readToken reads a token file.
func readToken(path string) (string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the access token: %w", err)
	}
	text := strings.TrimSpace(string(content))
	if text == "" {
		return "", fmt.Errorf("read the access token: %s is empty", path)
	}
	if err := headerText(text); err != nil {
		return "", fmt.Errorf("read the access token: %s %w", path, err)
	}
	return text, nil
}

// headerText refuses what cannot stand in a header. It quotes nothing: the text is a secret.
func headerText(text string) error {
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return errors.New("holds a character that cannot stand in a header, perhaps a line break")
	}
	return nil
}
