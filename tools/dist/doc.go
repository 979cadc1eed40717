// Command dist makes the files of a release in a folder: for each platform an archive with a static binary, manual
// pages, completion files, the licences of what is linked in, and a bill of materials (CycloneDX), and SHA256SUMS of
// the archives.
//
// Equal sources, version and Go give equal bytes: nothing depends on the clock, the folder or the order of files.
package main
