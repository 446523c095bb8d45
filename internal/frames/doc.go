// Package frames stands between Go's HTTP/2 server and the socket, and makes large answers cheap to send.
//
// The server writes a DATA frame at a time: a goroutine, a copy, two TLS records and two system calls for each 16 KiB,
// because that is the largest frame that clients take. A Conn tells the server that its client takes larger frames, and
// cuts what it then writes into frames that the client really takes. A Listener gives connections that collect the TLS
// records of one such write and send them together. Of the streams of a connection, those that have something to write
// take turns at random; the others, watches as a rule, are not looked at.
//
// It promises:
//   - the client sees HTTP/2 as the server speaks it: the same frames, DATA alone in other lengths;
//   - nothing is held back: when Write returns, all that it was given has gone to the socket, but for the beginning of
//     a frame's header, which means nothing to anybody yet;
//   - deadlines, errors and Close are the connection's own. There are no goroutines here, and nothing to shut down;
//   - a client that greets in no way that is HTTP/2 is the server's to judge: its bytes go through as they are.
//
// docs/adr/0010-larger-frames-for-the-server.md says why.
package frames
