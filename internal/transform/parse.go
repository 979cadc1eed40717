package transform

import (
	"encoding/binary"
	"math"
	"strconv"
)

// The functions here parse the text of a value, with escapes resolved. ok reports whether the value fits the type. Only
// doubles are rounded. All other values fit without loss.

// parseWhole parses a JSON number that is mathematically whole and fits in 64 bits: 12, 65.0, 1e2, -0. It reads the
// digits once, no matter how large the exponent is.
func parseWhole(number []byte) (x int64, ok bool) {
	negative := number[0] == '-'
	if negative {
		number = number[1:]
	}
	// The value is the digits read so far, times ten to the power of scale. Zeros wait in pending until another digit
	// follows, so that trailing zeros do not use up the range.
	var magnitude uint64
	var scale, pending int64
	fraction, overflow := false, false
	i := 0
	for ; i < len(number) && number[i]|0x20 != 'e'; i++ {
		c := number[i]
		if c == '.' {
			fraction = true
			continue
		}
		if fraction {
			scale--
		}
		if c == '0' {
			if magnitude > 0 {
				pending++
			}
			continue
		}
		for ; pending >= 0; pending-- {
			digit := uint64(0)
			if pending == 0 {
				digit = uint64(c - '0')
			}
			if magnitude > (math.MaxUint64-digit)/10 {
				overflow = true
				break
			}
			magnitude = magnitude*10 + digit
		}
		pending = 0
	}
	if overflow {
		return 0, false // more than 64 bits, the last digit not zero
	}
	if magnitude == 0 {
		return 0, true
	}
	scale += pending
	if i < len(number) {
		scale += exponent(number[i+1:])
	}
	if scale < 0 {
		return 0, false
	}
	for ; scale > 0; scale-- {
		if magnitude > math.MaxUint64/10 {
			return 0, false
		}
		magnitude *= 10
	}
	switch {
	case negative && magnitude <= 1<<63:
		return -int64(magnitude), true
	case !negative && magnitude <= math.MaxInt64:
		return int64(magnitude), true
	}
	return 0, false
}

// exponent parses the exponent of a number. It stops at a bound that is larger than any number of digits in a body.
func exponent(digits []byte) int64 {
	negative := digits[0] == '-'
	if negative || digits[0] == '+' {
		digits = digits[1:]
	}
	var x int64
	for _, c := range digits {
		if x < 1<<40 {
			x = x*10 + int64(c-'0')
		}
	}
	if negative {
		return -x
	}
	return x
}

// parseDouble returns the double nearest to a JSON number, if it is finite.
func parseDouble(number []byte) (x float64, ok bool) {
	x, err := strconv.ParseFloat(string(number), 64)
	return x, err == nil
}

const (
	microsPerDay = 24 * 60 * 60 * 1_000_000

	// The first moment that fits, and the first moment that no longer fits: the beginnings of the years 1 and 10000 in
	// UTC. Python supports only these years.
	firstMoment = -719_162 * microsPerDay
	endMoment   = 2_932_897 * microsPerDay
)

// parseDate parses YYYY-MM-DD, or a timestamp at midnight UTC, into days since 1970-01-01.
func parseDate(text []byte) (days int32, ok bool) {
	micros, ok := parseTimestamp(text)
	if !ok || micros%microsPerDay != 0 {
		return 0, false
	}
	return int32(micros / microsPerDay), true
}

// parseTimestamp parses an RFC 3339 time in the years 1 to 9999 UTC into microseconds since 1970-01-01 UTC. It accepts
// T or a space, any fraction whose digits beyond microseconds are zero, and an offset or Z. Without a zone the time is
// UTC, and a date alone means midnight. A leap second (60) does not fit, because the column could not distinguish it
// from the first second of the next minute.
func parseTimestamp(text []byte) (micros int64, ok bool) {
	micros, ok = parseMoment(text)
	return micros, ok && micros >= firstMoment && micros < endMoment
}

// parseMoment parses a timestamp without checking the range: an offset may move it to the year 0 or 10000 UTC.
func parseMoment(text []byte) (micros int64, ok bool) {
	if len(text) < 10 {
		return 0, false
	}
	days, ok := parseDay(text)
	micros = int64(days) * microsPerDay
	if !ok || len(text) == 10 {
		return micros, ok
	}
	if len(text) < 19 || (text[10] != 'T' && text[10] != ' ') {
		return 0, false
	}
	clock, ok := parsePairs(binary.LittleEndian.Uint64(text[11:]), clockLayout, clockCheck)
	hour, minute, second := clock&0xFF, clock>>24&0xFF, clock>>48&0xFF
	if !ok || hour > 23 || minute > 59 || second > 59 {
		return 0, false
	}
	micros += int64(hour*3600+minute*60+second) * 1_000_000
	rest := text[19:]
	if len(rest) > 0 && rest[0] == '.' {
		end := digitsEnd(rest, 1)
		if end < 0 {
			return 0, false
		}
		unit := int64(100_000)
		for _, c := range rest[1:end] {
			if c != '0' && unit == 0 {
				return 0, false
			}
			micros += int64(c-'0') * unit
			unit /= 10
		}
		rest = rest[end:]
	}
	switch {
	case len(rest) == 0, len(rest) == 1 && rest[0] == 'Z':
		return micros, true
	case len(rest) != 6 || (rest[0] != '+' && rest[0] != '-') || rest[3] != ':':
		return 0, false
	}
	word := uint64(binary.LittleEndian.Uint32(rest[1:])) | uint64(rest[5])<<32 | clockLayout>>40<<40
	zone, ok := parsePairs(word, clockLayout, clockCheck)
	hour, minute = zone&0xFF, zone>>24&0xFF
	if !ok || hour > 23 || minute > 59 {
		return 0, false
	}
	offset := int64(hour*3600+minute*60) * 1_000_000
	if rest[0] == '+' {
		offset = -offset
	}
	return micros + offset, true
}

