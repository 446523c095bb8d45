// Package timeline contains the commands "listfacade diff" and "listfacade log". Both commands read a journal and print
// changes: of all objects of some resources between two moments, or of one object over time. They need no server.
//
// A change lists the fields that differ, except fields that only reflect other changes: metadata.managedFields,
// metadata.resourceVersion, metadata.generation, and kubectl's annotation with the last applied configuration. The
// package does not print a change of only these fields, unless it cannot read the kind's other fields. The package
// compares the elements of a list of objects by their name or another key. An inserted element then does not change the
// elements after it.
//
// The package promises:
//   - A period in which the journal may lack events is printed as a hole. At the end of the journal, a hole
//     is printed only after journal.Silence without a record.
//   - In memory, the package keeps the keys and resourceVersions of all objects, the recorded content of changed
//     objects, one decoded change, and the rows of a table.
//   - It makes text from objects printable for a terminal: tables and differences replace control characters, JSON and
//     YAML escape them.
//
// A resource can be in the journal in both encodings and in several API versions. The package reads the lane with the
// fewest holes. Among equal ones, it prefers JSON, then the most stable API version. internal/transcode converts
// protobuf.
//
// The package starts no goroutine, and writes only to the streams of its caller.
package timeline
