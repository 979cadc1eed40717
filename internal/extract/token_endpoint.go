package extract

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// maxTokenBody is the maximum size in bytes of a response of the token endpoint.
const maxTokenBody = 1 << 20

// tokenEndpoint gets tokens for the API key and secret (specification, Authentication; observed, Token).
type tokenEndpoint struct {
	next        roundTripper
	credentials Credentials
	url         *url.URL
	userAgent   string
	retries     int
	retrying    *retryList
	giveUpAfter time.Duration
	hideCodes   bool
	succeeded   atomic.Bool // reports whether a token was received
}

// firstTokenPatience is how long the client keeps requesting the first token from an address that may be wrong.
const firstTokenPatience = 10 * time.Second

// wrongAddress reports whether the address of the service or the proxy may be wrong, because the host does not exist,
// refuses connections, or does not have the path.
func (f *failure) wrongAddress() bool {
	cause := f.cause()
	return f.status == http.StatusNotFound || cause == hostNotFound || cause == connectionRefused || cause == proxyUnreachable
}

// tokenCall returns the Call that represents token requests in logs and errors.
func tokenCall() *Call {
	return &Call{Operation: "token", Template: "/auth/v1/token", Lookup: true}
}

// fetch requests a token until it gets one, within the retries and GiveUpAfter. In an outage, attempts do not count
// against the retries.
func (e *tokenEndpoint) fetch(ctx context.Context) (*token, error) {
	call := tokenCall()
	defer e.retrying.done(call)
	fail := func(f *failure, attempts int) error {
		err := call.fail(f, attempts)
		err.Host = e.url.Host
		return err
	}
	budget, began := &budget{limit: e.giveUpAfter}, time.Now()
	for attempt := 1; ; attempt++ {
		t, f := e.request(ctx, call, attempt, budget)
		if f == nil {
			e.succeeded.Store(true)
			return t, nil
		}
		// Trying again does not help against a redirect, an untrusted certificate or a wrong proxy password.
		final := f.status >= 300 && f.status < 400 || f.status == http.StatusProxyAuthRequired || f.status == 0 && !f.retry
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case f.status == http.StatusUnauthorized, f.status == http.StatusForbidden:
			f.err = fmt.Errorf("%w: no access token for this API key and secret; check both, and %s", ErrRefused, baseURL)
			return nil, fail(f, attempt)
		case !e.succeeded.Load() && f.wrongAddress() && time.Since(began) >= firstTokenPatience:
			f.err = fmt.Errorf("%w; growth-export doctor checks the settings", f.err)
		case !final && (attempt <= e.retries || f.showsOutage(attempt)):
			e.retrying.failed(ctx, call, attempt, f, false)
			delay := retryDelay(attempt - 1)
			if left := firstTokenPatience - time.Since(began); !e.succeeded.Load() && f.wrongAddress() {
				delay = min(delay, left)
			}
			err := budget.sleep(ctx, f, delay)
			switch {
			case err == nil:
				continue
			case ctx.Err() != nil:
				return nil, context.Cause(ctx)
			}
			f.err = err
		}
		f.err = fmt.Errorf("%w: %w", ErrTokenEndpoint, f.err)
		return nil, fail(f, attempt)
	}
}

// request requests a token once. Package oauth2 writes the form and reads the token. Because the errors of oauth2 quote
// the response, request takes the failure from its transport instead.
func (e *tokenEndpoint) request(ctx context.Context, call *Call, attempt int, budget *budget) (*token, *failure) {
	ctx, cancel := budget.bound(ctx)
	defer cancel()
	transport := &tokenTransport{endpoint: e, request: &request{
		call: call, url: e.url, method: http.MethodPost, maxBody: maxTokenBody, attempt: attempt,
		permit: permit{exempt: true}, budget: budget,
	}}
	config := clientcredentials.Config{
		ClientID: e.credentials.APIKey, ClientSecret: e.credentials.APISecret,
		TokenURL: e.url.String(), AuthStyle: oauth2.AuthStyleInHeader,
	}
	client := &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	t, err := config.Token(context.WithValue(ctx, oauth2.HTTPClient, client))
	switch {
	case transport.failure != nil:
		return nil, transport.failure
	case (err != nil || checkHeaderText(t.AccessToken) != nil) && transport.isPage:
		return nil, &failure{status: http.StatusOK, isPage: true, err: errors.New("the response is not a token" + notThisService + checkBaseURL)}
	case err != nil || checkHeaderText(t.AccessToken) != nil:
		return nil, &failure{status: http.StatusOK, err: errors.New("the response is not a token; " + checkBaseURL)}
	}
	return newToken(t), nil
}

// tokenTransport sends one token request of oauth2 through the layers of the client, in the form that the service
// expects.
type tokenTransport struct {
	endpoint *tokenEndpoint
	request  *request
	failure  *failure
	isPage   bool // the response is a web page
}

var _ http.RoundTripper = (*tokenTransport)(nil)

// RoundTrip sends the form of oauth2, and adds the headers that the service expects. Unlike oauth2, it does not escape
// the key and the secret in the Basic header.
func (t *tokenTransport) RoundTrip(out *http.Request) (*http.Response, error) {
	form, err := io.ReadAll(out.Body)
	if err != nil {
		return nil, fmt.Errorf("read the form of the token request: %w", err)
	}
	c := t.endpoint.credentials
	header := out.Header.Clone()
	(&http.Request{Header: header}).SetBasicAuth(c.APIKey, c.APISecret)
	header.Set("apikey", c.APIKey)
	header.Set("grant_type", "client_credentials")
	header.Set("Accept", "application/json")
	header.Set("User-Agent", t.endpoint.userAgent)
	header.Set("Cache-Control", "no-cache")
	t.request.header, t.request.body = header, form
	res, err := t.endpoint.next.roundTrip(out.Context(), t.request)
	if err != nil {
		t.failure = failureOf(err)
		return nil, err
	}
	if res.status != http.StatusOK {
		t.failure = statusFailure(res.status, res.body, t.request, t.endpoint.hideCodes)
	}
	t.isPage = isWebPage(res.header) || bytes.HasPrefix(bytes.TrimSpace(res.body), []byte("<"))
	return &http.Response{
		StatusCode: res.status,
		Status:     http.StatusText(res.status),
		Request:    out,
		// Replace the content type that the service declares, because oauth2 would read text/plain as a form.
		Header: http.Header{"Content-Type": {"application/json"}},
		Body:   io.NopCloser(bytes.NewReader(readableToken(res.body))),
	}, nil
}

// readableToken returns a response without the members that could make oauth2 reject a usable token. These are the
// type, which is ignored, and a lifetime that is not a number of seconds. A token with an unknown lifetime is used
// until it is rejected.
func readableToken(body []byte) []byte {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return body
	}
	var lifetime json.Number // the number may be in quotes
	_ = json.Unmarshal(members["expires_in"], &lifetime)
	delete(members, "token_type")
	delete(members, "expires_in")
	if seconds, err := lifetime.Float64(); err == nil && seconds > 0 && seconds <= math.MaxInt32 {
		members["expires_in"] = strconv.AppendInt(nil, int64(seconds), 10)
	}
	readable, err := json.Marshal(members)
	if err != nil {
		return body
	}
	return readable
}
