package extract_test

import (
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/extract"
)

// nextOf parses the pages in these tests, which consist only of the cursor of the next page.
func nextOf(body io.Reader) (string, error) {
	content, err := io.ReadAll(body)
	return string(content), err
}

func TestListAddsTheCursorToTheParameters(t *testing.T) {
	t.Parallel()
	pages := map[string]string{"": "c/1+ =&", "c/1+ =&": "c2", "c2": ""}
	var requested []string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		requested = append(requested, r.URL.RawQuery)
		_, _ = io.WriteString(w, pages[r.URL.Query().Get("next-page")])
	})
	call := results("s1")
	call.Query = append(call.Query, extract.Param{Name: "include-removed", Value: "true"})
	tally, err := c.List(t.Context(), call, nextOf)
	require.NoError(t, err)
	require.Equal(t, extract.Tally{Requests: 3, Pages: 3}, tally)
	const first = "school-bid=s1&include-removed=true"
	require.Equal(t, []string{first, first + "&next-page=c%2F1%2B%20%3D%26", first + "&next-page=c2"}, requested)
}

func TestListFailsAtARepeatedCursor(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]map[string]string{
		"the same again": {"": "CURSOR", "CURSOR": "CURSOR"},
		"a longer loop":  {"": "a", "a": "CURSOR", "CURSOR": "b", "b": "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := dial(t, fake(func(r *http.Request) (*http.Response, error) {
				return reply(200, next[r.URL.Query().Get("next-page")]), nil
			}))
			tally, err := c.List(t.Context(), results("s1"), nextOf)
			require.ErrorContains(t, err, "test_results of school s1 (/test-results/v1/growth): page ")
			require.ErrorContains(t, err, "repeats an earlier next-page cursor")
			require.NotContains(t, err.Error(), "CURSOR")
			require.False(t, extract.EndsRun(err))
			require.EqualValues(t, len(next), tally.Pages)
		})
	}
}

// TestListRetriesEveryPage counts the retries of each page separately.
func TestListRetriesEveryPage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		failures := map[string]int{"": 2, "b": 2, "c": 2}
		c := dial(t, fake(func(r *http.Request) (*http.Response, error) {
			page := r.URL.Query().Get("next-page")
			if failures[page]--; failures[page] >= 0 {
				return reply(500, ""), nil
			}
			return reply(200, map[string]string{"": "b", "b": "c", "c": ""}[page]), nil
		}), func(o *extract.Options) { o.Retries = 2 })
		tally, err := c.List(t.Context(), results("s1"), nextOf)
		require.NoError(t, err)
		require.Equal(t, extract.Tally{Requests: 9, Retries: 6, Pages: 3}, tally)
	})
}

func TestListFailsWithAnyPage(t *testing.T) {
	t.Parallel()
	c := dial(t, fake(func(r *http.Request) (*http.Response, error) {
		if r.URL.Query().Get("next-page") == "" {
			return reply(200, "CURSOR"), nil
		}
		return reply(400, "CURSOR"), nil
	}))
	tally, err := c.List(t.Context(), results("s1"), nextOf)
	require.Equal(t, 400, asError(t, err).Status)
	require.NotContains(t, err.Error(), "CURSOR")
	require.Equal(t, extract.Tally{Requests: 2, Pages: 1}, tally)

	refusal := errors.New("2 records more than --max-school-records")
	_, err = c.List(t.Context(), results("s1"), func(io.Reader) (string, error) { return "x", refusal })
	require.ErrorIs(t, err, refusal)
	require.Equal(t, 1, asError(t, err).Attempts, "errors not marked unreadable are final")
}
