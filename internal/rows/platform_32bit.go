//go:build 386 || arm || mips || mipsle

package rows

// Text offsets use all 32 bits, more than an int holds on these platforms. The compiler's error message shows this
// name.
var _ = growthExportNeedsA64BitPlatform
