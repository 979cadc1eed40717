package odd

import (
	"math"
	"strconv"
	"strings"
	"time"

	"example.org/growthexport/internal/simulator"
)

// valueOddity replaces a plain value of its kind with an odd value.
type valueOddity struct {
	name string
	kind simulator.Kind
	make func(d *simulator.Rand, m *simulator.Member) simulator.Value
}

func (o valueOddity) oddity() oddity {
	return oddity{o.name, func(s *oddCase) bool {
		return s.change(
			func(m *simulator.Member) bool { return m.Kind == o.kind },
			func(m *simulator.Member) { m.Value = o.make(&s.draw, m) })
	}}
}

// mismatches returns oddities with values that do not fit a column of the given kind.
func mismatches(k simulator.Kind, what string, sent ...string) []valueOddity {
	var list []valueOddity
	for _, text := range sent {
		list = append(list, valueOddity{what + ": " + text, k, func(*simulator.Rand, *simulator.Member) simulator.Value { return mismatch(text) }})
	}
	return list
}

// integerOddities returns odd values for integer columns. A column accepts any form of an integer in its range, as a
// number or as text.
func integerOddities() []valueOddity {
	form := func(name, before, after string) valueOddity {
		return valueOddity{"whole: " + name, simulator.Integer, func(_ *simulator.Rand, m *simulator.Member) simulator.Value {
			return fitting(before+strconv.FormatInt(m.N, 10)+after, m.N)
		}}
	}
	// Only 64-bit columns are wide enough for these values.
	wide := func(n int64) valueOddity {
		sent := strconv.FormatInt(n, 10)
		return valueOddity{"whole: " + sent, simulator.Integer, func(_ *simulator.Rand, m *simulator.Member) simulator.Value {
			if m.M == 64 {
				return fitting(sent, n)
			}
			return mismatch(sent)
		}}
	}
	list := []valueOddity{
		form("text", `"`, `"`),
		form("text with a point", `"`, `.0"`),
		form("point", "", ".0"),
		{"whole: exponent", simulator.Integer, func(_ *simulator.Rand, m *simulator.Member) simulator.Value {
			return fitting(strconv.FormatInt(100*m.N, 10)+"e-2", m.N)
		}},
		form("text with an exponent", `"`, `.000E+0"`),
		wide(math.MaxInt32 + 1),
		wide(math.MinInt32 - 1),
		wide(math.MaxInt64),
		wide(math.MinInt64),
		{"whole: half", simulator.Integer, func(_ *simulator.Rand, m *simulator.Member) simulator.Value {
			return mismatch(strconv.FormatInt(m.N, 10) + ".5")
		}},
		{"whole: text of half", simulator.Integer, func(_ *simulator.Rand, m *simulator.Member) simulator.Value {
			return mismatch(`"` + strconv.FormatInt(m.N, 10) + `.5"`)
		}},
		{"whole: half a character", simulator.Integer, func(*simulator.Rand, *simulator.Member) simulator.Value {
			return loneSurrogate(`"\ud83d"`, "\"\uFFFD\"")
		}},
		{"whole: bad bytes", simulator.Integer, func(*simulator.Rand, *simulator.Member) simulator.Value {
			return oddValue(simulator.Literal{Sent: "\"1\xff\"", Kept: "\"1\uFFFD\"", Replaced: 1})
		}},
	}
	return append(list, mismatches(simulator.Integer, "whole", "12.5", "1e400", "9223372036854775808", "-9223372036854775809", "123456789012345678901234567890",
		"1e-1", `""`, `" 12"`, `"+12"`, `"012"`, `"12."`, `"1e400"`, `"0x0C"`, `"twelve"`, `"1\u00b2"`, "true")...)
}

