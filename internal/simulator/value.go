package simulator

import "time"

// Kind determines which fields of a value are used and how the value is written.
type Kind uint8

// The kinds of values, with the fields they use.
const (
	Absent    Kind = iota // the member is left out, as the service does with unknown values
	Text                  // S
	ID                    // a bid in N and M
	Integer               // N; M is 64 in a 64-bit column
	Decimal               // N hundredths
	Boolean               // N is 0 or 1
	Date                  // N days since 1970-01-01
	Timestamp             // N milliseconds since 1970 in UTC, written in precision M
	Object                // Sub; verbatim if M is 1
	Array                 // Sub, without names; verbatim if M is 1
	Null                  // an explicit null
	Raw                   // Literal
)

// Value is a JSON value of a record, in its documented type.
type Value struct {
	Kind    Kind
	N       int64
	M       uint64
	S       string
	Sub     []Member
	Literal *Literal
}

// Member is a named value of an object, or an element of an array.
type Member struct {
	Name string
	Value
}

// Literal is an odd value: the JSON text as sent, and the values that an export must make of it. The text and the
// values are stated independently.
type Literal struct {
	Sent     string // as sent
	Cell     any    // the value of the column; nil if the text does not fit
	Kept     string // the value in _extra; if empty, Sent
	Replaced int64  // invalid bytes and lone surrogates, also in the name, which _extra holds as U+FFFD
	Name     string // the member's name as sent, with quotes; empty if it is not odd
}

// IsNull reports whether the value is null or missing, which have the same meaning.
func (v *Value) IsNull() bool { return v.Kind == Absent || v.Kind == Null }

// Fits reports whether the value fits its column.
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

// IsText reports whether the value is written in quotes.
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

// Replaced counts the parts of the value that _extra holds as U+FFFD.
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

// The precisions in which a timestamp is written. All timestamps are in UTC.
const (
	withMillis uint64 = iota
	withoutFraction
	withMillisZoneless
	withoutFractionZoneless
	precisions
)

var layouts = [precisions]string{
	withMillis: `"2006-01-02T15:04:05.000Z"`, withoutFraction: `"2006-01-02T15:04:05Z"`,
	withMillisZoneless: `"2006-01-02T15:04:05.000"`, withoutFractionZoneless: `"2006-01-02T15:04:05"`,
}

// Verbatim returns a value that every style writes without needless escapes. Exporters store the value as sent, so
// there must be only one way to write it.
func Verbatim(v Value) Value {
	v.M = 1
	return v
}

// TextOf returns a text value.
func TextOf(s string) Value { return Value{Kind: Text, S: s} }

func idOf(b Bid) Value { return Value{Kind: ID, N: int64(b.High), M: b.Low} }

func integerOf(n int) Value { return Value{Kind: Integer, N: int64(n)} }

// longOf returns an integer in a 64-bit column.
func longOf(n int) Value { return Value{Kind: Integer, N: int64(n), M: 64} }

func decimalOf(hundredths int) Value { return Value{Kind: Decimal, N: int64(hundredths)} }

func dateOf(d Day) Value { return Value{Kind: Date, N: int64(d)} }

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

// TimestampOf returns a timestamp with the given precision. Without a fraction, millis must be a multiple of 1000.
func TimestampOf(millis int64, precision uint64) Value {
	return Value{Kind: Timestamp, N: millis, M: precision}
}

// known returns v with the given chance, and otherwise an absent value.
func (d *Rand) known(perMille int, v Value) Value {
	if d.Chance(perMille) {
		return v
	}
	return Value{}
}

// timestamp returns a timestamp with or without a fraction and Z, because clients have received mixed precisions.
func (d *Rand) timestamp(millis int64) Value {
	precision := withMillis
	if d.Chance(300) {
		precision = d.next() % precisions
	}
	fraction := int64(d.Below(1000))
	if precision == withoutFraction || precision == withoutFractionZoneless {
		fraction = 0
	}
	return TimestampOf(millis-millis%1000+fraction, precision)
}

// Arena holds the members of the current record, which is valid until Reset.
type Arena struct{ members []Member }

// Reset begins the next record.
func (a *Arena) Reset() { a.members = a.members[:0] }

// list copies all members that an object may have, including absent ones, to the arena, and returns them. Earlier lists
// stay valid, even if the arena's memory grows.
func (a *Arena) list(members ...Member) []Member {
	from := len(a.members)
	a.members = append(a.members, members...)
	return a.members[from:len(a.members):len(a.members)]
}

func (a *Arena) object(members ...Member) Value { return Value{Kind: Object, Sub: a.list(members...)} }

func (a *Arena) array(elements ...Member) Value { return Value{Kind: Array, Sub: a.list(elements...)} }

// Day is a calendar date in days since 1970-01-01.
type Day int

// firstOf returns the first day of a month. It is called for each record, for which time.Date would be too slow.
func firstOf(month time.Month, year int) Day {
	// Years begin in March here, so that leap days come last.
	m := int(month) - 3
	if m < 0 {
		m, year = m+12, year-1
	}
	const daysTo1970 = 719468 // from 1 March of year 0
	return Day(365*year + year/4 - year/100 + year/400 + (153*m+2)/5 - daysTo1970)
}

// The length of a day.
const (
	secondsPerDay = 86400
	MillisPerDay  = secondsPerDay * 1000
)

// DayOf returns the day of a time in UTC.
func DayOf(t time.Time) Day { return Day(t.Unix() / secondsPerDay) }

// Time returns the beginning of the day in UTC.
func (d Day) Time() time.Time { return time.Unix(int64(d)*secondsPerDay, 0).UTC() }

func (d Day) year() int { return d.Time().Year() }

// weekday returns the day or, if it is on a weekend, the nearest Friday or Monday.
func (d Day) weekday() Day {
	switch d.Time().Weekday() {
	case time.Saturday:
		return d - 1
	case time.Sunday:
		return d + 1
	default:
		return d
	}
}

// Millis returns the beginning of the day in milliseconds since 1970.
func (d Day) Millis() int64 { return int64(d) * MillisPerDay }

func (d Day) String() string { return d.Time().Format(time.DateOnly) }

// Plain returns the value of a column: string, int64, float64 or bool; a date as YYYY-MM-DD, a timestamp as
// microseconds since 1970 in UTC; nil for absent values, nulls, objects and arrays.
func (v *Value) Plain() any {
	switch v.Kind {
	case Text:
		return v.S
	case ID:
		return Bid{High: uint64(v.N), Low: v.M}.String()
	case Integer:
		return v.N
	case Decimal:
		// Both numbers are exact, so the quotient is the nearest double, which every correct parser returns.
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
