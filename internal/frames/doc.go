// Package frames makes large responses cheap to send. It is a layer between Go's HTTP/2 server and the socket.
//
// The server writes one DATA frame at a time. Most clients accept frames of at most 16 KiB, and each frame costs a
// goroutine, a copy, two TLS records and two system calls. A Conn announces a larger maximum frame size to the server,
// and splits the larger frames into frames of at most 16 KiB. The connections of a Listener send the TLS records of one
// larger frame in one write. ConfigureServer sets a write scheduler that skips streams without data, mostly watches.
//
// The package promises:
//   - The client receives the frames that the server writes. Only large DATA frames are split.
//   - Nothing is delayed. When Write returns, all bytes have been written to the socket, except for an incomplete frame
//     header, which is useless to a client.
//   - Deadlines, errors and Close are those of the connection. The package starts no goroutine.
//   - If the first bytes of a client are not HTTP/2, they reach the server unchanged, and the server rejects them.
//
// The reasons are in docs/adr/0010-larger-http2-frames.md.
package frames