// decimalOddities returns odd values for decimal columns. A column accepts a number whose nearest double is finite.
func decimalOddities() []valueOddity {
	list := []valueOddity{
		{"decimal: text", simulator.Decimal, func(_ *simulator.Rand, m *simulator.Member) simulator.Value {
			return fitting(`"`+m.JSON()+`"`, m.Plain())
		}},
		{"decimal: exponent", simulator.Decimal, func(_ *simulator.Rand, m *simulator.Member) simulator.Value {
			return fitting(strconv.FormatInt(m.N, 10)+"E-2", m.Plain())
		}},
		{"decimal: zeros", simulator.Decimal, func(_ *simulator.Rand, m *simulator.Member) simulator.Value {
			return fitting(`"`+strconv.FormatInt(100*m.N, 10)+`.000e-0004"`, m.Plain())
		}},
	}
	for _, like := range []struct {
		sent string
		cell float64
	}{
		{"123456789012345678901234567890", 1.2345678901234568e29},
		{"0.30000000000000004", 0.30000000000000004},
		{"0.1000000000000000055511151231257827021181583404541015625", 0.1},
		{"65.0", 65},
		{`"65.00"`, 65},
		{"1e-400", 0},
		{`"1.5e3"`, 1500},
		{"1.7976931348623157e308", math.MaxFloat64},
	} {
		list = append(list, valueOddity{"decimal: " + like.sent, simulator.Decimal, func(*simulator.Rand, *simulator.Member) simulator.Value { return fitting(like.sent, like.cell) }})
	}
	return append(list, mismatches(simulator.Decimal, "decimal", "1e400", "-1e400", "1.7976931348623159e308", `"1e400"`, `"NaN"`, `"Infinity"`, `""`, `"3,25"`, `"3.25 "`,
		"false", `"0x1p1"`)...)
}

func booleanOddities() []valueOddity {
	list := []valueOddity{
		{"truth: text", simulator.Boolean, func(_ *simulator.Rand, m *simulator.Member) simulator.Value {
			return fitting(`"`+m.JSON()+`"`, m.Plain())
		}},
		{"truth: escaped text", simulator.Boolean, func(*simulator.Rand, *simulator.Member) simulator.Value { return fitting(`"tru\u0065"`, true) }},
	}
	return append(list, mismatches(simulator.Boolean, "truth", `"True"`, "1", "0", `"1"`, `"Y"`, `""`, `" true"`)...)
}

// textOddities returns odd values for text columns. A column also accepts numbers, exactly as sent, and the words true
// and false.
func textOddities() []valueOddity {
	var list []valueOddity
	for _, like := range [][2]string{
		{"12", "12"},
		{"12.50", "12.50"},
		{"1E+2", "1E+2"},
		{"-0.0", "-0.0"},
		{"1e400", "1e400"},
		{"123456789012345678901", "123456789012345678901"},
		{"true", "true"},
		{"false", "false"},
		{`""`, ""},
		{`" "`, " "},
		{`"null"`, "null"},
		{`"\"\\\/\b\f\n\r\t"`, "\"\\/\b\f\n\r\t"},
		{`"\ud83d\ude00 😀 \u00e9 é e\u0301"`, "😀 😀 é é e\u0301"},
		{`"\u0000\u001f\u007f"`, "\x00\x1f\x7f"},
		{"\"\u2028\uFEFF\uFFFD\"", "\u2028\uFEFF\uFFFD"},
		{`"'; DROP TABLE x; --"`, "'; DROP TABLE x; --"},
		{`"=1+1"`, "=1+1"},
		{`"` + strings.Repeat("long and ", 600) + `"`, strings.Repeat("long and ", 600)},
	} {
		name := "text: " + like[0][:min(len(like[0]), 40)]
		list = append(list, valueOddity{name, simulator.Text, func(*simulator.Rand, *simulator.Member) simulator.Value { return fitting(like[0], like[1]) }})
	}
	for _, like := range [][2]string{
		{"a\xffb", "a\uFFFDb"},
		{"cut \xe2\x82", "cut \uFFFD\uFFFD"},
		{"\xed\xa0\x80", "\uFFFD\uFFFD\uFFFD"},
		{"\xc0\xaf", "\uFFFD\uFFFD"},
	} {
		sent, mended := like[0], like[1]
		bad := int64(strings.Count(mended, "\uFFFD"))
		list = append(list, valueOddity{"text: bytes " + strconv.QuoteToASCII(sent), simulator.Text, func(*simulator.Rand, *simulator.Member) simulator.Value {
			return oddValue(simulator.Literal{Sent: `"` + sent + `"`, Cell: mended, Kept: `"` + mended + `"`, Replaced: bad})
		}})
	}
	list = append(list, valueOddity{"text: escaped whole", simulator.Text, func(_ *simulator.Rand, m *simulator.Member) simulator.Value {
		sent := []byte{'"'}
		for _, c := range m.S {
			if c > 0xffff {
				sent = append(sent, string(c)...)
			} else {
				sent = simulator.AppendEscape(sent, c)
			}
		}
		return fitting(string(sent)+`"`, m.S)
	}})
	for _, like := range [][2]string{
		{`"a\ud83d"`, "\"a\uFFFD\""},
		{`"\ude00"`, "\"\uFFFD\""},
		{`"\ude00\ud83d"`, "\"\uFFFD\uFFFD\""},
		{`"\ud83d\u0041"`, "\"\uFFFD\\u0041\""},
		{`"\uD83D\\uDE00"`, "\"\uFFFD\\\\uDE00\""},
		{`"\ud83d\ud83d\ude00"`, "\"\uFFFD\\ud83d\\ude00\""},
	} {
		list = append(list, valueOddity{"text: " + like[0], simulator.Text, func(*simulator.Rand, *simulator.Member) simulator.Value { return loneSurrogate(like[0], like[1]) }})
	}
	return list
}

