package simulator

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// Node is a JSON value, read by a reader that keeps everything that was sent. encoding/json would silently take the
// last of duplicate members, repair lone surrogates and invalid UTF-8, and round numbers.
type Node struct {
	Kind     byte     // {, [, ", t, f, n, or 0 for a number
	Compact  string   // as sent, without insignificant white space, bad bytes and lone surrogates replaced
	Text     string   // of a string, decoded; else as compact
	Invalid  int      // number of replaced parts
	Lone     bool     // a surrogate without its other half
	Names    []string // of members, decoded
	BadNames []int    // number of replaced parts in each name
	Elements []Node   // of an object or array
}

// Member returns the last member of a name, or nil if there is none or it is null.
func (n *Node) Member(name string) *Node {
	for i := len(n.Names) - 1; i >= 0; i-- {
		if n.Names[i] == name {
			if n.Elements[i].Kind == 'n' {
				return nil
			}
			return &n.Elements[i]
		}
	}
	return nil
}

type nodeReader struct {
	t    *testing.T
	rest string
}

func parse(t *testing.T, body []byte) Node {
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

func (r *nodeReader) value() Node {
	r.t.Helper()
	r.space()
	switch r.rest[0] {
	case '{', '[':
		return r.container(r.rest[0])
	case '"':
		return r.string()
	}
	end := strings.IndexAny(r.rest+" ", ",]} \t\r\n")
	n := Node{Kind: r.rest[0], Compact: r.rest[:end], Text: r.rest[:end]}
	r.rest = r.rest[end:]
	switch n.Text {
	case "true", "false", "null":
	default:
		require.True(r.t, IsNumber(n.Text), n.Text)
		n.Kind = 0
	}
	return n
}

func (r *nodeReader) container(opening byte) Node {
	n := Node{Kind: opening}
	compact := []byte{opening}
	closing := opening + 2 // } follows { by two, and ] follows [.
	r.rest = r.rest[1:]
	for r.space(); r.rest[0] != closing; r.space() {
		if len(n.Elements) > 0 {
			r.expect(',')
			compact = append(compact, ',')
		}
		if opening == '{' {
			r.space()
			name := r.string()
			n.Names = append(n.Names, name.Text)
			n.BadNames = append(n.BadNames, name.Invalid)
			compact = append(append(compact, name.Compact...), ':')
			n.Invalid += name.Invalid
			r.space()
			r.expect(':')
		}
		element := r.value()
		n.Elements = append(n.Elements, element)
		compact = append(compact, element.Compact...)
		n.Invalid += element.Invalid
	}
	r.rest = r.rest[1:]
	n.Compact = string(append(compact, closing))
	n.Text = n.Compact
	return n
}

func (r *nodeReader) string() Node {
	r.t.Helper()
	require.Equal(r.t, byte('"'), r.rest[0])
	n := Node{Kind: '"'}
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
					bad, n.Lone = true, true
				} else {
					size *= 2
				}
			}
		} else if c < ' ' {
			r.t.Fatalf("a control character in a string: %q", c)
		}
		if bad {
			n.Invalid++
			compact = append(compact, "\uFFFD"...)
		} else {
			compact = append(compact, r.rest[i:i+size]...)
		}
		text.WriteRune(c)
		i += size
	}
	n.Compact = string(append(compact, '"'))
	n.Text = text.String()
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

var numberForm = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

func IsNumber(s string) bool { return numberForm.MatchString(s) }
