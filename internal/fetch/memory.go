package fetch

// The memory that rows take does not depend on the amount of data. Rows are in one of three places: in the decoder of a
// list that is being read, in a decoder that waits for its next list, or in the result of a finished school that waits
// to be written. The bounds of the three add up to MaxRowBytes. Rows beyond a bound are moved to scratch files.
//
// A list may exceed its bound by one page, and lists of less than minRunBytes are not moved. The memory for these two
// grows with Options.Concurrency. Memory of a school that does not depend on its rows (identifiers of a fan-out, a
// roster) grows with the school.
const (
	MaxRowBytes = maxHeldTogether + maxPoolBytes + MaxWaitingBytes

	// maxHeldTogether bounds the memory of the lists that are being read. Beyond it, lists that hold more than minRunBytes
	// are moved.
	maxHeldTogether = 32 << 20
	minRunBytes     = 4 << 20
	// maxHeldBytes bounds the memory of one list, and of the result of one school.
	maxHeldBytes = 16 << 20
	// maxPoolBytes bounds the memory of all decoders kept for reuse, and maxPooledBytes the memory of each: after a large
	// school, a decoder holds more than most schools need.
	maxPoolBytes   = 16 << 20
	maxPooledBytes = 4 << 20
	// MaxWaitingBytes bounds the memory of finished schools' results that wait to be written.
	MaxWaitingBytes = 8 << 20
)