// dateOddities returns odd values for date columns. A column accepts a date, or a timestamp at midnight UTC.
func dateOddities() []valueOddity {
	form := func(name string, days int, after string) valueOddity {
		return valueOddity{"date: " + name, simulator.Date, func(_ *simulator.Rand, m *simulator.Member) simulator.Value {
			return fitting(`"`+(simulator.Day(m.N)+simulator.Day(days)).String()+after+`"`, m.Plain())
		}}
	}
	unlike := func(name, after string) valueOddity {
		return valueOddity{"date: " + name, simulator.Date, func(_ *simulator.Rand, m *simulator.Member) simulator.Value {
			return mismatch(`"` + simulator.Day(m.N).String() + after + `"`)
		}}
	}
	list := []valueOddity{
		form("midnight", 0, "T00:00:00Z"),
		form("midnight without zone", 0, " 00:00:00"),
		form("midnight with a fraction", 0, "T00:00:00.000000000"),
		form("midnight east of Greenwich", 0, "T02:00:00+02:00"),
		form("midnight west of Greenwich", -1, "T19:00:00-05:00"),
		unlike("midnight elsewhere", "T00:00:00+02:00"),
		unlike("a second late", " 00:00:01"),
		unlike("a microsecond late", "T00:00:00.000001Z"),
		unlike("a space at the end", " "),
	}
	for _, like := range [][2]string{
		{`"0001-01-01"`, "0001-01-01"},
		{`"9999-12-31"`, "9999-12-31"},
		{`"2024-02-29"`, "2024-02-29"},
		{`"2026\u002d01\u002d02"`, "2026-01-02"},
	} {
		list = append(list, valueOddity{"date: " + like[0], simulator.Date, func(*simulator.Rand, *simulator.Member) simulator.Value { return fitting(like[0], like[1]) }})
	}
	return append(list, mismatches(simulator.Date, "date", `"2026-02-30"`, `"2025-02-29"`, `"2026-13-01"`, `"2026-00-10"`, `"0000-00-00"`, `"08/03/2026"`, `"2026-8-3"`, `"20260803"`,
		"20260803", "2026", `""`, `"today"`)...)
}

