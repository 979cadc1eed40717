package simulator

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Client sends requests to a server as a public client would, over real HTTP, without any code of the exporter.
type Client struct {
	T     *testing.T
	HTTP  *http.Client
	Base  string
	Token string
}

// StartClient serves a world on a loopback port until the test ends, and returns a client that has a token.
func StartClient(t *testing.T, world *World, options ServerOptions) (*Server, *Client) {
	t.Helper()
	server := New(world, options)
	base, stop, err := Start(t.Context(), server, "")
	require.NoError(t, err)
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		stop()
	})
	c := &Client{T: t, Base: base, HTTP: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	c.login()
	return server, c
}

func (c *Client) login() {
	c.T.Helper()
	status, body := c.Do(c.tokenRequest())
	require.Equal(c.T, http.StatusOK, status, "%s", body)
	var answer map[string]string
	require.NoError(c.T, json.Unmarshal(body, &answer))
	c.Token = answer["access_token"]
	require.Len(c.T, c.Token, 28)
}

func (c *Client) tokenRequest() *http.Request {
	c.T.Helper()
	r, err := http.NewRequestWithContext(c.T.Context(), http.MethodPost, c.Base+"/auth/v1/token", http.NoBody)
	require.NoError(c.T, err)
	r.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(DefaultKey+":"+DefaultSecret)))
	r.Header.Set("apikey", DefaultKey)
	r.Header.Set("grant_type", "client_credentials")
	return r
}

// Request returns a correct GET request below the base path.
func (c *Client) Request(ctx context.Context, path string) *http.Request {
	c.T.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Base+path, http.NoBody)
	require.NoError(c.T, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("apikey", DefaultKey)
	r.Header.Set("Authorization", "Bearer "+c.Token)
	return r
}

func (c *Client) Do(r *http.Request) (int, []byte) {
	c.T.Helper()
	answer, err := c.HTTP.Do(r)
	require.NoError(c.T, err)
	defer func() { require.NoError(c.T, answer.Body.Close()) }()
	body, err := io.ReadAll(answer.Body)
	require.NoError(c.T, err)
	return answer.StatusCode, body
}

// Get sends a request and requires a 200.
func (c *Client) Get(path string) []byte {
	c.T.Helper()
	status, body := c.Do(c.Request(c.T.Context(), path))
	require.Equal(c.T, http.StatusOK, status, "%s: %s", path, body)
	return body
}

// Pages reads a paged list to its end and returns the bodies.
func (c *Client) Pages(path string, query url.Values) [][]byte {
	c.T.Helper()
	var bodies [][]byte
	for next := ""; ; {
		q := url.Values{}
		maps.Copy(q, query)
		if next != "" {
			q.Set("next-page", next)
		}
		body := c.Get(path + "?" + q.Encode())
		bodies = append(bodies, body)
		var page struct {
			Pagination struct {
				HasNextPage *bool
				NextPage    *string
			}
		}
		require.NoError(c.T, json.Unmarshal(body, &page))
		require.NotNil(c.T, page.Pagination.HasNextPage)
		if !*page.Pagination.HasNextPage {
			return bodies
		}
		require.NotNil(c.T, page.Pagination.NextPage)
		require.NotEqual(c.T, next, *page.Pagination.NextPage)
		next = *page.Pagination.NextPage
	}
}

// List reads a complete list, paged or not, or a single record, in any of the shapes that they may have.
func (c *Client) List(op *Operation, path string, query url.Values) []Node {
	c.T.Helper()
	records := []Node{}
	for next := ""; ; {
		q := maps.Clone(query)
		if next != "" {
			q.Set("next-page", next)
		}
		page := parse(c.T, c.Get(strings.TrimSuffix(path+"?"+q.Encode(), "?")))
		if op.Single != "" {
			require.Equal(c.T, byte('{'), page.Kind)
			if len(page.Names) == 1 && page.Names[0] == op.Single {
				return page.Elements
			}
			return []Node{page}
		}
		if page.Kind == '[' {
			require.NotContains(c.T, []string{"test_results", "academic_years", "school_classes"}, op.Name)
			return append(records, page.Elements...)
		}
		list := page.Member(op.Wrapper)
		for i, name := range page.Names {
			if list == nil && name != "pagination" && page.Elements[i].Kind == '[' {
				list = &page.Elements[i]
			}
		}
		require.NotNil(c.T, list)
		records = append(records, list.Elements...)
		pagination := page.Member("pagination")
		if pagination == nil || pagination.Member("hasNextPage").Text == "false" {
			require.False(c.T, pagination == nil && op.Name == "test_results")
			return records
		}
		require.Equal(c.T, "true", pagination.Member("hasNextPage").Text)
		require.NotEqual(c.T, next, pagination.Member("nextPage").Text)
		next = pagination.Member("nextPage").Text
	}
}

func Decode(t *testing.T, body []byte) any {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(string(body)))
	decoder.UseNumber()
	var v any
	require.NoError(t, decoder.Decode(&v))
	return v
}

// Small returns a world that can be read completely in little time, with several pages at a small page size.
func Small() *World {
	return NewWorld(Options{Seed: 7, SchoolSizes: []int{0, 1, 19, 20, 21, 130}})
}

// StudentInSeat returns the bid of the occupant of a seat, and whether 4.4 shows it.
func (w *World) StudentInSeat(school, seat int) (bid string, shown bool) {
	st := w.student(school, seat)
	return st.bid.String(), st.matched
}

// FindOperation returns the operation of a name.
func FindOperation(list []*Operation, name string) *Operation {
	return list[slices.IndexFunc(list, func(op *Operation) bool { return op.Name == name })]
}
