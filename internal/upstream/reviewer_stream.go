package upstream

import (
	"context"
	"io"
	"net/http"
	"time"
)

const (
	// maxStreamed bounds, in bytes, a response that Stream passes on. The metrics of a large cluster have 10 to 20 MB.
	maxStreamed = 128 << 20
	// streamWait bounds the duration of Stream.
	streamWait = 30 * time.Second
)

// Stream reads a path as plain text, and passes the body of a 200 response to read, within 30 s. Any other response is
// a *StatusError. A body above 128 MiB ends with an error, never with io.EOF. Stream returns the error of read.
func (r *Reviewer) Stream(ctx context.Context, path string, read func(io.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, streamWait)
	defer cancel()
	response, err := r.client.Open(ctx, Target{Path: path}, "text/plain")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return read(http.MaxBytesReader(nil, response.Body, maxStreamed))
}
