//go:build 386 || arm || mips || mipsle

package rows

// Offsets into the text of a column are 32 bits wide and lengths are ints,
// which on these platforms cannot hold the upper half of them. This name
// appears in the compiler's error message.
var _ = growthExportNeedsA64BitPlatform
