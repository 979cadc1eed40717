// Package odd makes a simulated service send everything odd that public clients have seen, and more: values of
// undocumented types; missing, duplicate and unknown members; records that are listed twice or have no key;
// undocumented lists in every container; and bids that are arbitrary text.
//
// Each oddity changes a plain record before it is written, and states both the JSON text that it sends and the values
// that an export must make of it, so that package oracle can expect them.
package odd
