package parquetfile

import (
	"encoding/binary"
	"errors"
)

// Types of Thrift's compact protocol.
const (
	thriftStop = iota
	thriftTrue
	thriftFalse
	thriftInt8
	thriftInt16
	thriftInt32
	thriftInt64
	thriftDouble
	thriftBinary
	thriftList
	thriftSet
	thriftMap
	thriftStruct
)

// maxThriftDepth is greater than the nesting depth of any struct of the format.
const maxThriftDepth = 16

var errThrift = errors.New("the metadata is not valid Thrift")

// checkThrift checks that b is one struct in Thrift's compact protocol with complete lists and texts. The library must
// not decode anything else: it allocates as many elements as a list claims to have.
func checkThrift(b []byte) error {
	s := thriftScanner{b: b}
	s.skipStruct(maxThriftDepth)
	if s.invalid || len(s.b) > 0 {
		return errThrift
	}
	return nil
}

// thriftScanner skips values. Once invalid is set, it stays set.
type thriftScanner struct {
	b       []byte
	invalid bool
}

func (s *thriftScanner) skipStruct(depth int) {
	if depth == 0 {
		s.invalid = true
	}
	for !s.invalid {
		head := s.readByte()
		if head == thriftStop {
			return
		}
		if head>>4 == 0 { // the number of the field follows
			s.readVarint()
		}
		if kind := head & 15; kind != thriftTrue && kind != thriftFalse { // no bytes follow for a boolean: its type is its value
			s.skipValue(kind, depth)
		}
	}
}

func (s *thriftScanner) skipValue(kind byte, depth int) {
	switch kind {
	case thriftTrue, thriftFalse, thriftInt8:
		s.skip(1)
	case thriftInt16, thriftInt32, thriftInt64:
		s.readVarint()
	case thriftDouble:
		s.skip(8)
	case thriftBinary:
		s.skip(s.readVarint())
	case thriftList, thriftSet:
		s.skipList(depth)
	case thriftStruct:
		s.skipStruct(depth - 1)
	default: // the format has no maps
		s.invalid = true
	}
}

func (s *thriftScanner) skipList(depth int) {
	head := s.readByte()
	n, kind := uint64(head>>4), head&15
	if n == 15 {
		n = s.readVarint()
	}
	if depth == 0 || n > uint64(len(s.b)) { // an element has at least one byte
		s.invalid = true
	}
	for ; n > 0 && !s.invalid; n-- {
		s.skipValue(kind, depth-1)
	}
}

func (s *thriftScanner) readByte() byte {
	if len(s.b) == 0 {
		s.invalid = true
		return thriftStop
	}
	x := s.b[0]
	s.b = s.b[1:]
	return x
}

func (s *thriftScanner) readVarint() uint64 {
	x, n := binary.Uvarint(s.b)
	if n <= 0 {
		s.invalid = true
		return 0
	}
	s.b = s.b[n:]
	return x
}

func (s *thriftScanner) skip(n uint64) {
	if n > uint64(len(s.b)) {
		s.invalid = true
		return
	}
	s.b = s.b[n:]
}
