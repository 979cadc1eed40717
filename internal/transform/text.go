package transform

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// unescape appends the text that stands between two quotes: escapes resolved,
// each invalid byte of UTF-8 replaced by one U+FFFD and counted. A lone
// surrogate escape has no text: it is told by lone, and appended as the three
// bytes that UTF-8 would give it if it could, which keeps different names
// apart.
func unescape(dst, raw []byte) (text []byte, invalid int, lone bool) {
	for i := 0; i < len(raw); {
		c := raw[i]
		switch {
		case c == '\\' && raw[i+1] == 'u':
			r := hex4(raw[i+2:])
			i += 6
			if !utf16.IsSurrogate(r) {
				dst = utf8.AppendRune(dst, r)
				continue
			}
			if i+6 <= len(raw) && raw[i] == '\\' && raw[i+1] == 'u' {
				if both := utf16.DecodeRune(r, hex4(raw[i+2:])); both != utf8.RuneError {
					dst = utf8.AppendRune(dst, both)
					i += 6
					continue
				}
			}
			lone = true
			dst = append(dst, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0x3F, 0x80|byte(r)&0x3F)
		case c == '\\':
			dst = append(dst, unescaped(raw[i+1]))
			i += 2
		case c < utf8.RuneSelf:
			dst = append(dst, c)
			i++
		default:
			_, size := utf8.DecodeRune(raw[i:])
			if size == 1 {
				invalid++
				dst = append(dst, "\uFFFD"...)
			} else {
				dst = append(dst, raw[i:i+size]...)
			}
			i += size
		}
	}
	return dst, invalid, lone
}

// unescaped returns what the escape of one letter stands for.
func unescaped(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c // a quote, a backslash or a slash
}

// appendQuoted appends a name as a JSON text in its shortest form. Lone
// surrogates, as unescape leaves them, are escapes again.
func appendQuoted(dst, name []byte) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c >= 0x20 && c != 0xED:
			dst = append(dst, c)
		case c == 0xED && name[i+1] < 0xA0: // an ordinary rune below U+D800
			dst = append(dst, c)
		case c == 0xED:
			r := rune(0xD000) | rune(name[i+1]&0x3F)<<6 | rune(name[i+2]&0x3F)
			dst = append(dst, '\\', 'u', 'd', hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
			i += 2
		case c == '\b':
			dst = append(dst, '\\', 'b')
		case c == '\f':
			dst = append(dst, '\\', 'f')
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c == '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(dst, '"')
}

// appendCompact appends a JSON value as sent but for the white space between
// its parts, and with each invalid byte of UTF-8 replaced by one U+FFFD and
// counted.
func appendCompact(dst, value []byte) (text []byte, invalid int) {
	for i := 0; i < len(value); {
		switch c := value[i]; {
		case isSpace(c):
			i++
		case c == '"':
			end := stringEnd(value, i+1)
			var n int
			dst, n = appendValid(dst, value[i:end])
			invalid += n
			i = end
		default:
			dst = append(dst, c)
			i++
		}
	}
	return dst, invalid
}

// appendValid appends text with each invalid byte of UTF-8 replaced by one
// U+FFFD and counted.
func appendValid(dst, text []byte) (out []byte, invalid int) {
	if utf8.Valid(text) {
		return append(dst, text...), 0
	}
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r == utf8.RuneError && size == 1 {
			invalid++
			dst = append(dst, "\uFFFD"...)
		} else {
			dst = append(dst, text[:size]...)
		}
		text = text[size:]
	}
	return dst, invalid
}

// What printable keeps of a name.
const (
	maxPrintable = 200 // bytes
	manyDigits   = 9   // in what is taken for an identifier: more than a date has
)

// printable returns a name for a report: lone surrogates, which no text can
// hold, become U+FFFD. A service that names members by what they are of, such as
// students, would have these told, and each once: what looks like an identifier,
// hexadecimal digits and hyphens with nine digits or more among them, is a #.
// Long names are cut. In _extra all are whole.
func printable(name []byte) []byte {
	name = bytes.ToValidUTF8(name, []byte("\uFFFD"))
	if digits(name) < manyDigits && len(name) <= maxPrintable {
		return name // nearly always
	}
	told := make([]byte, 0, len(name))
	for len(name) > 0 {
		n := 0
		for n < len(name) && isPartOfIdentifier(name[n]) {
			n++
		}
		if digits(name[:n]) >= manyDigits {
			told = append(told, '#')
		} else {
			n = max(n, 1)
			told = append(told, name[:n]...)
		}
		name = name[n:]
	}
	if len(told) <= maxPrintable {
		return told
	}
	cut := maxPrintable
	for !utf8.RuneStart(told[cut]) {
		cut--
	}
	return append(told[:cut], "…"...)
}

func isPartOfIdentifier(b byte) bool {
	return '0' <= b && b <= '9' || 'a' <= b && b <= 'f' || 'A' <= b && b <= 'F' || b == '-'
}

func digits(text []byte) int {
	n := 0
	for _, b := range text {
		if '0' <= b && b <= '9' {
			n++
		}
	}
	return n
}
