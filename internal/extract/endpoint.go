package extract

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// maxTokenBody is the largest answer of the token endpoint.
const maxTokenBody = 1 << 20

// tokenCall is the call that token requests are logged and reported under.
func tokenCall() *Call {
	return &Call{Operation: "token", Template: "/auth/v1/token", Lookup: true}
}

// endpoint gets tokens for key and secret (specification, Authentication; observed, Token).
type endpoint struct {
	next        sender
	credentials Credentials
	url         *url.URL
	userAgent   string
	retries     int
	retrying    *retrying
	patience    time.Duration // --give-up-after
}

// fetch asks until there is a token, for as long as the retries and --give-up-after allow.
func (e *endpoint) fetch(ctx context.Context) (*oauth2.Token, error) {
	call := tokenCall()
	defer e.retrying.done(call)
	patience := &patience{limit: e.patience}
	for attempt := 1; ; attempt++ {
		token, f := e.ask(ctx, call, attempt, patience)
		if f == nil {
			return token, nil
		}
		// Nothing else will come of a redirect, nor of a certificate that is not trusted.
		hopeless := f.status >= 300 && f.status < 400 || f.status == 0 && !f.again
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.Is(f.err, ErrGaveUp):
			f.err = fmt.Errorf("%w: %w", ErrTokenEndpoint, f.err)
			return nil, call.fail(f, attempt)
		case f.status == http.StatusUnauthorized, f.status == http.StatusForbidden:
			f.err = fmt.Errorf("%w: no token for this key and secret; check both", ErrRefused)
			return nil, call.fail(f, attempt)
		case hopeless, attempt > e.retries:
			f.err = fmt.Errorf("%w: %w", ErrTokenEndpoint, f.err)
			return nil, call.fail(f, attempt)
		}
		e.retrying.failed(ctx, call, attempt, f)
		err := patience.sleep(ctx, f, backoff(attempt-1))
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			f.err = fmt.Errorf("%w: %w", ErrTokenEndpoint, err)
			return nil, call.fail(f, attempt)
		}
	}
}

// ask requests a token once. oauth2 writes the form and reads the token; what it says of a failure quotes the answer, so the
// failure is told from what passed through the trip.
func (e *endpoint) ask(ctx context.Context, call *Call, attempt int, patience *patience) (*oauth2.Token, *failure) {
	ctx, cancel := patience.bound(ctx)
	defer cancel()
	trip := &tokenTrip{endpoint: e, call: call, attempt: attempt, patience: patience}
	config := clientcredentials.Config{
		ClientID: e.credentials.APIKey, ClientSecret: e.credentials.APISecret,
		TokenURL: e.url.String(), AuthStyle: oauth2.AuthStyleInHeader,
	}
	client := &http.Client{
		Transport:     trip,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	token, err := config.Token(context.WithValue(ctx, oauth2.HTTPClient, client))
	switch {
	case trip.failure != nil:
		return nil, trip.failure
	case err != nil || headerText(token.AccessToken) != nil:
		return nil, &failure{status: http.StatusOK, err: errors.New("the answer is not a token; check --base-url")}
	default:
		return token, nil
	}
}

// tokenTrip carries one token request through our layers, as the service wants it.
type tokenTrip struct {
	endpoint *endpoint
	call     *Call
	attempt  int
	patience *patience
	failure  *failure // what went wrong on the way
}

var _ http.RoundTripper = (*tokenTrip)(nil)

// RoundTrip sends everything in headers beside the form. Key and secret go raw into Basic, where oauth2 would escape them.
func (t *tokenTrip) RoundTrip(out *http.Request) (*http.Response, error) {
	form, err := io.ReadAll(out.Body)
	if err != nil {
		return nil, fmt.Errorf("read the token request's form: %w", err)
	}
	c := t.endpoint.credentials
	header := out.Header.Clone()
	header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(c.APIKey+":"+c.APISecret)))
	header.Set("apikey", c.APIKey)
	header.Set("grant_type", "client_credentials")
	header.Set("Accept", "application/json")
	header.Set("User-Agent", t.endpoint.userAgent)
	ans, err := t.endpoint.next.send(out.Context(), &request{
		call: t.call, url: t.endpoint.url, method: http.MethodPost, header: header, body: form,
		maxBody: maxTokenBody, attempt: t.attempt, pass: pass{exempt: true}, patience: t.patience,
	})
	if err != nil {
		t.failure = failureOf(err)
		return nil, err
	}
	defer ans.release()
	if ans.status != http.StatusOK {
		t.failure = judge(ans, t.call)
	}
	return &http.Response{
		StatusCode: ans.status,
		Status:     http.StatusText(ans.status),
		Request:    out,
		// Whatever the service calls it: oauth2 would read text/plain as a form.
		Header: http.Header{"Content-Type": {"application/json"}},
		Body:   io.NopCloser(bytes.NewReader(slices.Clone(ans.body.data))),
	}, nil
}
