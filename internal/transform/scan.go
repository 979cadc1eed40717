package transform

import (
	"encoding/binary"
	"math/bits"
)

// Functions that scan return the position after the bytes that they have read, or one of these values.
const (
	failed       = -1 // not JSON, cut off, or not of the form that the function reads
	tooDeep      = -2 // nested deeper than maxDepth
	duplicated   = -3 // the record has a member twice and must be read again
	limitReached = -4 // d.limitErr is the reason
)

// maxDepth is the maximum nesting of a body. Real answers are nested far less deeply.
const maxDepth = 10_000

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// plainEnd returns the position of the first byte at or after pos that is not a plain ASCII character of a JSON text: a
// quote, a backslash, a control character, or a byte of 0x80 or more. If there is none, it returns len(b).
func plainEnd(b []byte, pos int) int {
	for pos+8 <= len(b) {
		if marks := specials(binary.LittleEndian.Uint64(b[pos:])); marks != 0 {
			return pos + bits.TrailingZeros64(marks)>>3
		}
		pos += 8
	}
	for pos < len(b) && b[pos] >= 0x20 && b[pos] < 0x80 && b[pos] != '"' && b[pos] != '\\' {
		pos++
	}
	return pos
}

// specials marks, in the highest bit, the bytes of a word that are not plain. A borrow can mark a byte wrongly, but
// only above a correct mark, so the lowest mark is always correct.
func specials(w uint64) uint64 {
	return ((w - 0x20*ones) | ((w ^ '"'*ones) - ones) | ((w ^ '\\'*ones) - ones) | w) & highs
}

// stringEnd reads a text, from the position after its opening quote, and returns the position after its closing quote.
// Invalid UTF-8 is accepted here and replaced later if the text is kept.
func stringEnd(b []byte, pos int) int {
	for {
		pos = plainEnd(b, pos)
		if pos >= len(b) {
			return failed
		}
		switch c := b[pos]; {
		case c == '"':
			return pos + 1
		case c >= 0x80:
			pos++
		case c == '\\' && pos+1 < len(b):
			switch b[pos+1] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
				pos += 2
			case 'u':
				if pos+6 > len(b) || hex4(b[pos+2:pos+6]) < 0 {
					return failed
				}
				pos += 6
			default:
				return failed
			}
		default:
			return failed
		}
	}
}

// hex4 returns the value of four hexadecimal digits, or -1 if a character is not such a digit.
func hex4(b []byte) rune {
	var r rune
	for _, c := range b[:4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// numberEnd reads a JSON number.
func numberEnd(b []byte, pos int) int {
	if pos < len(b) && b[pos] == '-' {
		pos++
	}
	switch {
	case pos >= len(b):
		return failed
	case b[pos] == '0':
		pos++
	default:
		if pos = digitsEnd(b, pos); pos < 0 {
			return failed
		}
	}
	if pos < len(b) && b[pos] == '.' {
		if pos = digitsEnd(b, pos+1); pos < 0 {
			return failed
		}
	}
	if pos < len(b) && b[pos]|0x20 == 'e' {
		pos++
		if pos < len(b) && (b[pos] == '+' || b[pos] == '-') {
			pos++
		}
		pos = digitsEnd(b, pos)
	}
	return pos
}

// digitsEnd reads one or more digits.
func digitsEnd(b []byte, pos int) int {
	start := pos
	for pos < len(b) && b[pos]-'0' <= 9 {
		pos++
	}
	if pos == start {
		return failed
	}
	return pos
}

// isNumber reports whether a text is exactly a JSON number.
func isNumber(text []byte) bool { return numberEnd(text, 0) == len(text) }

// literalEnd reads the given word.
func literalEnd(b []byte, pos int, word string) int {
	if len(b)-pos < len(word) || string(b[pos:pos+len(word)]) != word {
		return failed
	}
	return pos + len(word)
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// spaceEnd skips white space, if any.
func spaceEnd(b []byte, pos int) int {
	for pos < len(b) && isSpace(b[pos]) {
		pos++
	}
	return pos
}

// nameEnd reads a member's name, from its opening quote, and the colon and white space up to its value.
func nameEnd(b []byte, pos int) int {
	if pos >= len(b) || b[pos] != '"' {
		return failed
	}
	if pos = stringEnd(b, pos+1); pos < 0 {
		return failed
	}
	return colonEnd(b, pos)
}

// colonEnd reads the colon between a name and a value, and the white space around it.
func colonEnd(b []byte, pos int) int {
	if pos = spaceEnd(b, pos); pos >= len(b) || b[pos] != ':' {
		return failed
	}
	return spaceEnd(b, pos+1)
}

// nextEnd reads what follows a value in an object or array: either a comma (more is true) or the closing bracket (more
// is false), and white space.
func nextEnd(b []byte, pos int, closing byte) (end int, more bool) {
	pos = spaceEnd(b, pos)
	switch {
	case pos >= len(b):
		return failed, false
	case b[pos] == ',':
		return spaceEnd(b, pos+1), true
	case b[pos] == closing:
		return pos + 1, false
	}
	return failed, false
}

// firstEnd skips the white space after an opening bracket. more is true if a value follows. Otherwise, firstEnd also
// reads the closing bracket.
func firstEnd(b []byte, pos int, closing byte) (end int, more bool) {
	pos = spaceEnd(b, pos)
	if pos < len(b) && b[pos] == closing {
		return pos + 1, false
	}
	return pos, true
}

// skipper skips values. It reuses its memory.
type skipper struct {
	open []byte // closing brackets still to come
}

// skip skips one value of any kind. The value begins at pos and is nested in depth objects or arrays.
func (s *skipper) skip(b []byte, pos, depth int) int {
	s.open = s.open[:0]
	for {
		more := false
		switch c := at(b, pos); c {
		case '{', '[':
			closing := c + 2 // in ASCII
			if depth+len(s.open) >= maxDepth {
				return tooDeep
			}
			s.open = append(s.open, closing)
			pos, more = firstEnd(b, pos+1, closing)
			if !more {
				s.open = s.open[:len(s.open)-1]
			}
		default:
			pos = scalarEnd(b, pos)
		}
		for ; !more; s.open = s.open[:len(s.open)-1] {
			if pos < 0 || len(s.open) == 0 {
				return pos
			}
			if pos, more = nextEnd(b, pos, s.open[len(s.open)-1]); more {
				break
			}
		}
		if s.open[len(s.open)-1] == '}' {
			if pos = nameEnd(b, pos); pos < 0 {
				return failed
			}
		}
	}
}

// scalarEnd reads a value that is neither an object nor an array.
func scalarEnd(b []byte, pos int) int {
	switch at(b, pos) {
	case '"':
		return stringEnd(b, pos+1)
	case 't':
		return literalEnd(b, pos, "true")
	case 'f':
		return literalEnd(b, pos, "false")
	case 'n':
		return literalEnd(b, pos, "null")
	}
	return numberEnd(b, pos)
}

// at returns the byte at pos. After the end it returns 0, which never occurs in JSON.
func at(b []byte, pos int) byte {
	if pos < len(b) {
		return b[pos]
	}
	return 0
}

// plainText reads an ASCII text without escapes, from its opening quote. It returns failed for any other value.
func plainText(b []byte, pos int) (text []byte, end int) {
	if at(b, pos) != '"' {
		return nil, failed
	}
	end = plainEnd(b, pos+1)
	if at(b, end) != '"' {
		return nil, failed
	}
	return b[pos+1 : end], end + 1
}
