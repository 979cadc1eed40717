package extract

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/time/rate"
)

// Credentials are what the service knows us by. The key is always needed, and with it the secret or an access token.
type Credentials struct {
	APIKey    string
	APISecret string
	// AccessToken is a token got elsewhere, used until it is refused.
	AccessToken string
	// AccessTokenFile holds such a token. It is read when the client is made, unless AccessToken is given, and again when the
	// token is refused.
	AccessTokenFile string
}

// Format keeps credentials out of everything that is printed, whatever the verb.
func (Credentials) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("(credentials)")) }

// LogValue keeps credentials out of logs.
func (Credentials) LogValue() slog.Value { return slog.StringValue("(credentials)") }

// Options are the settings of a Client; the command's flags have their defaults.
type Options struct {
	// BaseURL is the service's root, http or https. It may carry a path, with or without a slash at its end.
	BaseURL     *url.URL
	Credentials Credentials
	// Concurrency is the most requests in flight. While the service takes fewer there are fewer, see Stats.Limit.
	Concurrency int
	// RatePerSecond is the most requests sent in a second, 0 for no limit.
	RatePerSecond float64
	// Retries is how many attempts may follow the first.
	Retries int
	// RequestTimeout is the most time for one attempt, its body included.
	RequestTimeout time.Duration
	// GiveUpAfter is how long the service may fail, or ask for a pause, before the client gives up; also the longest time for a lookup or a token.
	GiveUpAfter time.Duration
	// MaxBody is the most bytes of one answer, after decompression.
	MaxBody   int64
	UserAgent string
	// Logger gets a line a request at debug level, and what holds up all of them above it. Nil logs nothing.
	Logger *slog.Logger
	// Observer is told of every request; nil for nobody.
	Observer Observer
	// Transport sends the requests; nil for one with bounded waits and sizes. It must not follow redirects.
	Transport http.RoundTripper
}

// Client asks the service. It is safe for use by many goroutines; what limits there are hold for all of them together.
type Client struct {
	base     *url.URL
	retries  int
	maxBody  int64
	slots    *slots
	gate     *gate
	stats    *stats
	observer Observer
	retrying *retrying
	patience time.Duration // --give-up-after
}

// New makes a client. It sends nothing yet, but reads the access token file if there is one. Its errors are those of the
// configuration.
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
		base: o.BaseURL, retries: o.Retries,
		maxBody:  min(o.MaxBody, math.MaxInt64-1),
		gate:     newGate(o.GiveUpAfter, log),
		stats:    &stats{totals: Stats{ByStatus: make(map[string]int64)}},
		observer: cmp.Or(o.Observer, Observer(nobody{})),
		retrying: newRetrying(log),
		patience: o.GiveUpAfter,
	}
	transport := o.Transport
	if transport == nil {
		transport = newTransport(o.Concurrency)
	}

	// From the wire outwards, see the package's comment.
	layer := sender(&wire{transport: transport, timeout: o.RequestTimeout})
	layer = &recorder{next: layer, stats: c.stats, observer: c.observer, log: log}
	layer = &pacer{next: layer, pause: &pause{limit: o.GiveUpAfter}, limiter: rate.NewLimiter(limit, 1), gate: c.gate, log: log}
	tokens := &tokens{file: o.Credentials.AccessTokenFile, stats: c.stats, log: log}
	if o.Credentials.APISecret != "" {
		target, err := tokenCall().url(c.base)
		if err != nil {
			return nil, err
		}
		tokens.endpoint = &endpoint{
			next: layer, credentials: o.Credentials, url: target, userAgent: o.UserAgent, retries: o.Retries,
			retrying: c.retrying, patience: o.GiveUpAfter,
		}
	}
	if err := tokens.start(o.Credentials); err != nil {
		return nil, err
	}
	layer = &bearer{next: layer, tokens: tokens, header: readHeader(o.Credentials.APIKey, o.UserAgent)}
	c.slots = newSlots(layer, o.Concurrency, log)
	return c, nil
}

