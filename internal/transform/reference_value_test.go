package transform_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/schemas"
)

var (
	refCodeName   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,39}$`)
	refFiveDigits = regexp.MustCompile(`([0-9].*){5}`)
)

// refName returns a member's name as drift reports it.
func refName(m refMember) string {
	if name := string(m.name); refCodeName.MatchString(name) && !refFiveDigits.MatchString(name) {
		return name
	}
	return "#"
}

// refBare reads an element that is text instead of an object.
func refBare(tb testing.TB, t *schemas.Table, element json.RawMessage) (cell string, replaced int, fits bool) {
	tb.Helper()
	if t.Bare == "" || element[0] != '"' {
		return "", 0, false
	}
	return refFit(tb, schemas.String, element)
}

// refObject writes leftovers as an object.
func refObject(left []refMember) string {
	slices.SortFunc(left, func(a, b refMember) int { return bytes.Compare(a.name, b.name) })
	var members []string
	for _, m := range left {
		var name strings.Builder
		for _, r := range string(m.name) {
			switch {
			case r == '"' || r == '\\':
				name.WriteString(`\` + string(r))
			case r < ' ':
				short := map[rune]string{'\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`}[r]
				if short == "" {
					short = fmt.Sprintf(`\u%04x`, r)
				}
				name.WriteString(short)
			default:
				name.WriteRune(r)
			}
		}
		members = append(members, `"`+name.String()+`":`+string(m.value))
	}
	return "{" + strings.Join(members, ",") + "}"
}

// refText reads a quoted text. It counts the parts replaced because they are not text, and reports whether there was a
// lone surrogate.
func refText(quoted []byte) (text []byte, replaced int, lone bool) {
	code := func(rest []byte) (rune, bool) {
		if len(rest) < 6 || string(rest[:2]) != `\u` {
			return 0, false
		}
		n, err := strconv.ParseUint(string(rest[2:6]), 16, 16)
		return rune(n), err == nil
	}
	for rest := quoted[1 : len(quoted)-1]; len(rest) > 0; {
		if r, ok := code(rest); ok {
			rest = rest[6:]
			second, two := code(rest)
			switch both := utf16.DecodeRune(r, second); {
			case !utf16.IsSurrogate(r):
				text = utf8.AppendRune(text, r)
			case two && both != utf8.RuneError:
				text = utf8.AppendRune(text, both)
				rest = rest[6:]
			default:
				lone = true
				replaced++
				text = append(text, "\uFFFD"...)
			}
			continue
		}
		if rest[0] == '\\' {
			var one string
			if err := json.Unmarshal([]byte(`"`+string(rest[:2])+`"`), &one); err != nil {
				panic(err)
			}
			text = append(text, one...)
			rest = rest[2:]
			continue
		}
		r, size := utf8.DecodeRune(rest)
		if r == utf8.RuneError && size == 1 {
			replaced++
		}
		text = utf8.AppendRune(text, r)
		rest = rest[size:]
	}
	return text, replaced, lone
}

// refEscape matches an escape, or two that form one character.
var refEscape = regexp.MustCompile(`\\u[dD][89abAB][[:xdigit:]]{2}\\u[dD][c-fC-F][[:xdigit:]]{2}|\\u[[:xdigit:]]{4}|\\.`)

// refCompact returns a value without white space between its parts. Parts that are not text are replaced and counted.
func refCompact(tb testing.TB, value json.RawMessage) (compact string, replaced int) {
	tb.Helper()
	var out bytes.Buffer
	require.NoError(tb, json.Compact(&out, value))
	text := refEscape.ReplaceAllStringFunc(out.String(), func(escape string) string {
		if len(escape) == 6 && escape[2]|0x20 == 'd' && escape[3] >= '8' {
			replaced++
			return "\uFFFD"
		}
		return escape
	})
	var valid strings.Builder
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		if r == utf8.RuneError && size == 1 {
			replaced++
		}
		valid.WriteRune(r)
		text = text[size:]
	}
	return valid.String(), replaced
}

func trim(value json.RawMessage) json.RawMessage { return bytes.Trim(value, " \t\r\n") }

