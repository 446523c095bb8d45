// Package frames makes large responses cheap to send. It is a layer between Go's HTTP/2 server and the socket.
//
// The server writes one DATA frame at a time. Clients accept frames of at most 16 KiB, and each frame costs a
// goroutine, a copy, two TLS records and two system calls. A Conn announces a larger maximum frame size to the server.
// It splits the larger frames into frames that the client accepts. A Listener returns connections that send the TLS
// records of one such larger frame in one write. The write scheduler selects a random stream among those with data. It
// ignores streams without data, which are mostly watches.
//
// The package promises:
//   - The client receives the frames that the server writes. Only the lengths of DATA frames differ.
//   - Nothing is delayed. When Write returns, all bytes have been written to the socket, except for an incomplete frame
//     header, which is useless to a client.
//   - Deadlines, errors and Close are those of the connection. The package has no goroutines and needs no shutdown.
//   - If the first bytes of a client are not HTTP/2, they reach the server unchanged, and the server rejects them.
//
// The reasons are in docs/adr/0010-larger-frames-for-the-server.md.
package frames
