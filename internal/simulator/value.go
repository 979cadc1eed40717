package simulator

import (
	"strconv"
	"time"
)

// kind says which of a value's fields counts and how it is written.
type kind uint8

const (
	absent  kind = iota // the member is left out, as the service does with what it does not know
	text                // s
	ident               // a bid in n and m
	whole               // n
	decimal             // n hundredths
	truth               // n is 0 or 1
	date                // n days since 1970-01-01
	stamp               // n milliseconds since 1970-01-01T00:00:00Z, written in precision m
	object              // sub; verbatim if m is 1
	array               // sub, whose members have no names; verbatim if m is 1
	none                // a null that is written
	oddly               // odd
)

// value is one JSON value of a record, in the type that the specification gives it.
type value struct {
	kind kind
	n    int64
	m    uint64
	s    string
	sub  []member
	odd  *odd
}

// member is a named value of an object, or an element of an array.
type member struct {
	name string
	value
}

// The precisions in which a timestamp is written; all mean UTC.
const (
	withMillis uint64 = iota
	withoutFraction
	withMillisZoneless
	withoutFractionZoneless
	precisions
)

// verbatim makes an object or array be written without needless escapes whatever the record's style: an exporter hands it on whole,
// as it was sent, so that there must be one way only of sending it.
func verbatim(v value) value {
	v.m = 1
	return v
}

func textOf(s string) value { return value{kind: text, s: s} }

func identOf(b bid) value { return value{kind: ident, n: int64(b.high), m: b.low} }

func wholeOf(n int) value { return value{kind: whole, n: int64(n)} }

// longOf is a number in a column of 64 bits.
func longOf(n int) value { return value{kind: whole, n: int64(n), m: 64} }

func decimalOf(hundredths int) value { return value{kind: decimal, n: int64(hundredths)} }

func dateOf(d day) value { return value{kind: date, n: int64(d)} }

// dateOrAbsent leaves out the end of what goes on.
func dateOrAbsent(d day) value {
	if d == 0 {
		return value{}
	}
	return dateOf(d)
}

func textOrAbsent(s string) value {
	if s == "" {
		return value{}
	}
	return textOf(s)
}

func truthOf(b bool) value {
	if b {
		return value{kind: truth, n: 1}
	}
	return value{kind: truth}
}

// stampOf writes a moment in the given precision; a precision without fraction needs a moment of whole seconds.
func stampOf(millis int64, precision uint64) value {
	return value{kind: stamp, n: millis, m: precision}
}

// known is v with the given chance, else the member is left out.
func (d *draw) known(perMille int, v value) value {
	if d.chance(perMille) {
		return v
	}
	return value{}
}

// arena holds the members of the record being made. A record is valid until reset.
type arena struct{ members []member }

func (a *arena) reset() { a.members = a.members[:0] }

// list takes all members that an object may have, absent ones too. It may move the arena's memory: lists made before stay where
// they were.
func (a *arena) list(members ...member) []member {
	from := len(a.members)
	a.members = append(a.members, members...)
	return a.members[from:len(a.members):len(a.members)]
}

func (a *arena) object(members ...member) value { return value{kind: object, sub: a.list(members...)} }

func (a *arena) array(elements ...member) value { return value{kind: array, sub: a.list(elements...)} }

// day is a calendar date, in days since 1970-01-01.
type day int

func firstOf(month time.Month, year int) day {
	return day(time.Date(year, month, 1, 0, 0, 0, 0, time.UTC).Unix() / secondsPerDay)
}

const (
	secondsPerDay = 86400
	millisPerDay  = secondsPerDay * 1000
)

func (d day) time() time.Time { return time.Unix(int64(d)*secondsPerDay, 0).UTC() }

func (d day) year() int { return d.time().Year() }

func (d day) millis() int64 { return int64(d) * millisPerDay }

func (d day) String() string { return d.time().Format(time.DateOnly) }

// plain returns the value as the oracle states it: string, int64, float64 or bool; a date as YYYY-MM-DD, a timestamp as
// microseconds since 1970-01-01T00:00:00Z; nil for what is absent. Objects and arrays have no plain form.
func (v *value) plain() any {
	switch v.kind {
	case text:
		return v.s
	case ident:
		return bid{high: uint64(v.n), low: v.m}.String()
	case whole:
		return v.n
	case decimal:
		// Both numbers are exact, so the quotient is the double nearest to the decimal, as any correct parser reads it.
		return float64(v.n) / 100
	case truth:
		return v.n != 0
	case date:
		return day(v.n).String()
	case stamp:
		return v.n * 1000
	case oddly:
		return v.odd.cell
	default:
		return nil
	}
}

// appendDecimal writes hundredths as the shortest decimal: 3.25, 65.5, 12.
func appendDecimal(dst []byte, hundredths int64) []byte {
	if hundredths < 0 {
		dst = append(dst, '-')
		hundredths = -hundredths
	}
	dst = strconv.AppendInt(dst, hundredths/100, 10)
	rest := byte(hundredths % 100)
	if rest == 0 {
		return dst
	}
	dst = append(dst, '.', '0'+rest/10)
	if rest%10 != 0 {
		dst = append(dst, '0'+rest%10)
	}
	return dst
}
