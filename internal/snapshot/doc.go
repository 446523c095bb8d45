// Package snapshot reads and writes the file that a lane leaves for the next process. The file has a header that
// describes the lane, then watch frames. The frames are the lane's objects and its history, as the upstream would
// stream them.
//
// A directory belongs to one process. When a process starts, it may remove the unfinished files there
// (CleanUnfinished).
//
// A file is complete or it does not exist under its name: Write creates a temporary file with mode 0600, syncs it to
// the disk and renames it. The file ends with its length and the SHA-256 of its content. Open verifies both before it
// uses anything else of the file. The checksum detects damage, but not a forgery: anyone who can write to the directory
// can create a valid file. So the caller has to compare the content with the upstream. A file that other users may read
// or write is refused.
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
