// Package azure is the destination on Azure Blob Storage and Data Lake Storage. It provides a [sink.Store] whose staged
// files are uncommitted blocks, which Put Block List commits. No other package imports the Azure SDK.
//
// # How a file becomes visible
//
// A Draft is written to an unnamed file in the scratch folder. Stage uploads it as blocks of equal size, at least 8
// MiB, except that the last block may be smaller. The blocks belong to the path at which the file will be visible, but
// cannot be read until they are committed. Commit commits the list of the blocks, on condition that there is no blob at
// the path. If there is a blob with other content, the condition is instead that the blob still has the same ETag.
//
// # Blocks that are never committed
//
// The service keeps one list of uncommitted blocks for each path, whichever process uploaded them, and has no request
// to drop a single block. The id of a block therefore contains its upload, number, size and time. To drop a block, this
// package overwrites it with one meaningless byte under the same id, or with two bytes if the block had one. The rows
// are then gone at once, other uploads to the path are not affected, and nothing becomes visible. A block whose size
// differs from the size in its id does not count as staged. The meaningless bytes disappear when any file is committed
// at the path, or after a week, when the service removes uncommitted blocks.
//
// A staged file therefore also expires after a week. Commit compares the service's list of blocks with the staged
// blocks before it commits them, and the size of the blob with the size of the file afterwards. If either differs, it
// returns sink.ErrStagedLost.
//
// # Lost responses
//
// If a response is lost, the request may have been carried out. Every file and document therefore has a random id in
// its metadata (growth_export_id), and if the service reports that a condition does not hold, the id of the blob shows
// whether an earlier attempt succeeded.
//
// # Locks
//
// Lock does not exclude other processes. Documents are instead written with the conditions If-None-Match and If-Match.
//
// # Permissions
//
// An identity needs the role Storage Blob Data Contributor on the container. A shared access signature needs the
// permissions read, add, create, write, delete and list. Accounts with a hierarchical namespace list folders as empty
// blobs, which are skipped.
package azure
