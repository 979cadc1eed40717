package fetch

// The memory for rows does not grow with the amount of data. It is used in three places: in the decoders of lists that
// are being read, in the decoders that are kept for later lists, and in the results of finished schools that wait to be
// written. The bounds of the three add up to MaxRowBytes. Rows beyond a bound are moved to scratch files.
//
// A list may exceed its bound by one page, and lists of less than minRunBytes are not moved. The memory for these two
// exceptions grows with Options.Concurrency. The bounds do not include the identifiers of a fan-out or the roster of a
// school, which grow with the size of the school.
const (
	MaxRowBytes = maxHeldTogether + maxPoolBytes + MaxWaitingBytes

	// maxHeldTogether bounds the memory of the lists that are being read. Beyond it, lists that hold more than
	// minRunBytes are moved.
	maxHeldTogether = 32 << 20
	minRunBytes     = 4 << 20
	// maxHeldBytes bounds the memory of one list, and of the result of one school.
	maxHeldBytes = 16 << 20
	// maxPoolBytes bounds the memory of all decoders kept for reuse, and maxPooledBytes bounds the memory of each of them:
	// after a large school, a decoder holds more memory than most schools need.
	maxPoolBytes   = 16 << 20
	maxPooledBytes = 4 << 20
	// MaxWaitingBytes bounds the memory of finished schools' results that wait to be written.
	MaxWaitingBytes = 8 << 20
)
