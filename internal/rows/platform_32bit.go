//go:build 386 || arm || mips || mipsle

package rows

// Text offsets use all 32 bits, which is more than an int can hold on these platforms. The compiler's error message
// shows this name.
var _ = growthExportNeedsA64BitPlatform
