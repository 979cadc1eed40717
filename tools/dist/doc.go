// Command dist makes the files of a release in a folder: SHA256SUMS, a Homebrew formula, a winget manifest, and for each
// platform an archive with a static binary, manual pages, completion files, the licences of the linked modules, and a bill
// of materials (CycloneDX), which is also beside the archive. For Linux there are further archives, of builds with a frozen
// cryptographic module and in FIPS 140-3 mode.
//
// The same sources, version and Go release produce the same bytes: nothing depends on the clock, the folder or the
// order of files.
package main
