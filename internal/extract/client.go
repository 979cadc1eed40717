package extract

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"
)

// Credentials identify the caller by the API key and the API secret, an access token, or both.
type Credentials struct {
	APIKey          string
	APISecret       string
	AccessToken     string // used until it is rejected
	AccessTokenFile string // path of a file with such a token; read by New unless AccessToken is set, and again when the token is rejected
}

// Format hides the credentials for every formatting verb.
func (Credentials) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("(credentials)")) }

// LogValue hides the credentials in logs.
func (Credentials) LogValue() slog.Value { return slog.StringValue("(credentials)") }

// Options are the settings of a Client. New returns an error if a required setting is missing or a setting is invalid.
type Options struct {
	BaseURL        *url.URL // the root of the service, http or https; may have a path, with or without a trailing slash
	Credentials    Credentials
	Concurrency    int           // maximum number of concurrent reads; fewer while the service throttles, see Stats.Limit
	RatePerSecond  float64       // maximum number of requests per second, 0 for no limit
	Retries        int           // maximum number of attempts after the first
	RequestTimeout time.Duration // limits one attempt, including reading the body
	GiveUpAfter    time.Duration // limits an outage, a pause that the service requests, and the time for a lookup or a token
	MaxBody        int64         // maximum size of a response in bytes, decompressed
	UserAgent      string
	HideErrorCodes bool              // omit the service's error codes from errors
	Logger         *slog.Logger      // gets a line per request at debug level, and events that affect all requests; may be nil
	Observer       Observer          // receives every request; may be nil
	Transport      http.RoundTripper // nil for the default, which limits waits and sizes; must not follow redirects
}

// Client reads from the service. It is safe for concurrent use. Its limits apply to all calls together.
type Client struct {
	base        *url.URL
	retries     int
	maxBody     int64
	giveUpAfter time.Duration
	hideCodes   bool
	limiter     *limiter
	breaker     *breaker
	counters    *counters
	observer    Observer
	retrying    *retryList
	tokens      *tokenSource
}

// New returns a client. It does not send requests, but reads the access token file if it is needed. All its errors are
// configuration errors.
func New(o Options) (*Client, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	log := cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	limit := rate.Inf
	if o.RatePerSecond > 0 {
		limit = rate.Limit(o.RatePerSecond)
	}
	c := &Client{
		base: o.BaseURL, retries: o.Retries, giveUpAfter: o.GiveUpAfter, hideCodes: o.HideErrorCodes,
		maxBody:  min(o.MaxBody, math.MaxInt64-1),
		counters: &counters{totals: Stats{ByStatus: make(map[string]int64)}},
		observer: cmp.Or(o.Observer, Observer(noObserver{})),
		retrying: &retryList{log: log, calls: make(map[*Call]*Retry)},
		breaker: &breaker{
			giveUpAfter: o.GiveUpAfter, log: log,
			active: make(map[string]int), failing: make(map[string]*failing),
		},
	}
	base := o.Transport
	if base == nil {
		base = newHTTPTransport(o.Concurrency)
	}

	// From the innermost layer outwards; see the package comment.
	layer := roundTripper(&transport{base: base, timeout: o.RequestTimeout, gzips: make(chan *gzip.Reader, min(o.Concurrency, maxIdleGzips))})
	layer = &recorder{next: layer, counters: c.counters, observer: c.observer, log: log}
	pace := rate.NewLimiter(limit, 1)
	c.breaker.throttle = &throttle{limiter: pace, most: limit, log: log}
	layer = &pacer{next: layer, rate: pace, giveUpAfter: o.GiveUpAfter, breaker: c.breaker, log: log}
	c.tokens = &tokenSource{
		file: o.Credentials.AccessTokenFile, counters: c.counters, log: log, fetching: semaphore.NewWeighted(1),
	}
	if o.Credentials.APISecret != "" {
		target, err := tokenCall().url(c.base)
		if err != nil {
			return nil, err
		}
		c.tokens.endpoint = &tokenEndpoint{
			next: layer, credentials: o.Credentials, url: target, userAgent: o.UserAgent, retries: o.Retries,
			retrying: c.retrying, giveUpAfter: o.GiveUpAfter, hideCodes: o.HideErrorCodes,
		}
	}
	if err := c.tokens.start(o.Credentials); err != nil {
		return nil, err
	}
	layer = &authenticator{next: layer, tokens: c.tokens, header: readHeader(o.Credentials.APIKey, o.UserAgent)}
	c.limiter = newLimiter(layer, o.Concurrency, c.breaker.throttle, log)
	return c, nil
}

