// Package ports hands out TCP ports of the loopback address to servers that bind them later, and again after a restart.
//
// It promises that two processes of the same user that both ask here never hold the same port at the same time: a port
// is held by a file lock, which the kernel drops when the holder dies. Ports come from below the range from which Linux
// and macOS take the source ports of outgoing connections, so that no connection takes one while its server is down.
// It starts no goroutine. It cannot know about servers that never asked here; a port in use is passed over.
package ports
