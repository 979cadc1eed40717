package simulator

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTokenEndpointChecksItsCaller(t *testing.T) {
	t.Parallel()
	_, c := StartClient(t, Small(), ServerOptions{})
	for name, test := range map[string]struct {
		change func(*http.Request)
		want   int
	}{
		"right": {func(*http.Request) {}, 200},
		"form only": {func(r *http.Request) {
			r.Header.Del("grant_type")
			form(r, "grant_type=client_credentials")
		}, 200},
		"header and form": {func(r *http.Request) { form(r, "grant_type=client_credentials") }, 200},
		"no grant type":   {func(r *http.Request) { r.Header.Del("grant_type") }, 400},
		"other grant type": {func(r *http.Request) {
			r.Header.Set("grant_type", "password")
		}, 400},
		"wrong secret":   {func(r *http.Request) { r.SetBasicAuth(DefaultKey, "x") }, 401},
		"wrong key":      {func(r *http.Request) { r.SetBasicAuth("x", DefaultSecret) }, 401},
		"no credentials": {func(r *http.Request) { r.Header.Del("Authorization") }, 401},
		"no apikey":      {func(r *http.Request) { r.Header.Del("Apikey") }, 401},
		"get":            {func(r *http.Request) { r.Method = http.MethodGet }, 405},
		"query":          {func(r *http.Request) { r.URL.RawQuery = "grant_type=client_credentials" }, 400},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := *c
			own.T = t
			r := own.tokenRequest()
			test.change(r)
			status, body := own.Do(r)
			require.Equal(t, test.want, status, "%s", body)
		})
	}
}

func form(r *http.Request, body string) {
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Body = io.NopCloser(strings.NewReader(body))
	r.ContentLength = int64(len(body))
}

func TestTokenAnswerIsAllText(t *testing.T) {
	t.Parallel()
	_, c := StartClient(t, Small(), ServerOptions{})
	_, body := c.Do(c.tokenRequest())
	var answer map[string]any
	require.NoError(t, json.Unmarshal(body, &answer))
	for name, v := range answer {
		require.IsType(t, "", v, name)
	}
	require.Equal(t, "3599", answer["expires_in"])
	require.Equal(t, "BearerToken", answer["token_type"])
	require.NotContains(t, answer, "refresh_token")
}

func TestTokensEndByTime(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	_, c := StartClient(t, Small(), ServerOptions{
		TokenLifetime: time.Minute,
		Now:           func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) },
	})
	ask := func(token string) int {
		r := c.Request(t.Context(), "/organizations/v1/schools")
		r.Header.Set("Authorization", "Bearer "+token)
		status, _ := c.Do(r)
		return status
	}
	first := c.Token
	c.login()
	require.NotEqual(t, first, c.Token)
	require.Equal(t, 200, ask(first), "several tokens are alive")
	require.Equal(t, 200, ask(c.Token))

	ahead.Store(int64(59 * time.Second))
	require.Equal(t, 200, ask(c.Token))
	ahead.Store(int64(61 * time.Second))
	require.Equal(t, 401, ask(c.Token))
}
