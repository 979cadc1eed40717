package simulator

import (
	"fmt"
	"strconv"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// renderer appends records to a page as JSON. A style number selects the order of members, the spacing and the escapes.
// None of these is significant: clients have received members in any order.
type renderer struct {
	dst    []byte
	spaced bool // add a space after each comma and colon
	ascii  bool // escape everything beyond ASCII, and /
	// canonical is true if odd values are written as an export keeps them, not as they were sent.
	canonical bool
}

// element appends an element in a style. If ordered is true, the members of the element are already in order, and it
// need not be an object.
func (r *renderer) element(v *Value, style uint64, ordered bool) {
	r.spaced = style&15 == 0
	r.ascii = style>>4&3 == 0
	if ordered {
		r.value(v)
	} else {
		r.shuffled(v.Sub, style>>8)
	}
}

// shuffled appends an object. The style determines the first member and the length of the steps to the next members,
// which reach every member once.
func (r *renderer) shuffled(members []Member, style uint64) {
	n := len(members)
	if n == 0 {
		r.dst = append(r.dst, "{}"...)
		return
	}
	at, step := int(style%uint64(n)), 1+int(style>>16%uint64(n))
	for gcd(step, n) != 1 {
		step++
	}
	r.dst = append(r.dst, '{')
	for i := range n {
		if i > 0 {
			r.comma()
		}
		r.named(&members[at%n])
		at += step
	}
	r.dst = append(r.dst, '}')
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func (r *renderer) comma() {
	r.dst = append(r.dst, ',')
	if r.spaced {
		r.dst = append(r.dst, ' ')
	}
}

func (r *renderer) named(m *Member) {
	if m.Literal != nil {
		r.oddName(m)
	} else {
		r.dst = append(r.dst, '"')
		r.dst = append(r.dst, m.Name...)
		r.dst = append(r.dst, '"')
	}
	r.dst = append(r.dst, ':')
	if r.spaced {
		r.dst = append(r.dst, ' ')
	}
	r.value(&m.Value)
}

func (r *renderer) value(v *Value) {
	switch v.Kind {
	case Text:
		r.dst = AppendString(r.dst, v.S, r.ascii)
	case ID:
		r.dst = append(r.dst, '"')
		r.dst = Bid{High: uint64(v.N), Low: v.M}.appendText(r.dst)
		r.dst = append(r.dst, '"')
	case Integer:
		r.dst = strconv.AppendInt(r.dst, v.N, 10)
	case Decimal:
		r.dst = strconv.AppendFloat(r.dst, float64(v.N)/100, 'f', -1, 64)
	case Boolean:
		r.dst = strconv.AppendBool(r.dst, v.N != 0)
	case Date:
		r.dst = Day(v.N).Time().AppendFormat(r.dst, `"2006-01-02"`)
	case Timestamp:
		r.dst = time.UnixMilli(v.N).UTC().AppendFormat(r.dst, layouts[v.M])
	case Object, Array:
		r.container(v)
	case Absent, Null:
		r.dst = append(r.dst, "null"...)
	case Raw:
		if r.canonical && v.Literal.Kept != "" {
			r.dst = append(r.dst, v.Literal.Kept...)
		} else {
			r.dst = append(r.dst, v.Literal.Sent...)
		}
	}
}

// oddName appends the name of an odd member.
func (r *renderer) oddName(m *Member) {
	if m.Literal.Name != "" && !r.canonical {
		r.dst = append(r.dst, m.Literal.Name...)
		return
	}
	r.dst = AppendString(r.dst, m.Name, false)
}

func (r *renderer) container(v *Value) {
	ascii := r.ascii
	r.ascii = ascii && v.M == 0
	opening, closing := byte('['), byte(']')
	if v.Kind == Object {
		opening, closing = '{', '}'
	}
	r.dst = append(r.dst, opening)
	for i := range v.Sub {
		if i > 0 {
			r.comma()
		}
		if v.Kind == Object {
			r.named(&v.Sub[i])
		} else {
			r.value(&v.Sub[i].Value)
		}
	}
	r.dst = append(r.dst, closing)
	r.ascii = ascii
}

// AppendString appends a JSON string. If ascii is true, it escapes slashes and every rune beyond ASCII, and writes
// runes beyond the BMP as surrogate pairs.
func AppendString(dst []byte, s string, ascii bool) []byte {
	dst = append(dst, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', byte(c))
		case c == '/' && ascii:
			dst = append(dst, '\\', '/')
		case c < ' ':
			dst = AppendEscape(dst, c)
		case c < utf8.RuneSelf:
			dst = append(dst, byte(c))
		case !ascii:
			dst = utf8.AppendRune(dst, c)
		case c > 0xffff:
			first, second := utf16.EncodeRune(c)
			dst = AppendEscape(AppendEscape(dst, first), second)
		default:
			dst = AppendEscape(dst, c)
		}
	}
	return append(dst, '"')
}

// AppendEscape appends a UTF-16 code unit as a \u escape.
func AppendEscape(dst []byte, c rune) []byte {
	return fmt.Appendf(dst, `\u%04x`, c)
}

// JSON returns the value as _extra holds it: without white space, and with its members in their original order.
func (v *Value) JSON() string {
	r := renderer{canonical: true}
	r.value(v)
	return string(r.dst)
}
