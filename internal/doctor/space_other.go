//go:build !linux && !darwin

package doctor

import "errors"

// freeBytes returns errors.ErrUnsupported on this system.
func freeBytes(string) (int64, error) { return 0, errors.ErrUnsupported }