var (
	refNumber = regexp.MustCompile(`^(-?)(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
	refDay    = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)
	refMoment = regexp.MustCompile(`^([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]+))?(Z|[+-][0-9]{2}:[0-9]{2})?$`)
)

// refFit converts a value to a type and reports whether it fits.
func refFit(tb testing.TB, typ schemas.Type, value json.RawMessage) (cell string, invalid int, fits bool) {
	tb.Helper()
	text, quoted := string(value), value[0] == '"'
	if quoted {
		decoded, bad, lone := refText(value)
		if lone {
			return "", 0, false
		}
		text, invalid = string(decoded), bad
	} else if value[0] == '{' || value[0] == '[' {
		return "", 0, false
	}
	switch typ {
	case schemas.String:
		return strconv.Quote(text), invalid, true
	case schemas.Int32, schemas.Int64:
		n, ok := refWhole(text)
		bits := map[schemas.Type]uint{schemas.Int32: 31, schemas.Int64: 63}[typ]
		limit := new(big.Int).Lsh(big.NewInt(1), bits)
		if !ok || n.Cmp(limit) >= 0 || n.Cmp(new(big.Int).Neg(limit)) < 0 {
			return "", 0, false
		}
		return n.String(), invalid, true
	case schemas.Double:
		x, err := strconv.ParseFloat(text, 64)
		return fmt.Sprintf("%x", x), invalid, err == nil && refNumber.MatchString(text)
	case schemas.Boolean:
		return text, invalid, text == "true" || text == "false"
	}
	moment, ok := refTime(text)
	if !ok || !quoted || moment.Year() < 1 || moment.Year() > 9999 {
		return "", 0, false
	}
	if typ == schemas.Date {
		days := moment.Unix() / 86400
		return strconv.FormatInt(days, 10), invalid, moment.Equal(time.Unix(days*86400, 0))
	}
	return strconv.FormatInt(moment.UnixMicro(), 10), invalid, true
}

// refWhole returns the integer value of a text that is exactly a JSON number and mathematically whole.
func refWhole(text string) (*big.Int, bool) {
	parts := refNumber.FindStringSubmatch(text)
	if parts == nil {
		return nil, false
	}
	mantissa, ok := new(big.Rat).SetString(parts[1] + parts[2] + parts[3])
	if !ok || mantissa.Sign() == 0 {
		return new(big.Int), ok
	}
	if parts[4] != "" {
		exponent, _ := new(big.Int).SetString(strings.TrimPrefix(parts[4][1:], "+"), 10)
		if beyond := big.NewInt(int64(len(text) + 30)); exponent.CmpAbs(beyond) > 0 {
			return nil, false // out of range, or not whole
		}
		power := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), new(big.Int).Abs(exponent), nil))
		if exponent.Sign() < 0 {
			power.Inv(power)
		}
		mantissa.Mul(mantissa, power)
	}
	return mantissa.Num(), mantissa.IsInt()
}

// refTime parses a date or a timestamp.
func refTime(text string) (time.Time, bool) {
	if refDay.MatchString(text) {
		day, err := time.Parse("2006-01-02", text)
		return day, err == nil
	}
	parts := refMoment.FindStringSubmatch(text)
	if parts == nil {
		return time.Time{}, false
	}
	moment, err := time.Parse("2006-01-02 15:04:05", parts[1]+" "+parts[2])
	if err != nil {
		return time.Time{}, false
	}
	fraction := strings.TrimRight(parts[3], "0")
	if len(fraction) > 6 {
		return time.Time{}, false
	}
	micros, _ := strconv.Atoi((fraction + "000000")[:6])
	moment = moment.Add(time.Duration(micros) * time.Microsecond)
	if zone := parts[4]; len(zone) == 6 {
		offset, err := time.Parse("15:04", zone[1:])
		if err != nil {
			return time.Time{}, false
		}
		shift := time.Duration(offset.Hour())*time.Hour + time.Duration(offset.Minute())*time.Minute
		if zone[0] == '+' {
			shift = -shift
		}
		moment = moment.Add(shift)
	}
	return moment, true
}
