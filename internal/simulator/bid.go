package simulator

import (
	"encoding/binary"
	"encoding/hex"
	"strings"
)

// Bid is an identifier of the service in the form of a version 4 UUID. It contains the kind, group and index of the
// entity that it identifies, encrypted with the world's seed, so that the simulator can resolve a bid from a client
// without a list of all bids.
type Bid struct{ High, Low uint64 }

// EntityKind is the kind of entity that a bid identifies.
type EntityKind int

// The kinds of entities.
const (
	DistrictEntity EntityKind = iota + 1
	SchoolEntity
	StudentEntity
	ResultEntity
	areaEntity
	academicYearEntity
	sessionEntity
	ClassEntity
	EducatorEntity
	StudentAssociationEntity
	EducatorAssociationEntity
	studentClassEntity  // a student in a class
	educatorClassEntity // an educator in a class
)

const (
	bidRounds = 4
	// halfMask keeps 61 bits, because a version 4 UUID has 122 free bits: two halves of 61.
	halfMask = 1<<61 - 1
)

// BidOf returns the bid of the entity at (group, index). The group, usually the number of a school or district, must be
// below 2^24, and the index below 2^32.
func (w *World) BidOf(what EntityKind, group, index int) Bid {
	left, right := uint64(what)<<56|uint64(group)<<32|uint64(index), uint64(0)
	for round := range uint64(bidRounds) {
		left, right = right, left^(Mix(w.seed+round*Golden^Mix(right))&halfMask)
	}
	return Bid{
		High: left>>13<<16 | 4<<12 | left>>1&0xfff,
		Low:  2<<62 | left&1<<61 | right,
	}
}

// FindBid resolves a bid from a client. ok is false unless the text is exactly what this world would send for one of
// its bids. Callers must check that group and index exist.
func (w *World) FindBid(text string) (what EntityKind, group, index int, ok bool) {
	b, ok := ParseBid(text)
	if !ok && w.quirks != nil {
		b, ok = w.quirks.ParseBid(text)
	}
	if !ok {
		return 0, 0, 0, false
	}
	what, group, index, ok = w.Entity(b)
	return what, group, index, ok && w.bidText(b) == text
}

// Entity returns the entity that a bid identifies. ok is false if the bid is not from this world.
func (w *World) Entity(b Bid) (what EntityKind, group, index int, ok bool) {
	left, right := b.High>>16<<13|b.High&0xfff<<1|b.Low>>61&1, b.Low&halfMask
	for round := bidRounds - 1; round >= 0; round-- {
		left, right = right^(Mix(w.seed+uint64(round)*Golden^Mix(left))&halfMask), left
	}
	// The right half was zero before encryption, so a wrong bid passes only with a probability of 1 in 2^61. Encrypting
	// the entity again also checks the fixed bits for version and variant.
	what, group, index = EntityKind(left>>56), int(left>>32&0xffffff), int(left&0xffffffff)
	return what, group, index, right == 0 && w.BidOf(what, group, index) == b
}

// bidText returns a bid as this world sends it. With quirks, some bids are longer than a UUID.
func (w *World) bidText(b Bid) string {
	if w.quirks != nil {
		return w.quirks.FormatBid(w, b)
	}
	return b.String()
}

func (b Bid) appendText(dst []byte) []byte {
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:], b.High)
	binary.BigEndian.PutUint64(raw[8:], b.Low)
	dst = hex.AppendEncode(dst, raw[:4])
	for from := 4; from < 10; from += 2 {
		dst = hex.AppendEncode(append(dst, '-'), raw[from:from+2])
	}
	return hex.AppendEncode(append(dst, '-'), raw[10:])
}

// String returns the bid as a UUID.
func (b Bid) String() string { return string(b.appendText(make([]byte, 0, 36))) }

// ParseBid parses a UUID. It returns false unless the UUID is in lower case, as the service sends it, because bids are
// opaque text to clients.
func ParseBid(text string) (Bid, bool) {
	raw, err := hex.DecodeString(strings.ReplaceAll(text, "-", ""))
	if err != nil || len(raw) != 16 {
		return Bid{}, false
	}
	b := Bid{High: binary.BigEndian.Uint64(raw), Low: binary.BigEndian.Uint64(raw[8:])}
	return b, b.String() == text
}
