package transform

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// replacement replaces bytes that are not text: an invalid byte of UTF-8 or a lone surrogate escape.
const replacement = "\uFFFD"

// unescape appends the text between two quotes. It resolves escapes, and replaces and counts each invalid byte of UTF-8
// and each lone surrogate escape. lone reports whether there was a lone surrogate escape.
func unescape(dst, raw []byte) (text []byte, replaced int, lone bool) {
	for i := 0; i < len(raw); {
		c := raw[i]
		switch {
		case c == '\\' && raw[i+1] == 'u':
			r, size, bad := decodeEscape(raw[i:])
			if bad {
				replaced++
				lone = true
			}
			dst = utf8.AppendRune(dst, r)
			i += size
		case c == '\\':
			dst = append(dst, unescapeChar(raw[i+1]))
			i += 2
		case c < utf8.RuneSelf:
			dst = append(dst, c)
			i++
		default:
			_, size := utf8.DecodeRune(raw[i:])
			if size == 1 {
				replaced++
				dst = append(dst, replacement...)
			} else {
				dst = append(dst, raw[i:i+size]...)
			}
			i += size
		}
	}
	return dst, replaced, lone
}

// decodeEscape reads a \u escape, and the next one if both form a surrogate pair. A lone surrogate becomes U+FFFD.
func decodeEscape(raw []byte) (r rune, size int, lone bool) {
	const width = len(`\uXXXX`)
	r = hex4(raw[2:])
	if !utf16.IsSurrogate(r) {
		return r, width, false
	}
	if next := raw[width:]; len(next) >= width && next[0] == '\\' && next[1] == 'u' {
		if both := utf16.DecodeRune(r, hex4(next[2:])); both != utf8.RuneError {
			return both, 2 * width, false
		}
	}
	return utf8.RuneError, width, true
}

// unescapeChar returns the byte for an escape of one letter.
func unescapeChar(c byte) byte {
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

// appendQuoted appends a name as a JSON text in its shortest form.
func appendQuoted(dst, name []byte) []byte {
	dst = append(dst, '"')
	for _, c := range name {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c >= 0x20:
			dst = append(dst, c)
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

// appendCompact appends a JSON value as sent, but without the white space between its parts. It replaces and counts
// each invalid byte of UTF-8 and each lone surrogate escape.
func appendCompact(dst, value []byte) (text []byte, replaced int) {
	for i := 0; i < len(value); {
		switch c := value[i]; {
		case isSpace(c):
			i++
		case c == '"':
			end := stringEnd(value, i+1)
			var n int
			dst, n = appendValid(dst, value[i:end])
			replaced += n
			i = end
		default:
			dst = append(dst, c)
			i++
		}
	}
	return dst, replaced
}

// appendValid appends a JSON text, with its quotes and escapes as sent. It replaces and counts each invalid byte of
// UTF-8 and each lone surrogate escape.
func appendValid(dst, quoted []byte) (out []byte, replaced int) {
	if bytes.IndexByte(quoted, '\\') < 0 && utf8.Valid(quoted) {
		return append(dst, quoted...), 0
	}
	for len(quoted) > 0 {
		size, bad := 1, false
		switch c := quoted[0]; {
		case c == '\\' && quoted[1] == 'u':
			_, size, bad = decodeEscape(quoted)
		case c == '\\':
			size = 2
		case c >= utf8.RuneSelf:
			_, size = utf8.DecodeRune(quoted)
			bad = size == 1
		}
		if bad {
			replaced++
			dst = append(dst, replacement...)
		} else {
			dst = append(dst, quoted[:size]...)
		}
		quoted = quoted[size:]
	}
	return dst, replaced
}
