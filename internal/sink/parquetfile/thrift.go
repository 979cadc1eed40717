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

// maxThriftDepth is more than the nesting of any struct of the format.
const maxThriftDepth = 16

var errThrift = errors.New("the metadata is not valid Thrift")

// checkThrift checks that b is one struct in Thrift's compact protocol with complete lists and texts. The library must
// not decode anything else: it allocates as many elements as a list claims to have.
func checkThrift(b []byte) error {
	rest, ok := skipStruct(b, maxThriftDepth)
	if !ok || len(rest) > 0 {
		return errThrift
	}
	return nil
}

func skipStruct(b []byte, depth int) ([]byte, bool) {
	for len(b) > 0 && depth > 0 {
		head := b[0]
		b = b[1:]
		if head == thriftStop {
			return b, true
		}
		if head>>4 == 0 { // the field's number follows
			var ok bool
			if _, b, ok = skipVarint(b); !ok {
				return nil, false
			}
		}
		kind := head & 15
		if kind == thriftTrue || kind == thriftFalse {
			continue // the type is the value
		}
		var ok bool
		if b, ok = skipValue(b, kind, depth); !ok {
			return nil, false
		}
	}
	return nil, false
}

func skipValue(b []byte, kind byte, depth int) ([]byte, bool) {
	switch kind {
	case thriftTrue, thriftFalse, thriftInt8:
		return skipBytes(b, 1)
	case thriftInt16, thriftInt32, thriftInt64:
		_, b, ok := skipVarint(b)
		return b, ok
	case thriftDouble:
		return skipBytes(b, 8)
	case thriftBinary:
		n, b, ok := skipVarint(b)
		if !ok {
			return nil, false
		}
		return skipBytes(b, n)
	case thriftList, thriftSet:
		return skipList(b, depth)
	case thriftStruct:
		return skipStruct(b, depth-1)
	default: // the format has no maps
		return nil, false
	}
}

func skipList(b []byte, depth int) ([]byte, bool) {
	if len(b) == 0 || depth == 0 {
		return nil, false
	}
	n, kind := uint64(b[0]>>4), b[0]&15
	b = b[1:]
	if n == 15 {
		var ok bool
		if n, b, ok = skipVarint(b); !ok {
			return nil, false
		}
	}
	if n > uint64(len(b)) { // an element has a byte at least
		return nil, false
	}
	for range n {
		var ok bool
		if b, ok = skipValue(b, kind, depth-1); !ok {
			return nil, false
		}
	}
	return b, true
}

func skipVarint(b []byte) (uint64, []byte, bool) {
	x, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil, false
	}
	return x, b[n:], true
}

func skipBytes(b []byte, n uint64) ([]byte, bool) {
	if n > uint64(len(b)) {
		return nil, false
	}
	return b[n:], true
}
