// Package journal reads and writes the files of the journal. They contain the objects of each lane at a moment, the
// later events, and the upstream's discovery documents. The package does not interpret the payloads of a lane's
// records.
//
// # Directory
//
//	lock                             locked by the process that writes (flock)
//	lanes/NAME/0000000001.segment    segments of a lane, by sequence number
//	documents/0000000001.segment     discovery documents (Documents)
//
// One process writes. Each lane has one Writer, used by one goroutine. Writers share a lock while they read and create
// directories. A disk that hangs at that moment therefore delays every Writer. Readers need no lock, and see segments
// that are being written. A file has mode 0600. Readers refuse links, pipes, files of other users, and files that other
// users may read or write.
//
// # Segment
//
// A segment is a checkpoint and the events after it. The writer begins the file under a name that begins with a dot.
// When the checkpoint is complete, the writer syncs and renames the file. It appends events without a sync. Appended
// events survive a crash of the process. After a crash of the machine, the last events may be missing.
//
//	listfacade journal 1\n
//	blocks
//
// A block has a header of 72 bytes, and content. It ends at the latest with the record that reaches 4 MiB of content.
// Numbers are big-endian.
//
//	 0  magic "lfjb"
//	 4  kind of block: 1 start (JSON), 2 dictionary, 3 objects, 4 end of the checkpoint, 5 events, 6 end of the segment
//	 5  compression of the content: 0 none, 1 zstd
//	 6  0, 2 bytes
//	 8  size of the stored content, 4 bytes
//	12  size of the content before compression, 4 bytes
//	16  number of the block in the segment, 4 bytes
//	20  number of records, 4 bytes; in blocks of kind 4 and 6, number of objects of the checkpoint
//	24  first and last resourceVersion of the events, 8 bytes each
//	40  earliest time of the events, and time of the last event, in milliseconds, 8 bytes each
//	56  random number of the segment, 8 bytes
//	64  CRC-32C of the stored content
//	68  CRC-32C of the header before this field
//
// The headers are the index: a reader goes from header to header and reads only the blocks that it needs. A block of
// kind 6 has the bounds of the segment, so that listing a closed segment reads its first and last block only.
//
// A record is its Kind (1 byte), resourceVersion (uvarint), time of an event in milliseconds (varint), length of the
// key (uvarint) and key, length of the payload (uvarint) and payload.
//
// # Damage
//
// A reader uses a block only if both checksums and the numbers of block and segment match. Reading ends before the
// first block that is not valid. If a valid header of a later block follows, the segment is damaged there. The reader
// then gets ErrDamaged after the records before the damage. Otherwise the block is the torn end of the segment, which
// is no error. A segment without its complete checkpoint is damaged. The checksums do not detect forgery, because
// anyone who can write to the directory can create valid files.
//
// Start.After says that a segment continues the previous segment without a hole. It has the random number and the size
// of the previous segment. A segment that lost its end has another size, so no segment continues it
// (Segment.Continues).
//
// Order does not depend on the clock: sequence numbers order segments, and blocks are in the order of writing. A
// look-up by time considers the records up to that time. It returns the record that was written last, even if the clock
// went back.
//
// # Memory
//
// A read or a write needs memory for one block and for the largest record.
//
// The package starts no goroutine and does not depend on lanes.
package journal