// check returns an error if settings are missing or invalid. The error does not quote secrets.
func (o *Options) check() error {
	u, c := o.BaseURL, o.Credentials
	switch {
	case u == nil || u.Host == "":
		return errors.New("base URL: needs a scheme and a host, such as https://host")
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("base URL: scheme %q is not http or https", u.Scheme)
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return errors.New("base URL: must not contain a user, a query or a fragment")
	case c.APIKey == "":
		return errors.New("credentials: no API key")
	case c.APISecret == "" && c.AccessToken == "" && c.AccessTokenFile == "":
		return errors.New("credentials: neither an API secret nor an access token")
	case o.Concurrency < 1 || o.RequestTimeout <= 0 || o.GiveUpAfter <= 0 || o.MaxBody < 1:
		return errors.New("concurrency, times and sizes must be above 0")
	case o.Retries < 0:
		return errors.New("retries must not be negative")
	case o.RatePerSecond < 0 || math.IsNaN(o.RatePerSecond) || math.IsInf(o.RatePerSecond, 0):
		return errors.New("rate: must be a number of requests per second, or 0 for no limit")
	}
	for _, secret := range []struct{ name, text string }{
		{"the API key", c.APIKey},
		{"the API secret", strings.ReplaceAll(c.APISecret, " ", "")},
		{"the access token", c.AccessToken},
	} {
		if err := checkHeaderText(secret.text); err != nil {
			return fmt.Errorf("credentials: %s %w", secret.name, err)
		}
	}
	return nil
}

// Stats returns the totals so far.
func (c *Client) Stats() Stats {
	totals := c.counters.snapshot()
	totals.Limit = c.Limit()
	return totals
}

// Limit returns the current limit of concurrent reads, like Stats.Limit.
func (c *Client) Limit() int64 { return int64(c.limiter.limit()) }

// TokenLifetime returns how long the current access token remains valid. It returns 0 if there is no token, if it is
// about to expire, or if its lifetime is unknown.
func (c *Client) TokenLifetime() time.Duration {
	if t, err := c.tokens.usable(); t != nil && err == nil && !t.Expiry.IsZero() {
		return time.Until(t.Expiry)
	}
	return 0
}

// Health returns the client's current problems.
func (c *Client) Health() Health {
	h := Health{Retrying: c.retrying.list()}
	h.Paused, h.PausedUntil = c.breaker.status()
	return h
}

// Answered reports whether a call of the operation has succeeded.
func (c *Client) Answered(operation string) bool { return c.breaker.hasAnswered(operation) }

// AddCanaries adds calls that will probably succeed. Before any call has succeeded, they show whether the whole service
// is failing or only the operations called so far.
func (c *Client) AddCanaries(calls ...Call) {
	c.breaker.mu.Lock()
	defer c.breaker.mu.Unlock()
	for i := range calls {
		c.breaker.operation(calls[i].Operation, false).addCanary(&calls[i])
	}
}

// Get makes a call with a single response body. If the status is 200, Get calls accept with the decompressed body, once
// per attempt. The function accept must not use the data before it has read io.EOF, because the body may be cut short,
// and the call is then attempted again. The call is also attempted again if accept returns an error marked with
// [Unreadable]. Any other error ends the call.
//
// The call to accept counts as part of the request, and its time counts against RequestTimeout.
//
// The error is an *[Error], or the cause of ctx. If [EndsRun] is true for it, no other call can succeed.
func (c *Client) Get(ctx context.Context, call Call, accept func(body io.Reader) error) (Tally, error) {
	var tally Tally
	err := c.fetch(ctx, &call, &tally, accept)
	if err == nil {
		tally.Pages++
	}
	return tally, err
}

// List reads every page of a list in order, the first page without a cursor, and each further page with the cursor that
// accept has returned for the previous page. The list ends when the cursor is "". List fails if a page fails or a
// cursor is repeated. Otherwise List works like Get.
func (c *Client) List(ctx context.Context, call Call, accept func(body io.Reader) (next string, err error)) (Tally, error) {
	var tally Tally
	// Store only hashes, because cursors can be of any length and lists can be long.
	seen := make(map[[sha256.Size]byte]struct{})
	cursor := ""
	for {
		page := call
		page.cursor = cursor
		err := c.fetch(ctx, &page, &tally, func(body io.Reader) (err error) {
			cursor, err = accept(body)
			return err
		})
		if err != nil {
			return tally, err
		}
		tally.Pages++
		if cursor == "" {
			return tally, nil
		}
		sum := sha256.Sum256([]byte(cursor))
		if _, repeated := seen[sum]; repeated {
			return tally, call.fail(&failure{err: fmt.Errorf("page %d repeats an earlier next-page cursor, so the list has no end", tally.Pages)}, 0)
		}
		seen[sum] = struct{}{}
	}
}