// timestampOddities returns odd values for timestamp columns. A column accepts a date alone, and RFC 3339 with T or a
// space, with any zone or none, and with a precision of up to a microsecond.
func timestampOddities() []valueOddity {
	// form writes timestamps in a layout of package time, moved to the given number of microseconds after the full
	// second.
	form := func(name, layout string, zone int, micros int64) valueOddity {
		return valueOddity{"moment: " + name, simulator.Timestamp, func(_ *simulator.Rand, m *simulator.Member) simulator.Value {
			seconds := m.N - m.N%1000
			at := time.UnixMilli(seconds).Add(time.Duration(micros) * time.Microsecond).In(time.FixedZone("", zone))
			return fitting(`"`+at.Format(layout)+`"`, seconds*1000+micros)
		}}
	}
	unlike := func(name, layout, after string) valueOddity {
		return valueOddity{"moment: " + name, simulator.Timestamp, func(_ *simulator.Rand, m *simulator.Member) simulator.Value {
			return mismatch(`"` + time.UnixMilli(m.N-m.N%1000).UTC().Format(layout) + after + `"`)
		}}
	}
	list := []valueOddity{
		form("a space", "2006-01-02 15:04:05Z07:00", 0, 0),
		form("a space and no zone", "2006-01-02 15:04:05.000", 0, 40_000),
		form("an offset", "2006-01-02T15:04:05.000Z07:00", 5*3600+1800, 123_000),
		form("an offset and a space", "2006-01-02 15:04:05.0-07:00", -8*3600, 700_000),
		form("an offset of zero", "2006-01-02T15:04:05-07:00", 0, 0),
		form("tenths", "2006-01-02T15:04:05.0Z", 0, 500_000),
		form("microseconds", "2006-01-02T15:04:05.000000Z", 0, 123_456),
		form("nine digits", "2006-01-02T15:04:05.000000000Z", 0, 123_456),
		form("nine digits and no zone", "2006-01-02T15:04:05.000000000", 0, 1),
		{"moment: twelve digits", simulator.Timestamp, func(_ *simulator.Rand, m *simulator.Member) simulator.Value {
			seconds := m.N - m.N%1000
			return fitting(`"`+time.UnixMilli(seconds).UTC().Format("2006-01-02T15:04:05")+`.120000000000Z"`, seconds*1000+120_000)
		}},
		{"moment: a date alone", simulator.Timestamp, func(_ *simulator.Rand, m *simulator.Member) simulator.Value {
			at := simulator.Day(m.N / simulator.MillisPerDay)
			return fitting(`"`+at.String()+`"`, at.Millis()*1000)
		}},
		{"moment: escaped", simulator.Timestamp, func(_ *simulator.Rand, m *simulator.Member) simulator.Value {
			return fitting(strings.ReplaceAll(m.JSON(), ":", `\u003a`), m.Plain())
		}},
		{"moment: the first of all", simulator.Timestamp, func(*simulator.Rand, *simulator.Member) simulator.Value {
			return fitting(`"0001-01-01T00:00:00"`, int64(-62135596800000000))
		}},
		{"moment: the last of all", simulator.Timestamp, func(*simulator.Rand, *simulator.Member) simulator.Value {
			return fitting(`"9999-12-31T23:59:59.999999Z"`, int64(253402300799999999))
		}},
		unlike("nanoseconds", "2006-01-02T15:04:05", ".123456789Z"),
		unlike("ten digits", "2006-01-02T15:04:05", ".1234560001"),
		unlike("no seconds", "2006-01-02T15:04", "Z"),
		unlike("a zone without colon", "2006-01-02T15:04:05", "+0100"),
		unlike("a zone that is not an offset", "2006-01-02T15:04:05", " CET"),
		unlike("two spaces", "2006-01-02  15:04:05", ""),
		unlike("a point and no digits", "2006-01-02T15:04:05", ".Z"),
		unlike("as a header has it", time.RFC1123, ""),
		{"moment: milliseconds since 1970", simulator.Timestamp, func(_ *simulator.Rand, m *simulator.Member) simulator.Value {
			return mismatch(strconv.FormatInt(m.N, 10))
		}},
	}
	return append(list, mismatches(simulator.Timestamp, "moment", `"2026-02-30T10:00:00Z"`, `"2026-13-01T10:00:00Z"`, `"2026-01-01T24:00:00Z"`, `"2026-01-01T10:60:00Z"`,
		`"2026-01-01T10:00:00+24:00"`, `"0000-00-00T00:00:00Z"`, `""`, `"never"`, "0", "true")...)
}
