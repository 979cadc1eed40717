package transform

import (
	"encoding/binary"
	"math"
	"strconv"
)

// The functions here say what fits a type without loss. They take the text of
// a value, escapes resolved, and tell by ok whether it fits. What is given to
// wholeNumber and double is a JSON number by its grammar.

// wholeNumber returns the integer that a JSON number is, if it is
// mathematically whole and fits 64 bits: 12, 65.0, 1e2, -0. It reads the
// digits once, whatever the exponent.
func wholeNumber(number []byte) (x int64, ok bool) {
	negative := number[0] == '-'
	if negative {
		number = number[1:]
	}
	// The value is the digits read so far, times ten to the power of scale.
	// Zeros wait in pending until a digit follows them, so that trailing ones
	// cost no range.
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
		return 0, false // more digits than 64 bits hold, the last not zero
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

// exponent returns the exponent of a number, held within bounds that no number
// of digits in one body reaches.
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

// double returns the double nearest to a JSON number, if it is finite.
func double(number []byte) (x float64, ok bool) {
	x, err := strconv.ParseFloat(string(number), 64)
	return x, err == nil
}

const microsPerDay = 24 * 60 * 60 * 1_000_000

// date returns the day that YYYY-MM-DD or a timestamp at midnight UTC names,
// in days since 1970-01-01.
func date(text []byte) (days int32, ok bool) {
	if len(text) == 10 {
		return day(text)
	}
	micros, ok := timestamp(text)
	if !ok || micros%microsPerDay != 0 {
		return 0, false
	}
	return int32(micros / microsPerDay), true
}

// timestamp returns the moment that a text of RFC 3339 names, in microseconds
// since 1970-01-01 UTC: with T or a blank, any fraction whose digits beyond
// microseconds are zero, and an offset or Z; no zone means UTC, a date alone
// its midnight. There is no second 60: the column could not tell it from the
// next minute's first.
func timestamp(text []byte) (micros int64, ok bool) {
	if len(text) < 10 {
		return 0, false
	}
	days, ok := day(text)
	micros = int64(days) * microsPerDay
	if !ok || len(text) == 10 {
		return micros, ok
	}
	if len(text) < 19 || (text[10] != 'T' && text[10] != ' ') {
		return 0, false
	}
	clock, ok := pairs(binary.LittleEndian.Uint64(text[11:]), clockLayout, clockReach)
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
	zone, ok := pairs(word, clockLayout, clockReach)
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

// A layout is eight characters as a little-endian word, zeros standing for
// digits; its reach takes what is no digit there, or not the layout's
// character, to 0x80 or more.
const (
	clockLayout = 0x30_30_3A_30_30_3A_30_30 // 00:00:00
	clockReach  = 0x76_76_7F_76_76_7F_76_76
	monthLayout = 0x2D_30_30_2D_30_30_30_30 // 0000-00-
	monthReach  = 0x7F_76_76_7F_76_76_76_76
)

// pairs reads eight characters of a layout. The byte of a pair's first digit
// holds the number that the pair writes.
func pairs(word, layout, reach uint64) (numbers uint64, ok bool) {
	x := word ^ layout
	// A carry can only come from a byte that is refused anyway.
	return x*10 + x>>8, ((x+reach)|x)&highs == 0
}

// day returns the day that the first ten bytes, YYYY-MM-DD, name, in days
// since 1970-01-01.
func day(text []byte) (days int32, ok bool) {
	numbers, ok := pairs(binary.LittleEndian.Uint64(text), monthLayout, monthReach)
	d := uint32(text[8]-'0')*10 + uint32(text[9]-'0')
	if !ok || text[8]-'0' > 9 || text[9]-'0' > 9 {
		return 0, false
	}
	year := uint32(numbers&0xFF)*100 + uint32(numbers>>16&0xFF)
	month := uint32(numbers >> 40 & 0xFF)
	if month < 1 || month > 12 || d < 1 || d > daysOf(year, month) {
		return 0, false
	}
	// Years that begin in March end with the leap day.
	y, m := year, month-3
	if month < 3 {
		y, m = year-1, month+9
	}
	y += 400 // keeps January of the year 0000 above zero
	n := y*365 + y/4 - y/100 + y/400 + (m*153+2)/5 + d - 1
	const epoch = 719468 + 146097 // of 1970-01-01 by the line above
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
