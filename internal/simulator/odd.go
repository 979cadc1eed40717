package simulator

import "strings"

// odd is a value as the live service, or one gone wrong, may send it: JSON text, beside what must become of it. Whoever makes one
// knows both, and neither follows from the other by any code here.
type odd struct {
	sent string // as it stands on the wire
	cell any    // what the column holds; nil if the value does not fit it
	kept string // what _extra holds if it is kept there; as sent if empty
	bad  int64  // how much of it, the name included, _extra holds as U+FFFD: bytes that are not UTF-8, and halves of surrogate pairs
	name string // how the member's name is written, quotes included; plainly if empty
}

func oddValue(o odd) value { return value{kind: oddly, odd: &o} }

// fitting is JSON text that fits its column, as cell.
func fitting(sent string, cell any) value { return oddValue(odd{sent: sent, cell: cell}) }

// unfit is JSON text that fits no column that it is made for.
func unfit(sent string) value { return oddValue(odd{sent: sent}) }

// halved is JSON text of a string in which halves of surrogate pairs are escaped. No column takes it; kept says where they are.
func halved(sent, kept string) value {
	return oddValue(odd{sent: sent, kept: kept, bad: int64(strings.Count(kept, "\uFFFD"))})
}

// spaced is JSON text with insignificant white space, beside the same without.
func spaced(sent, kept string) value { return oddValue(odd{sent: sent, kept: kept}) }

// quotedText is JSON text of a string, written one way whatever the record's style.
func quotedText(s string) string { return string(appendString(nil, s, false)) }

// null says whether the value is none: a missing member and a null are the same.
func (v *value) null() bool { return v.kind == absent || v.kind == none }

// fits says whether the value fits the column that its member has.
func (v *value) fits() bool {
	switch v.kind {
	case object, array:
		return false
	case oddly:
		return v.odd.cell != nil
	default:
		return true
	}
}

// isText reports whether the value is written in quotes.
func (v *value) isText() bool {
	switch v.kind {
	case text, ident, date, stamp:
		return true
	case oddly:
		return v.odd.sent[0] == '"'
	default:
		return false
	}
}

// invalid counts the parts of the value that _extra holds as U+FFFD.
func (v *value) invalid() int64 {
	if v.kind == oddly {
		return v.odd.bad
	}
	var sum int64
	for i := range v.sub {
		sum += v.sub[i].invalid()
	}
	return sum
}

// jsonText is what _extra would hold of the value.
func (v *value) jsonText() string { return string(appendCanonical(nil, v)) }
