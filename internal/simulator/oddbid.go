package simulator

import (
	"math/big"
	"strings"
)

// Bids are opaque text to a client, which must get them through URLs, paths and logs unharmed whatever they hold. The odd ones are
// a UUID with something around it, or its 128 bits as a decimal number, so that the simulator can read them back.

// digitsForm is the form of a number, which a record holds as a JSON number.
const digitsForm = 0

// oddForms are what stands before and after the UUID. The one at digitsForm is not used.
var oddForms = [...][2]string{
	{},
	{"../../", ""},
	{"a b ", " "},
	{"100%", "%2F%00"},
	{`"`, `"'`},
	{"line\r\n", "\t\n"},
	{"École-", "-😀"},
	{"", strings.Repeat("-0123456789", 40)},
	{"?a=b&c=d#e;+", ","},
	{`\\server\`, "/.."},
	{" ", ""},
	{"小学校~", strings.Repeat("é😀", 40)},
}

// oddForm is the form of a bid, -1 for a plain UUID. Of few things, such as schools, every other is odd, each in its own form.
func (w *World) oddForm(b bid) int {
	if !w.quirks() {
		return -1
	}
	what, group, index, _ := w.decrypt(b)
	var n int
	switch what {
	case aDistrict:
		n = index
	case aSchool:
		n = group
	case aStudent, aClass, anEducator, anEducatorAssociation:
		n = int(hash(b.low, 4) % 1000)
		if n%4 > 1 {
			return -1
		}
	default:
		return -1
	}
	if n%2 == 0 {
		return -1
	}
	return n / 2 % len(oddForms)
}

func oddBid(b bid, form int) string {
	if form == digitsForm {
		n := new(big.Int).SetUint64(b.high)
		return n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(b.low)).String()
	}
	around := oddForms[form]
	return around[0] + b.String() + around[1]
}

// parseOddBid finds the bid in a text. Whether the text has the right form is for the caller to see.
func parseOddBid(text string) (bid, bool) {
	if n, ok := new(big.Int).SetString(text, 10); ok && n.Sign() > 0 && n.BitLen() <= 128 {
		low := new(big.Int).And(n, new(big.Int).SetUint64(1<<64-1)).Uint64()
		return bid{high: n.Rsh(n, 64).Uint64(), low: low}, true
	}
	for _, around := range oddForms[digitsForm+1:] {
		if inner, ok := strings.CutPrefix(text, around[0]); ok {
			if inner, ok = strings.CutSuffix(inner, around[1]); ok {
				if b, ok := parseBid(inner); ok {
					return b, true
				}
			}
		}
	}
	return bid{}, false
}

// spell writes the bids of a record as this world does, in objects and arrays too.
func (w *World) spell(members []member) {
	for i := range members {
		m := &members[i]
		if m.kind != ident {
			w.spell(m.sub)
			continue
		}
		b := bid{high: uint64(m.n), low: m.m}
		switch form := w.oddForm(b); form {
		case -1:
		case digitsForm:
			m.value = fitting(oddBid(b, form), oddBid(b, form))
		default:
			m.value = fitting(quotedText(oddBid(b, form)), oddBid(b, form))
		}
	}
}
