package simulator

// bid is an identifier of the service: a UUID of version 4 by its looks. It is an encryption of what it names under the
// world's seed, so the simulator can read a bid that a client sends back without keeping a list of them.
type bid struct{ high, low uint64 }

// thing says what kind of entity a bid names.
type thing int

const (
	aDistrict thing = iota + 1
	aSchool
	aStudent
	aResult
	anArea
	anAcademicYear
	aSession
	aClass
	anEducator
	aStudentAssociation
	anEducatorAssociation
	aStudentClass   // a student's stay in a class
	anEducatorClass // an educator's lessons of a class
)

const (
	bidRounds = 4
	// halfMask keeps 61 bits: a UUID of version 4 has 122 free bits, two halves of 61.
	halfMask = 1<<61 - 1
)

// bidOf names the entity at (group, index): group is a school, a district or another number below 2^24, index below 2^32.
func (w *World) bidOf(what thing, group, index int) bid {
	left, right := uint64(what)<<56|uint64(group)<<32|uint64(index), uint64(0)
	for round := range uint64(bidRounds) {
		left, right = right, left^(mix(w.seed+round*golden^mix(right))&halfMask)
	}
	return bid{
		high: left>>13<<16 | 4<<12 | left>>1&0xfff,
		low:  2<<62 | left&1<<61 | right,
	}
}

// find reads a bid that a client sent. It is not ok if this world never gave out such a bid; whether group and index exist is
// for the caller to check.
func (w *World) find(text string) (what thing, group, index int, ok bool) {
	b, ok := parseBid(text)
	if !ok && w.quirks() {
		b, ok = parseOddBid(text)
	}
	if !ok {
		return 0, 0, 0, false
	}
	what, group, index, ok = w.decrypt(b)
	return what, group, index, ok && w.bidText(b) == text
}

// decrypt returns what a bid names. It is not ok if the bid is not one of this world.
func (w *World) decrypt(b bid) (what thing, group, index int, ok bool) {
	left, right := b.high>>16<<13|b.high&0xfff<<1|b.low>>61&1, b.low&halfMask
	for round := bidRounds - 1; round >= 0; round-- {
		left, right = right^(mix(w.seed+uint64(round)*golden^mix(left))&halfMask), left
	}
	// The right half was zero before encryption: 61 bits of certainty. The fixed bits of version and variant are compared by
	// making the bid anew.
	what, group, index = thing(left>>56), int(left>>32&0xffffff), int(left&0xffffffff)
	return what, group, index, right == 0 && w.bidOf(what, group, index) == b
}

// bidText is a bid as this world's service writes it. With quirks some hold more than a UUID.
func (w *World) bidText(b bid) string {
	if form := w.oddForm(b); form >= 0 {
		return oddBid(b, form)
	}
	return b.String()
}

const hexDigits = "0123456789abcdef"

func (b bid) appendText(dst []byte) []byte {
	for shift := 60; shift >= 0; shift -= 4 {
		dst = append(dst, hexDigits[b.high>>shift&15])
		if shift == 32 || shift == 16 {
			dst = append(dst, '-')
		}
	}
	dst = append(dst, '-')
	for shift := 60; shift >= 0; shift -= 4 {
		dst = append(dst, hexDigits[b.low>>shift&15])
		if shift == 48 {
			dst = append(dst, '-')
		}
	}
	return dst
}

// String returns the bid in the form of a UUID.
func (b bid) String() string { return string(b.appendText(make([]byte, 0, 36))) }

// parseBid accepts lower case only, as the service gave it out: bids are opaque text to a client.
func parseBid(text string) (bid, bool) {
	if len(text) != 36 {
		return bid{}, false
	}
	var halves [2]uint64
	digits := 0
	for i := range len(text) {
		c := text[i]
		var digit uint64
		switch {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return bid{}, false
			}
			continue
		case c >= '0' && c <= '9':
			digit = uint64(c - '0')
		case c >= 'a' && c <= 'f':
			digit = uint64(c-'a') + 10
		default:
			return bid{}, false
		}
		halves[digits/16] = halves[digits/16]<<4 | digit
		digits++
	}
	return bid{high: halves[0], low: halves[1]}, true
}
