// Package timeline contains the commands "listfacade diff" and "listfacade log". They read a journal and print what
// changed: all objects of some resources between two moments, or one object over time. They need no server.
//
// A change lists the fields that differ, except fields that only reflect other changes: metadata.managedFields,
// metadata.resourceVersion, metadata.generation, and kubectl's annotation with the last applied configuration. An
// object in which nothing else differs did not change. Elements of lists are compared by their name or another key, so
// that an inserted element does not change the elements after it.
//
// The package promises:
//   - A period in which the journal may lack events is printed as a hole, never as a period without changes.
//   - It keeps only changed objects in memory, as they are in the journal, and one object at a time as text. For all
//     other objects it keeps their keys.
//   - Text from objects is made printable for a terminal, except in JSON and YAML, which escape it.
//
// A resource can be in the journal in both encodings and in several versions. The package reads the lane with the
// fewest holes; if several have equally few, JSON, then the most stable version. internal/transcode converts protobuf.
//
// The package starts no goroutine, and writes only to the streams of its caller.
package timeline
