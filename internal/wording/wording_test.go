package wording_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/wording"
)

func TestFigures(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1000: "-1,000", -100: "-100", 1234567: "1,234,567"} {
		require.Equal(t, want, wording.Count(n))
	}
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 999_949: "999.9 kB", 999_950: "1.0 MB", 5e12: "5.0 TB"} {
		require.Equal(t, want, wording.Size(n))
	}
	for d, want := range map[time.Duration]string{
		300 * time.Millisecond: "0.3s", 10 * time.Second: "10s", 90 * time.Second: "1m30s", 10 * time.Minute: "10m",
		time.Hour: "1h", 10*time.Hour + 10*time.Minute: "10h10m", 90*time.Hour + 59*time.Second: "90h1m",
	} {
		require.Equal(t, want, wording.Duration(d))
	}
	for n, want := range map[int]string{0: "0 runs", 1: "1 run", 1000: "1,000 runs"} {
		require.Equal(t, want, wording.Many(n, "run"))
	}
}

func TestShellWord(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"s3://bucket/a_b-c=1": "s3://bucket/a_b-c=1", "": "''", "it's here": `'it'\''s here'`, "$x": "'$x'", "é": "'é'", "a;b": "'a;b'",
	} {
		require.Equal(t, want, wording.ShellWord(text))
	}
}

func TestSchool(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, bid, want string }{
		{"Lincoln Elementary", "17", "Lincoln Elementary (17)"},
		{"", "17", "17"},
		{"", "", "a school without a bid"},
		{"Lincoln Elementary", "", "Lincoln Elementary (no bid)"},
		{"École d'Été \"B\"", "a b", `École d'Été "B" ("a b")`},
		{"בית ספר", "17", "בית ספר (17)"},
		{"a\nb\x1b[31m", "1\n7", `"a\nb\x1b[31m" ("1\n7")`},
		{"abc\u202egpj", "17", `"abc\u202egpj" (17)`},
		{" padded", "17", `" padded" (17)`},
		{strings.Repeat("ü", 61), "17", strings.Repeat("ü", 60-1) + "… (17)"},
	} {
		require.Equal(t, c.want, wording.School(c.name, c.bid))
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		most int
		want string
	}{{"", 3, ""}, {"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"äöü", 3, "äöü"}, {"äöüß", 3, "äö…"}, {"ab\xff\xff", 3, "ab…"}} {
		require.Equal(t, c.want, wording.Cut(c.text, c.most))
	}
}
