package extract

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"time"
)

// maxTokenBody bounds the response of the token endpoint.
const maxTokenBody = 1 << 20

// tokenEndpoint gets tokens for key and secret (specification, Authentication; observed, Token).
type tokenEndpoint struct {
	next        roundTripper
	credentials Credentials
	url         *url.URL
	userAgent   string
	retries     int
	retrying    *retryList
	giveUpAfter time.Duration
}

// tokenCall returns the call under which token requests are logged and reported.
func tokenCall() *Call {
	return &Call{Operation: "token", Template: "/auth/v1/token", Lookup: true}
}

// fetch requests a token until it gets one, within the retries and --give-up-after.
func (e *tokenEndpoint) fetch(ctx context.Context) (*token, error) {
	call := tokenCall()
	defer e.retrying.done(call)
	budget := &budget{limit: e.giveUpAfter}
	for attempt := 1; ; attempt++ {
		t, f := e.request(ctx, call, attempt, budget)
		if f == nil {
			return t, nil
		}
		// A redirect or an untrusted certificate will not go away.
		final := f.status >= 300 && f.status < 400 || f.status == 0 && !f.retry
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case f.status == http.StatusUnauthorized, f.status == http.StatusForbidden:
			f.err = fmt.Errorf("%w: no access token for this API key and secret; check both", ErrRefused)
			return nil, call.fail(f, attempt)
		case !final && attempt <= e.retries:
			e.retrying.failed(ctx, call, attempt, f)
			err := budget.sleep(ctx, f, retryDelay(attempt-1))
			switch {
			case err == nil:
				continue
			case ctx.Err() != nil:
				return nil, context.Cause(ctx)
			}
			f.err = err
		}
		f.err = fmt.Errorf("%w: %w", ErrTokenEndpoint, f.err)
		return nil, call.fail(f, attempt)
	}
}

// request requests a token once. The service expects everything in headers beside the form, and key and secret unescaped
// in Basic.
func (e *tokenEndpoint) request(ctx context.Context, call *Call, attempt int, budget *budget) (*token, *failure) {
	ctx, cancel := budget.bound(ctx)
	defer cancel()
	h := make(http.Header)
	(&http.Request{Header: h}).SetBasicAuth(e.credentials.APIKey, e.credentials.APISecret)
	h.Set("apikey", e.credentials.APIKey)
	h.Set("grant_type", "client_credentials")
	h.Set("Content-Type", "application/x-www-form-urlencoded")
	h.Set("Accept", "application/json")
	h.Set("User-Agent", e.userAgent)
	res, err := e.next.roundTrip(ctx, &request{
		call: call, url: e.url, method: http.MethodPost, header: h, body: []byte("grant_type=client_credentials"),
		maxBody: maxTokenBody, attempt: attempt, permit: permit{exempt: true}, budget: budget,
	})
	if err != nil {
		return nil, failureOf(err)
	}
	defer res.release()
	if res.status != http.StatusOK {
		return nil, statusFailure(res.status, res.body.Bytes(), call)
	}
	t, err := parseToken(res.body.Bytes())
	if err != nil {
		return nil, &failure{status: res.status, err: err}
	}
	return t, nil
}

// parseToken reads the response of the token endpoint. Its token_type is ignored: the service sends "BearerToken" but
// expects "Bearer" (observed, Token). expires_in is a number of seconds, or text.
func parseToken(body []byte) (*token, error) {
	var t struct {
		AccessToken string      `json:"access_token"`
		ExpiresIn   json.Number `json:"expires_in"`
		Error       string      `json:"error"`
	}
	err := json.Unmarshal(body, &t)
	if err != nil || t.AccessToken == "" || t.Error != "" || checkHeaderText(t.AccessToken) != nil {
		return nil, errors.New("the response is not a token; check --base-url") // err may quote it
	}
	seconds, _ := t.ExpiresIn.Int64()
	return newToken(t.AccessToken, time.Duration(min(seconds, math.MaxInt32))*time.Second), nil
}
