// Package sink is a destination as a store of files and documents. It knows nothing of what they contain.
//
// A file is staged, which makes it durable but keeps it invisible, and later committed, which makes it visible as a
// whole: on disk by a rename, on S3 by completing a multipart upload. So any number of files can be prepared and
// checked before the first is visible. Staged files carry random names or upload ids, so that the record of one never
// vouches for the file of a later attempt at the same path.
//
// A document is small and written in one step. A write can be conditional, on the document being absent or unchanged,
// and [Swap] retries a read-modify-write. Writing or removing a document makes every earlier change durable first, so a
// document may state that files were committed.
//
// Locks are shared or exclusive and end with their process. A store with reliable conditional writes, such as S3, may
// do without.
//
// [Dir] is the store on a file system, package sink/s3 the one on S3. The suite in storetest holds both to the same
// contract, which the comments of [Store] give.
package sink
