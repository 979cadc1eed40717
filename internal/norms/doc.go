// Package norms checks a file of growth norms before views are made over it. It does not interpret the norms: that is
// left to the views, which read the file themselves.
package norms