// readHeader is what every read carries (specification, Authentication 1), but for the token.
func readHeader(key, agent string) http.Header {
	h := make(http.Header)
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json")
	h.Set("Accept-Encoding", "gzip")
	h.Set("User-Agent", agent)
	h.Set("apikey", key)
	return h
}

// check finds what is missing or makes no sense. It quotes no secret.
func (o *Options) check() error {
	u, c := o.BaseURL, o.Credentials
	switch {
	case u == nil || u.Host == "":
		return errors.New("base URL: it needs a scheme and a host, such as https://host")
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("base URL: its scheme is %q; it must be http or https", u.Scheme)
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return errors.New("base URL: it must not hold a user, a query or a fragment")
	case c.APIKey == "":
		return errors.New("credentials: there is no API key")
	case c.APISecret == "" && c.AccessToken == "" && c.AccessTokenFile == "":
		return errors.New("credentials: beside the API key there is neither a secret nor an access token")
	case o.Concurrency < 1 || o.RequestTimeout <= 0 || o.GiveUpAfter <= 0 || o.MaxBody < 1:
		return errors.New("concurrency, times and sizes must be above 0")
	case o.Retries < 0:
		return errors.New("retries must not be negative")
	case o.RatePerSecond < 0 || math.IsNaN(o.RatePerSecond) || math.IsInf(o.RatePerSecond, 0):
		return errors.New("rate: it must be a number of requests per second, or 0 for no limit")
	}
	for _, secret := range []struct{ name, text string }{
		{"the API key", c.APIKey},
		{"the API secret", strings.ReplaceAll(c.APISecret, " ", "")},
		{"the access token", c.AccessToken},
	} {
		if err := headerText(secret.text); err != nil {
			return fmt.Errorf("credentials: %s %w", secret.name, err)
		}
	}
	return nil
}

// Stats are the totals so far.
func (c *Client) Stats() Stats {
	totals := c.stats.snapshot()
	totals.Limit = c.Limit()
	return totals
}

// Limit is Stats.Limit.
func (c *Client) Limit() int64 { return int64(c.slots.limit()) }

// Get asks for one body. accept gets it whole and decompressed, once for every attempt that was answered 200; it must not keep
// body after it returns. If it returns an error marked with [Unreadable], the call is attempted again; any other ends it.
//
// While accept runs no request slot is held, so the bodies in memory are at most as many as there are calls at a time: the
// caller bounds those.
//
// The error is an *[Error], or the cause of ctx. Where [EndsRun] says so, no other call will fare better.
func (c *Client) Get(ctx context.Context, call Call, accept func(body []byte) error) (Tally, error) {
	var tally Tally
	err := c.ask(ctx, &call, &tally, accept)
	if err == nil {
		tally.Pages++
	}
	return tally, err
}

// List asks for every page of a list, one after the other: the first call without next-page, each later one with the same
// parameters and the cursor that accept found in the page before, "" for the last. A failure of any page fails the list, and so
// does a cursor that was there before. For the rest it is as Get.
func (c *Client) List(ctx context.Context, call Call, accept func(body []byte) (next string, err error)) (Tally, error) {
	var tally Tally
	// Hashes, since cursors are of any length and lists may be long.
	seen := make(map[[sha256.Size]byte]struct{})
	cursor := ""
	for {
		page := call
		page.cursor = cursor
		err := c.ask(ctx, &page, &tally, func(body []byte) error {
			next, err := accept(body)
			// The text may be a part of body.
			cursor = strings.Clone(next)
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
		if _, again := seen[sum]; again {
			return tally, call.fail(&failure{err: fmt.Errorf("page %d names a next page that was there before, so the list has no end", tally.Pages)}, 0)
		}
		seen[sum] = struct{}{}
	}
}
