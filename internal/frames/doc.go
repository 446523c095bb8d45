// Package frames makes large responses cheap to send, and watches cheap to receive. It is a layer between Go's HTTP/2
// and the socket.
//
// The server writes one DATA frame at a time. Most clients accept frames of at most 16 KiB, and each frame costs a
// goroutine, a copy, two TLS records and two system calls. A Conn announces a larger maximum frame size to the server,
// and splits the larger frames into frames of at most 16 KiB. The connections of a Listener send the TLS records of one
// larger frame in one write. ConfigureServer sets a write scheduler that skips streams without data, mostly watches.
//
// NewTransport is for programs that receive watches. Go's client returns flow control after every 4 KiB that it has
// read, with one WINDOW_UPDATE frame for the stream and one for the connection. This transport holds the frames until a
// quarter of a window has been read.
//
// The package promises:
//   - The client receives the frames that the server writes. Only large DATA frames are split.
//   - Nothing that a server writes is delayed. When Write returns, all bytes have been written to the socket, except
//     for an incomplete frame header, which is useless to a client.
//   - Deadlines, errors and Close are those of the connection. Close of a client's connection takes at most 250 ms.
//     Only the timer of this Close starts a goroutine.
//   - If the first bytes of a client are not HTTP/2, they reach the server unchanged, and the server rejects them.
//   - A sender waits for flow control only while the client of NewTransport does not read.
//
// The reasons are in docs/adr/0010-larger-http2-frames.md.
package frames
