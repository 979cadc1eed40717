package extract_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/extract"
)

func TestURLsOfCalls(t *testing.T) {
	t.Parallel()
	const students = "/organizations/v1/schools/{school_bid}/students"
	for name, tt := range map[string]struct {
		base, template string
		path           map[string]string
		query          []extract.Param
		want           string
	}{
		"plain":               {"", "/organizations/v1/schools", nil, nil, "/organizations/v1/schools"},
		"trailing slash kept": {"", "/organizations/v1/districts/", nil, nil, "/organizations/v1/districts/"},
		"base with slash":     {"/", "/organizations/v1/districts/", nil, nil, "/organizations/v1/districts/"},
		"base with path":      {"/a/b", "/organizations/v1/schools", nil, nil, "/a/b/organizations/v1/schools"},
		"base path and slash": {"/a/b/", "/organizations/v1/schools", nil, nil, "/a/b/organizations/v1/schools"},
		"base with escapes":   {"/a%2Fb%20c/", "/organizations/v1/schools", nil, nil, "/a%2Fb%20c/organizations/v1/schools"},
		"value":               {"", students, map[string]string{"school_bid": "1f-2e"}, nil, "/organizations/v1/schools/1f-2e/students"},
		"value at the end":    {"", "/students/v2/{student_bid}", map[string]string{"student_bid": "s1"}, nil, "/students/v2/s1"},
		"climbing value":      {"", students, map[string]string{"school_bid": "../x"}, nil, "/organizations/v1/schools/..%2Fx/students"},
		"only dots":           {"", students, map[string]string{"school_bid": ".."}, nil, "/organizations/v1/schools/%2E%2E/students"},
		"one dot":             {"", students, map[string]string{"school_bid": "."}, nil, "/organizations/v1/schools/%2E/students"},
		"slash":               {"", students, map[string]string{"school_bid": "a/b"}, nil, "/organizations/v1/schools/a%2Fb/students"},
		"percent":             {"", students, map[string]string{"school_bid": "%"}, nil, "/organizations/v1/schools/%25/students"},
		"escape in a value":   {"", students, map[string]string{"school_bid": "%2F"}, nil, "/organizations/v1/schools/%252F/students"},
		"newline":             {"", students, map[string]string{"school_bid": "a\nb"}, nil, "/organizations/v1/schools/a%0Ab/students"},
		"question and hash":   {"", students, map[string]string{"school_bid": "a?b#c"}, nil, "/organizations/v1/schools/a%3Fb%23c/students"},
		"beyond ASCII":        {"", students, map[string]string{"school_bid": "é\xff"}, nil, "/organizations/v1/schools/%C3%A9%FF/students"},
		"braces in a value":   {"", students, map[string]string{"school_bid": "{x}"}, nil, "/organizations/v1/schools/%7Bx%7D/students"},
		"query in its order": {
			"", "/enrollments/v1/academic-years", nil,
			[]extract.Param{{Name: "school-bid", Value: "z"}, {Name: "perspective-bid", Value: "a"}, {Name: "include-removed", Value: "true"}},
			"/enrollments/v1/academic-years?school-bid=z&perspective-bid=a&include-removed=true",
		},
		"query escaped": {
			"", "/enrollments/v1/academic-years", nil,
			[]extract.Param{{Name: "school-bid", Value: "a&b=c d+e/%\n"}, {Name: "modified-since", Value: "2026-01-02T03:04:05Z"}},
			"/enrollments/v1/academic-years?school-bid=a%26b%3Dc%20d%2Be%2F%25%0A&modified-since=2026-01-02T03%3A04%3A05Z",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got string
			c := connect(t, func(w http.ResponseWriter, r *http.Request) {
				if !strings.HasSuffix(r.URL.Path, tokenPath) {
					got = r.RequestURI
					return
				}
				_, _ = w.Write([]byte(tokenBody("T")))
			}, func(o *extract.Options) {
				u, err := url.Parse(o.BaseURL.String() + tt.base)
				require.NoError(t, err)
				o.BaseURL = u
			})
			call := extract.Call{Operation: "any", Template: tt.template, Path: tt.path, Query: tt.query, School: "s"}
			_, err := c.Get(t.Context(), call, discard)
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
}

func TestInvalidRoutes(t *testing.T) {
	t.Parallel()
	c := dial(t, fake(func(*http.Request) (*http.Response, error) {
		return reply(http.StatusOK, "[]"), nil
	}))
	const students = "/organizations/v1/schools/{school_bid}/students"
	for name, tt := range map[string]struct {
		template string
		path     map[string]string
		want     string
	}{
		"empty value":   {students, map[string]string{"school_bid": ""}, "the value of {school_bid} is empty"},
		"no value":      {students, nil, "a placeholder has no value"},
		"unknown value": {"/a", map[string]string{"secret": "SECRET"}, "there is no placeholder {secret}"},
		"unclosed":      {"/a/{school_bid", nil, "a placeholder has no value"},
		"relative":      {"a", nil, "must begin with a slash"},
		"broken escape": {"/a%zz", nil, "invalid escape"},
		"empty":         {"", nil, "must begin with a slash"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tally, err := c.Get(t.Context(), extract.Call{Operation: "students", Template: tt.template, Path: tt.path, School: "s1"}, discard)
			require.ErrorContains(t, err, tt.want)
			require.ErrorContains(t, err, "students of school s1")
			require.NotContains(t, err.Error(), "SECRET")
			require.Zero(t, tally)
		})
	}
}

// FuzzPathValue checks that the service sees any identifier as one segment.
func FuzzPathValue(f *testing.F) {
	for _, seed := range []string{"a", "..", "../..", "a/b", "%2e%2e", "\x00", "é", ";a=b", "a b", "+", "{school_bid}", "?x#y"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		var got *url.URL
		c := dial(t, fake(func(r *http.Request) (*http.Response, error) {
			got = r.URL
			return reply(http.StatusOK, "[]"), nil
		}))
		_, err := c.Get(t.Context(), extract.Call{Template: "/a/{x}/b", Path: map[string]string{"x": value}}, discard)
		if value == "" {
			require.Error(t, err)
			return
		}
		require.NoError(t, err)
		wire, err := url.ParseRequestURI(got.RequestURI())
		require.NoError(t, err)
		parts := strings.Split(strings.TrimPrefix(wire.EscapedPath(), "/api"), "/")
		require.Len(t, parts, 4)
		require.NotContains(t, []string{".", ".."}, parts[2])
		plain, err := url.PathUnescape(parts[2])
		require.NoError(t, err)
		require.Equal(t, value, plain)
		require.Empty(t, wire.RawQuery)
	})
}
