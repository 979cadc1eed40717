// Package odd makes a simulated service send what public clients have met, and more: values in undocumented types or in
// none, members missing, doubled or unknown, records listed twice or without their key, undocumented lists in every
// container, and bids that hold anything.
//
// Each oddity changes a plain record before it is written, and states both the JSON text it sends and what the contract
// makes of it, so that package oracle can expect it.
package odd
