package simulator

import (
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// node is a JSON value as a test reads it: by a reader of its own, which forgets nothing of what was sent. encoding/json would
// take the last of doubled members, mend lone surrogates and bad UTF-8, and round numbers, all without a word.
type node struct {
	kind     byte     // {, [, ", t, f, n, or 0 for a number
	compact  string   // as sent, without insignificant white space, bad bytes and lone surrogates replaced
	text     string   // of a string, decoded; else as compact
	invalid  int      // what was replaced
	lone     bool     // a surrogate without its other half
	names    []string // of members, decoded
	badNames []int    // what was replaced in each
	elements []node   // of an object or array
}

// member is the last member of a name; nil if there is none, or it is null.
func (n *node) member(name string) *node {
	for i := len(n.names) - 1; i >= 0; i-- {
		if n.names[i] == name {
			if n.elements[i].kind == 'n' {
				return nil
			}
			return &n.elements[i]
		}
	}
	return nil
}

type nodeReader struct {
	t    *testing.T
	rest string
}

func parse(t *testing.T, body []byte) node {
	t.Helper()
	r := nodeReader{t, string(body)}
	n := r.value()
	r.space()
	require.Empty(t, r.rest)
	return n
}

func (r *nodeReader) expect(c byte) {
	r.t.Helper()
	if r.rest[0] != c {
		r.t.Fatalf("%q where %q is expected", r.rest[0], c)
	}
	r.rest = r.rest[1:]
}

func (r *nodeReader) space() { r.rest = strings.TrimLeft(r.rest, " \t\r\n") }

func (r *nodeReader) value() node {
	r.t.Helper()
	r.space()
	switch r.rest[0] {
	case '{', '[':
		return r.container(r.rest[0])
	case '"':
		return r.string()
	}
	end := strings.IndexAny(r.rest+" ", ",]} \t\r\n")
	n := node{kind: r.rest[0], compact: r.rest[:end], text: r.rest[:end]}
	r.rest = r.rest[end:]
	switch n.text {
	case "true", "false", "null":
	default:
		require.True(r.t, isNumber(n.text), n.text)
		n.kind = 0
	}
	return n
}

func (r *nodeReader) container(opening byte) node {
	n := node{kind: opening}
	compact := []byte{opening}
	closing := opening + 2 // } follows { by two, and ] follows [.
	r.rest = r.rest[1:]
	for r.space(); r.rest[0] != closing; r.space() {
		if len(n.elements) > 0 {
			r.expect(',')
			compact = append(compact, ',')
		}
		if opening == '{' {
			r.space()
			name := r.string()
			n.names = append(n.names, name.text)
			n.badNames = append(n.badNames, name.invalid)
			compact = append(append(compact, name.compact...), ':')
			n.invalid += name.invalid
			r.space()
			r.expect(':')
		}
		element := r.value()
		n.elements = append(n.elements, element)
		compact = append(compact, element.compact...)
		n.invalid += element.invalid
	}
	r.rest = r.rest[1:]
	n.compact = string(append(compact, closing))
	n.text = n.compact
	return n
}

func (r *nodeReader) string() node {
	r.t.Helper()
	require.Equal(r.t, byte('"'), r.rest[0])
	n := node{kind: '"'}
	compact := []byte{'"'}
	var text strings.Builder
	i := 1
	for r.rest[i] != '"' {
		c, size := utf8.DecodeRuneInString(r.rest[i:])
		bad := c == utf8.RuneError && size == 1
		if c == '\\' {
			c, size = r.escape(r.rest[i:])
			if utf16.IsSurrogate(c) {
				second := rune(0)
				if r.rest[i+size:][0] == '\\' {
					second, _ = r.escape(r.rest[i+size:])
				}
				if c = utf16.DecodeRune(c, second); c == utf8.RuneError {
					bad, n.lone = true, true
				} else {
					size *= 2
				}
			}
		} else if c < ' ' {
			r.t.Fatalf("a control character in a string: %q", c)
		}
		if bad {
			n.invalid++
			compact = append(compact, "\uFFFD"...)
		} else {
			compact = append(compact, r.rest[i:i+size]...)
		}
		text.WriteRune(c)
		i += size
	}
	n.compact = string(append(compact, '"'))
	n.text = text.String()
	r.rest = r.rest[i+1:]
	return n
}

func (r *nodeReader) escape(s string) (c rune, size int) {
	if s[1] == 'u' {
		x, err := strconv.ParseUint(s[2:6], 16, 32)
		require.NoError(r.t, err)
		return rune(x), 6
	}
	at := strings.IndexByte(`"\/bfnrt`, s[1])
	require.GreaterOrEqual(r.t, at, 0, "escape %q", s[:2])
	return rune("\"\\/\b\f\n\r\t"[at]), 2
}
