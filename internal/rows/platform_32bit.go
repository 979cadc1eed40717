//go:build 386 || arm || mips || mipsle

package rows

// Offsets into the text of a column are 32 bits wide and lengths are ints,
// which on these platforms cannot tell the upper half of them. This name is the
// message of the compiler.
var _ = growthExportNeedsA64BitPlatform
