package odd

import (
	"math/big"
	"strings"

	"example.org/growthexport/internal/simulator"
)

// Bids are opaque text to a client, which must pass them through URLs, paths and logs unchanged. An odd bid is a UUID
// with text around it, or the 128 bits of a UUID as a decimal number, so that the simulator can read it back.

// digitsForm is the form of bids that are a decimal number. In records, they are sent as a JSON number.
const digitsForm = 0

// oddForms holds the text before and after the UUID for each form. The entry at digitsForm is unused.
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

// oddForm returns the form of a bid, or -1 for a plain UUID. Every other school and district has an odd bid, as do a
// quarter of the students, classes, educators and educators' associations.
func oddForm(w *simulator.World, b simulator.Bid) int {
	what, group, index, _ := w.Entity(b)
	var n int
	switch what {
	case simulator.DistrictEntity:
		n = index
	case simulator.SchoolEntity:
		n = group
	case simulator.StudentEntity, simulator.ClassEntity, simulator.EducatorEntity, simulator.EducatorAssociationEntity:
		n = int(simulator.Hash(b.Low, 4) % 1000)
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

// FormatBid returns the text of a bid, which is odd for some entities.
func (o *Quirks) FormatBid(w *simulator.World, b simulator.Bid) string {
	if form := oddForm(w, b); form >= 0 {
		return oddBid(b, form)
	}
	return b.String()
}

func oddBid(b simulator.Bid, form int) string {
	if form == digitsForm {
		n := new(big.Int).SetUint64(b.High)
		return n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(b.Low)).String()
	}
	around := oddForms[form]
	return around[0] + b.String() + around[1]
}

// ParseBid returns the bid in a text. It does not check that FormatBid would write this bid in the same form.
func (o *Quirks) ParseBid(text string) (simulator.Bid, bool) {
	if n, ok := new(big.Int).SetString(text, 10); ok && n.Sign() > 0 && n.BitLen() <= 128 {
		low := new(big.Int).And(n, new(big.Int).SetUint64(1<<64-1)).Uint64()
		return simulator.Bid{High: n.Rsh(n, 64).Uint64(), Low: low}, true
	}
	for _, around := range oddForms[digitsForm+1:] {
		if inner, ok := strings.CutPrefix(text, around[0]); ok {
			if inner, ok = strings.CutSuffix(inner, around[1]); ok {
				if b, ok := simulator.ParseBid(inner); ok {
					return b, true
				}
			}
		}
	}
	return simulator.Bid{}, false
}

// formatBids replaces the odd bids in a record, including its objects and arrays, with their texts.
func formatBids(w *simulator.World, members []simulator.Member) {
	for i := range members {
		m := &members[i]
		if m.Kind != simulator.ID {
			formatBids(w, m.Sub)
			continue
		}
		b := simulator.Bid{High: uint64(m.N), Low: m.M}
		switch form := oddForm(w, b); form {
		case -1:
		case digitsForm:
			m.Value = fitting(oddBid(b, form), oddBid(b, form))
		default:
			m.Value = fitting(quoted(oddBid(b, form)), oddBid(b, form))
		}
	}
}
