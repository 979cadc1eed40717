package simulator

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// client asks a started server as a public client would, over real HTTP, without any code of the exporter.
type client struct {
	t     *testing.T
	http  *http.Client
	base  string
	token string
}

// start serves a world on a loopback port for the length of the test and returns a client that has a token.
func start(t *testing.T, world *World, options ServerOptions) (*Server, *client) {
	t.Helper()
	server := New(world, options)
	base, stop, err := Start(t.Context(), server, "")
	require.NoError(t, err)
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		stop()
	})
	c := &client{t: t, base: base, http: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	c.login()
	return server, c
}

func (c *client) login() {
	c.t.Helper()
	status, body := c.do(c.tokenRequest())
	require.Equal(c.t, http.StatusOK, status, "%s", body)
	var answer map[string]string
	require.NoError(c.t, json.Unmarshal(body, &answer))
	c.token = answer["access_token"]
	require.Len(c.t, c.token, 28)
}

func (c *client) tokenRequest() *http.Request {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.base+"/auth/v1/token", http.NoBody)
	require.NoError(c.t, err)
	r.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(DefaultKey+":"+DefaultSecret)))
	r.Header.Set("apikey", DefaultKey)
	r.Header.Set("grant_type", "client_credentials")
	return r
}

// request is a correct GET below the base path.
func (c *client) request(ctx context.Context, path string) *http.Request {
	c.t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, http.NoBody)
	require.NoError(c.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("apikey", DefaultKey)
	r.Header.Set("Authorization", "Bearer "+c.token)
	return r
}

func (c *client) do(r *http.Request) (int, []byte) {
	c.t.Helper()
	answer, err := c.http.Do(r)
	require.NoError(c.t, err)
	defer func() { require.NoError(c.t, answer.Body.Close()) }()
	body, err := io.ReadAll(answer.Body)
	require.NoError(c.t, err)
	return answer.StatusCode, body
}

// get asks and insists on 200.
func (c *client) get(path string) []byte {
	c.t.Helper()
	status, body := c.do(c.request(c.t.Context(), path))
	require.Equal(c.t, http.StatusOK, status, "%s: %s", path, body)
	return body
}

// pages walks a paged list to its end and returns the bodies.
func (c *client) pages(path string, query url.Values) [][]byte {
	c.t.Helper()
	var bodies [][]byte
	for next := ""; ; {
		q := url.Values{}
		maps.Copy(q, query)
		if next != "" {
			q.Set("next-page", next)
		}
		body := c.get(path + "?" + q.Encode())
		bodies = append(bodies, body)
		var page struct {
			Pagination struct {
				HasNextPage *bool
				NextPage    *string
			}
		}
		require.NoError(c.t, json.Unmarshal(body, &page))
		require.NotNil(c.t, page.Pagination.HasNextPage)
		if !*page.Pagination.HasNextPage {
			return bodies
		}
		require.NotNil(c.t, page.Pagination.NextPage)
		require.NotEqual(c.t, next, *page.Pagination.NextPage)
		next = *page.Pagination.NextPage
	}
}

// list reads a whole list, paged or not, or a single read, in any of the shapes in which they may come.
func (c *client) list(op *operation, path string, query url.Values) []node {
	c.t.Helper()
	records := []node{}
	for next := ""; ; {
		q := maps.Clone(query)
		if next != "" {
			q.Set("next-page", next)
		}
		page := parse(c.t, c.get(strings.TrimSuffix(path+"?"+q.Encode(), "?")))
		if op.single != "" {
			require.Equal(c.t, byte('{'), page.kind)
			if len(page.names) == 1 && page.names[0] == op.single {
				return page.elements
			}
			return []node{page}
		}
		if page.kind == '[' {
			require.NotContains(c.t, []string{"test_results", "academic_years", "school_classes"}, op.name)
			return append(records, page.elements...)
		}
		list := page.member(op.wrapper)
		for i, name := range page.names {
			if list == nil && name != "pagination" && page.elements[i].kind == '[' {
				list = &page.elements[i]
			}
		}
		require.NotNil(c.t, list)
		records = append(records, list.elements...)
		pagination := page.member("pagination")
		if pagination == nil || pagination.member("hasNextPage").text == "false" {
			require.False(c.t, pagination == nil && op.name == "test_results")
			return records
		}
		require.Equal(c.t, "true", pagination.member("hasNextPage").text)
		require.NotEqual(c.t, next, pagination.member("nextPage").text)
		next = pagination.member("nextPage").text
	}
}

func decode(t *testing.T, body []byte) any {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(string(body)))
	decoder.UseNumber()
	var v any
	require.NoError(t, decoder.Decode(&v))
	return v
}

// small is a world that is quick to read whole, with several pages at a small page size.
func small() *World {
	return NewWorld(Options{Seed: 7, SchoolSizes: []int{0, 1, 19, 20, 21, 130}})
}
