package simulator

import (
	"strconv"
	"time"
)

// kind says which of a value's fields counts and how it is written.
type Kind uint8

const (
	Absent    Kind = iota // the member is left out, as the service does with what it does not know
	Text                  // s
	ID                    // a bid in n and m
	Integer               // n
	Decimal               // n hundredths
	Boolean               // n is 0 or 1
	Date                  // n days since 1970-01-01
	Timestamp             // n milliseconds since 1970-01-01T00:00:00Z, written in precision m
	Object                // sub; verbatim if m is 1
	Array                 // sub, whose members have no names; verbatim if m is 1
	Null                  // a null that is written
	Raw                   // odd
)

// value is one JSON value of a record, in the type that the specification gives it.
type Value struct {
	Kind    Kind
	N       int64
	M       uint64
	S       string
	Sub     []Member
	Literal *Literal
}

// member is a named value of an object, or an element of an array.
type Member struct {
	Name string
	Value
}

// odd is a value as the live service, or one gone wrong, may send it: JSON text, beside what must become of it. Whoever makes one
// knows both, and neither follows from the other by any code here.
type Literal struct {
	Sent     string // as it stands on the wire
	Cell     any    // what the column holds; nil if the value does not fit it
	Kept     string // what _extra holds if it is kept there; as sent if empty
	Replaced int64  // how much of it, the name included, _extra holds as U+FFFD: bytes that are not UTF-8, and halves of surrogate pairs
	Name     string // how the member's name is written, quotes included; plainly if empty
}

// null says whether the value is none: a missing member and a null are the same.
func (v *Value) IsNull() bool { return v.Kind == Absent || v.Kind == Null }

// fits says whether the value fits the column that its member has.
func (v *Value) Fits() bool {
	switch v.Kind {
	case Object, Array:
		return false
	case Raw:
		return v.Literal.Cell != nil
	default:
		return true
	}
}

// isText reports whether the value is written in quotes.
func (v *Value) IsText() bool {
	switch v.Kind {
	case Text, ID, Date, Timestamp:
		return true
	case Raw:
		return v.Literal.Sent[0] == '"'
	default:
		return false
	}
}

// invalid counts the parts of the value that _extra holds as U+FFFD.
func (v *Value) Replaced() int64 {
	if v.Kind == Raw {
		return v.Literal.Replaced
	}
	var sum int64
	for i := range v.Sub {
		sum += v.Sub[i].Replaced()
	}
	return sum
}

// jsonText returns what _extra would hold of the value: it has no white space, and members in the order they have.
func (v *Value) JSON() string {
	r := renderer{canonical: true}
	r.value(v)
	return string(r.dst)
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
func Verbatim(v Value) Value {
	v.M = 1
	return v
}

func TextOf(s string) Value { return Value{Kind: Text, S: s} }

func idOf(b Bid) Value { return Value{Kind: ID, N: int64(b.High), M: b.Low} }

func integerOf(n int) Value { return Value{Kind: Integer, N: int64(n)} }

// longOf is a number in a column of 64 bits.
func longOf(n int) Value { return Value{Kind: Integer, N: int64(n), M: 64} }

func decimalOf(hundredths int) Value { return Value{Kind: Decimal, N: int64(hundredths)} }

func dateOf(d Day) Value { return Value{Kind: Date, N: int64(d)} }

// dateOrAbsent leaves out the end of what goes on.
func dateOrAbsent(d Day) Value {
	if d == 0 {
		return Value{}
	}
	return dateOf(d)
}

func textOrAbsent(s string) Value {
	if s == "" {
		return Value{}
	}
	return TextOf(s)
}

func booleanOf(b bool) Value {
	if b {
		return Value{Kind: Boolean, N: 1}
	}
	return Value{Kind: Boolean}
}

// stampOf writes a moment in the given precision; a precision without fraction needs a moment of whole seconds.
func TimestampOf(millis int64, precision uint64) Value {
	return Value{Kind: Timestamp, N: millis, M: precision}
}

// known is v with the given chance, else the member is left out.
func (d *Rand) known(perMille int, v Value) Value {
	if d.Chance(perMille) {
		return v
	}
	return Value{}
}

// arena holds the members of the record being made. A record is valid until reset.
type Arena struct{ members []Member }

func (a *Arena) Reset() { a.members = a.members[:0] }

// list takes all members that an object may have, absent ones too. It may move the arena's memory: lists made before stay where
// they were.
func (a *Arena) list(members ...Member) []Member {
	from := len(a.members)
	a.members = append(a.members, members...)
	return a.members[from:len(a.members):len(a.members)]
}

func (a *Arena) object(members ...Member) Value { return Value{Kind: Object, Sub: a.list(members...)} }

func (a *Arena) array(elements ...Member) Value { return Value{Kind: Array, Sub: a.list(elements...)} }

// day is a calendar date, in days since 1970-01-01.
type Day int

func firstOf(month time.Month, year int) Day {
	return DayOf(time.Date(year, month, 1, 0, 0, 0, 0, time.UTC))
}

const (
	secondsPerDay = 86400
	MillisPerDay  = secondsPerDay * 1000
)

// dayOf returns the day of a time in UTC.
func DayOf(t time.Time) Day { return Day(t.Unix() / secondsPerDay) }

func (d Day) Time() time.Time { return time.Unix(int64(d)*secondsPerDay, 0).UTC() }

func (d Day) year() int { return d.Time().Year() }

func (d Day) Millis() int64 { return int64(d) * MillisPerDay }

func (d Day) String() string { return d.Time().Format(time.DateOnly) }

// plain returns the value as the oracle states it: string, int64, float64 or bool; a date as YYYY-MM-DD, a timestamp as
// microseconds since 1970-01-01T00:00:00Z; nil for what is absent. Objects and arrays have no plain form.
func (v *Value) Plain() any {
	switch v.Kind {
	case Text:
		return v.S
	case ID:
		return Bid{High: uint64(v.N), Low: v.M}.String()
	case Integer:
		return v.N
	case Decimal:
		// Both numbers are exact, so the quotient is the double nearest to the decimal, as any correct parser reads it.
		return float64(v.N) / 100
	case Boolean:
		return v.N != 0
	case Date:
		return Day(v.N).String()
	case Timestamp:
		return v.N * 1000
	case Raw:
		return v.Literal.Cell
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
