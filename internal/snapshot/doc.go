// Package snapshot reads and writes the file from which the next process restores a lane. The file contains a header
// that describes the lane, and then watch frames. The frames contain the lane's objects and its history in the format
// of the upstream's watch.
//
// A directory belongs to one process. A process may therefore remove the unfinished files of an earlier process
// (CleanUnfinished).
//
// A file under its final name is always complete. Write creates a temporary file with mode 0600, syncs it to the disk
// and renames it. The file ends with its length and the SHA-256 of its content. Open verifies both before it uses other
// parts of the file. The checksum detects damage, but not forgery, because anyone who can write to the directory can
// create a valid file. So the caller has to compare the content with the upstream. Open refuses a file that other users
// may read or write.
//
//	listfacade snapshot 1\n
//	length of the header, 4 bytes, big-endian
//	header, JSON
//	frames, as one stream of zstd
//	length of everything before this field, 8 bytes, big-endian
//	SHA-256 of everything before this field
//
// The package starts no goroutine and does not depend on lanes.
package snapshot