// readTime reads a time from its opening quote, if it has the service's usual form: "2025-10-02T15:04:05.678Z".
func readTime(b []byte, pos int) (micros int64, end int) {
	const size = len(`"2025-10-02T15:04:05.678Z"`)
	if len(b)-pos < size || b[pos] != '"' || b[pos+size-1] != '"' {
		return 0, failed
	}
	text := (*[size - 2]byte)(b[pos+1:])
	month, ok1 := parsePairs(binary.LittleEndian.Uint64(text[0:]), monthLayout, monthCheck)
	minute, ok2 := parsePairs(binary.LittleEndian.Uint64(text[8:]), minuteLayout, minuteCheck)
	millis, ok3 := parsePairs(binary.LittleEndian.Uint64(text[16:]), millisLayout, millisCheck)
	days, ok4 := daysAt(month, uint32(minute&0xFF))
	h, m, s := minute>>24&0xFF, minute>>48&0xFF, millis>>8&0xFF
	if !ok1 || !ok2 || !ok3 || !ok4 || h > 23 || m > 59 || s > 59 || month&0xFF00FF == 0 {
		return 0, failed
	}
	micros = int64(days)*microsPerDay + int64(h*3600+m*60+s)*1_000_000
	return micros + int64(millis>>32&0xFF*10+uint64(text[22]-'0'))*1000, pos + size
}

// A layout is eight characters as a little-endian word, with zeros for digits. Adding its check word to the difference
// sets the high bit of each byte that should be a digit but is not, or that differs from the layout's character.
const (
	clockLayout = 0x30_30_3A_30_30_3A_30_30 // 00:00:00
	clockCheck  = 0x76_76_7F_76_76_7F_76_76
	// The middle and the end of a time after 0000-00-: 00T00:00 and :00.000Z.
	minuteLayout = 0x30_30_3A_30_30_54_30_30
	minuteCheck  = 0x76_76_7F_76_76_7F_76_76
	millisLayout = 0x5A_30_30_30_2E_30_30_3A
	millisCheck  = 0x7F_76_76_76_7F_76_76_7F

	monthLayout = 0x2D_30_30_2D_30_30_30_30 // 0000-00-
	monthCheck  = 0x7F_76_76_7F_76_76_76_76
)

// parsePairs reads eight characters of a layout. In the result, the byte of a pair's first digit holds the value of the
// pair.
func parsePairs(word, layout, check uint64) (numbers uint64, ok bool) {
	x := word ^ layout
	// A carry can only come from a byte that fails the check anyway.
	return x*10 + x>>8, ((x+check)|x)&highs == 0
}

// parseDay parses the first ten bytes, YYYY-MM-DD, into days since 1970-01-01.
func parseDay(text []byte) (days int32, ok bool) {
	numbers, ok := parsePairs(binary.LittleEndian.Uint64(text), monthLayout, monthCheck)
	d := uint32(text[8]-'0')*10 + uint32(text[9]-'0')
	if !ok || text[8]-'0' > 9 || text[9]-'0' > 9 {
		return 0, false
	}
	return daysAt(numbers, d)
}

// daysAt returns the days since 1970-01-01 of day d in the year and month that parsePairs has read.
func daysAt(numbers uint64, d uint32) (days int32, ok bool) {
	year := uint32(numbers&0xFF)*100 + uint32(numbers>>16&0xFF)
	month := uint32(numbers >> 40 & 0xFF)
	if month < 1 || month > 12 || d < 1 || d > daysOf(year, month) {
		return 0, false
	}
	// Count years from March, so that the leap day is the last day of a year.
	y, m := year, month-3
	if month < 3 {
		y, m = year-1, month+9
	}
	y += 400 // keeps January of the year 0000 above zero
	n := y*365 + y/4 - y/100 + y/400 + (m*153+2)/5 + d - 1
	const epoch = 719468 + 146097 // 1970-01-01 by the formula above
	return int32(n) - epoch, true
}

func daysOf(year, month uint32) uint32 {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}
