//go:build !unix

package main

// otherOwner returns nothing, because there is no root.
func otherOwner(string, int) (owner, prefix string) { return "", "" }
