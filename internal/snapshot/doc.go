// Package snapshot is the file that a lane leaves for the next process: a header that says what it is of, and frames of
// a watch, which are the lane's content and its history as the upstream would stream them.
//
// A directory belongs to one process: what was written there and did not come to an end is nobody's (CleanUnfinished).
//
// A file is whole or it is none: it is written beside its name, with mode 0600, brought to the disk and renamed. Its
// length and the SHA-256 of all of it stand at its end, and are looked at before anything of it is used. They tell that
// a file was broken, not that somebody made another: who can write where it lies can leave any. So what is in it has to
// be proven, and a file that others than its owner may read or write is refused.
//
//	listfacade snapshot 1\n
//	length of the header, 4 bytes, big-endian
//	header, JSON
//	frames, as one stream of zstd
//	length of all that stands before, 8 bytes, big-endian
//	SHA-256 of all that stands before
//
// It starts no goroutine, and knows nothing of lanes.
package snapshot
