// Package norms checks a file of growth norms before views over it are made. It does not interpret the norms; the views
// do, and they read the file themselves.
package norms
