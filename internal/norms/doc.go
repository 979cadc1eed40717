// Package norms checks a file of growth norms before views over it are made. The norms are interpreted only by the
// views, which read the file themselves.
package norms
